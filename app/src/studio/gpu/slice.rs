//! The custom wgpu callback that draws a slice: value texture, tier overlays, colour map in the shader.

use super::texture::{Texels, texture_2d};
use crate::studio::data::slice::SliceImage;
use bytemuck::{Pod, Zeroable};
use eframe::egui_wgpu::{CallbackResources, CallbackTrait, ScreenDescriptor};
use eframe::{egui, wgpu};
use std::collections::HashMap;
use std::sync::Arc;

/// Bits of [`Uniforms::flags`]; the same names stand in `slice.wgsl`.
pub mod flag {
    pub const LOG: u32 = 1;
    pub const SMOOTH: u32 = 2;
    pub const MAP: u32 = 4;
    pub const LABELS: u32 = 8;
    pub const OUTLINE: u32 = 16;
    pub const PREVIEW: u32 = 32;
    pub const PREVIEW_AUX: u32 = 64;
    pub const ALARM: u32 = 128;
}

/// Mirror of `Uniforms` in `slice.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Uniforms {
    pub tier_colors: [[f32; 4]; 16],
    pub preview_color: [f32; 4],
    pub nan_color: [f32; 4],
    pub inf_color: [f32; 4],
    pub alarm_color: [f32; 4],
    pub origin_px: [f32; 2],
    pub px_per_voxel: [f32; 2],
    pub tex_origin: [i32; 2],
    pub plane_size: [i32; 2],
    pub tex_size: [i32; 2],
    pub map_size: [i32; 2],
    pub lo: f32,
    pub hi: f32,
    pub log_offset: f32,
    pub map_alpha: f32,
    pub label_alpha: f32,
    pub preview_lo: f32,
    pub preview_hi: f32,
    pub grid_alpha: f32,
    pub stride: i32,
    pub level: i32,
    pub flags: u32,
    pub pad: u32,
}

/// One plane of block tiers, `size[0]` blocks along u and `size[1]` along v.
#[derive(Clone, Debug, PartialEq)]
pub struct MapPlane {
    pub size: [usize; 2],
    pub tiers: Vec<u8>,
}

/// Which drawn slice a set of GPU objects belongs to: (view, slot).
pub type SliceKey = (u64, usize);

/// What one frame wants drawn. Textures are uploaded only when the `Arc` differs from the last one.
pub struct SliceCallback {
    pub key: SliceKey,
    pub uniforms: Uniforms,
    pub image: Arc<SliceImage>,
    pub labels: Option<Arc<Vec<u8>>>,
    pub map: Option<(Arc<MapPlane>, Arc<MapPlane>)>,
    pub lut: Arc<Vec<[u8; 4]>>,
}

/// The pipeline and the textures of every view, kept in egui's renderer.
pub struct SliceRenderer {
    pipeline: wgpu::RenderPipeline,
    layout: wgpu::BindGroupLayout,
    views: HashMap<SliceKey, ViewResources>,
}

struct ViewResources {
    uniforms: wgpu::Buffer,
    bind_group: Option<wgpu::BindGroup>,
    image: Option<(Arc<SliceImage>, wgpu::TextureView, wgpu::TextureView)>,
    labels: Option<(Arc<Vec<u8>>, wgpu::TextureView)>,
    map: Option<(Arc<MapPlane>, wgpu::TextureView)>,
    base: Option<(Arc<MapPlane>, wgpu::TextureView)>,
    lut: Option<(Arc<Vec<[u8; 4]>>, wgpu::TextureView)>,
    blank: wgpu::TextureView,
}

impl SliceRenderer {
    pub fn new(device: &wgpu::Device, target: wgpu::TextureFormat, samples: u32) -> Self {
        let texture = |binding, sample_type| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::FRAGMENT,
            ty: wgpu::BindingType::Texture {
                multisampled: false,
                sample_type,
                view_dimension: wgpu::TextureViewDimension::D2,
            },
            count: None,
        };
        let float = wgpu::TextureSampleType::Float { filterable: false };
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("slice"),
            entries: &[
                super::uniform_entry(0),
                texture(1, float),
                texture(2, wgpu::TextureSampleType::Uint),
                texture(3, wgpu::TextureSampleType::Uint),
                texture(4, wgpu::TextureSampleType::Uint),
                texture(5, float),
                texture(6, float),
            ],
        });
        let pipeline = super::full_screen_pipeline(device, include_str!("slice.wgsl"), &layout, target, samples);
        Self { pipeline, layout, views: HashMap::new() }
    }
}

impl ViewResources {
    fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        let uniforms = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("slice uniforms"),
            size: size_of::<Uniforms>() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let blank = texture_2d(device, queue, Texels::U8(&[0]), [1, 1]);
        Self { uniforms, bind_group: None, image: None, labels: None, map: None, base: None, lut: None, blank }
    }

    /// Uploads what changed since the last frame; the bind group is remade only then.
    fn update(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        layout: &wgpu::BindGroupLayout,
        c: &SliceCallback,
    ) {
        queue.write_buffer(&self.uniforms, 0, bytemuck::bytes_of(&c.uniforms));
        let mut stale = self.bind_group.is_none();
        if self.image.as_ref().is_none_or(|(old, ..)| !Arc::ptr_eq(old, &c.image)) {
            let view = texture_2d(device, queue, Texels::F32(&c.image.texels), c.image.size);
            let aux = match &c.image.aux {
                Some(aux) => texture_2d(device, queue, Texels::F32(aux), c.image.size),
                None => texture_2d(device, queue, Texels::F32(&[0.0]), [1, 1]),
            };
            self.image = Some((c.image.clone(), view, aux));
            stale = true;
        }
        let size = c.image.size;
        stale |= refresh(&mut self.labels, c.labels.as_ref(), |l| texture_2d(device, queue, Texels::U8(l), size));
        stale |= refresh(&mut self.map, c.map.as_ref().map(|m| &m.0), |m| {
            texture_2d(device, queue, Texels::U8(&m.tiers), m.size)
        });
        stale |= refresh(&mut self.base, c.map.as_ref().map(|m| &m.1), |m| {
            texture_2d(device, queue, Texels::U8(&m.tiers), m.size)
        });
        stale |= refresh(&mut self.lut, Some(&c.lut), |l| texture_2d(device, queue, Texels::Rgba(l), [l.len(), 1]));
        if stale {
            self.bind_group = self.bind(device, layout);
        }
    }

    fn bind(&self, device: &wgpu::Device, layout: &wgpu::BindGroupLayout) -> Option<wgpu::BindGroup> {
        let (_, values, aux) = self.image.as_ref()?;
        let (_, lut) = self.lut.as_ref()?;
        let labels = self.labels.as_ref().map_or(&self.blank, |(_, v)| v);
        let map = self.map.as_ref().map_or(&self.blank, |(_, v)| v);
        let base = self.base.as_ref().map_or(&self.blank, |(_, v)| v);
        let views = [values, labels, map, base, aux, lut];
        let mut entries = vec![wgpu::BindGroupEntry { binding: 0, resource: self.uniforms.as_entire_binding() }];
        entries.extend(views.iter().enumerate().map(|(i, view)| wgpu::BindGroupEntry {
            binding: i as u32 + 1,
            resource: wgpu::BindingResource::TextureView(view),
        }));
        Some(device.create_bind_group(&wgpu::BindGroupDescriptor { label: Some("slice"), layout, entries: &entries }))
    }
}

/// Replaces a cached upload when its source is another `Arc`; says whether it did.
fn refresh<T>(
    slot: &mut Option<(Arc<T>, wgpu::TextureView)>,
    source: Option<&Arc<T>>,
    upload: impl FnOnce(&T) -> wgpu::TextureView,
) -> bool {
    match (slot.as_ref(), source) {
        (None, None) => false,
        (Some((old, _)), Some(new)) if Arc::ptr_eq(old, new) => false,
        (_, new) => {
            *slot = new.map(|n| (n.clone(), upload(n)));
            true
        }
    }
}

impl CallbackTrait for SliceCallback {
    fn prepare(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        _screen: &ScreenDescriptor,
        _encoder: &mut wgpu::CommandEncoder,
        resources: &mut CallbackResources,
    ) -> Vec<wgpu::CommandBuffer> {
        if let Some(renderer) = resources.get_mut::<SliceRenderer>() {
            let view = renderer.views.entry(self.key).or_insert_with(|| ViewResources::new(device, queue));
            view.update(device, queue, &renderer.layout, self);
        }
        Vec::new()
    }

    fn paint(
        &self,
        _info: egui::PaintCallbackInfo,
        pass: &mut wgpu::RenderPass<'static>,
        resources: &CallbackResources,
    ) {
        let Some(renderer) = resources.get::<SliceRenderer>() else { return };
        let Some(group) = renderer.views.get(&self.key).and_then(|v| v.bind_group.as_ref()) else { return };
        pass.set_pipeline(&renderer.pipeline);
        pass.set_bind_group(0, group, &[]);
        pass.draw(0..3, 0..1);
    }
}
