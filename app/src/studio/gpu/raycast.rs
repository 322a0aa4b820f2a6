//! The 3-D view: ray casting into a picture of its own, redrawn only when something changed.

use super::texture::{Texels, texture_2d, texture_3d};
use bytemuck::{Pod, Zeroable};
use eframe::egui_wgpu::{CallbackResources, CallbackTrait, ScreenDescriptor};
use eframe::{egui, wgpu};
use std::sync::Arc;

/// Mirror of `Uniforms` in `raycast.wgsl`.
#[derive(Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct RayUniforms {
    pub tier_colors: [[f32; 4]; 16],
    pub right: [f32; 4],
    pub up: [f32; 4],
    pub forward: [f32; 4],
    pub half_size: [f32; 4],
    pub opacity: [f32; 4],
    pub more: [f32; 4],
    pub background: [f32; 4],
    pub blocks: [f32; 4],
    pub pan: [f32; 4],
}

/// A byte volume, thinned to what a texture holds: the window's position of each value, 0 to 255.
#[derive(Debug, PartialEq)]
pub struct ByteVolume {
    /// Texels (x, y, z).
    pub size: [usize; 3],
    pub texels: Vec<u8>,
}

/// What one frame wants drawn.
pub struct RayCallback {
    pub uniforms: RayUniforms,
    /// Pixels of the picture.
    pub size: [u32; 2],
    pub volume: Arc<ByteVolume>,
    /// Tier of each block, size in blocks (x, y, z).
    pub tiers: Arc<ByteVolume>,
    pub lut: Arc<Vec<[u8; 4]>>,
}

/// Pipelines and the last picture.
pub struct RayRenderer {
    cast: wgpu::RenderPipeline,
    cast_layout: wgpu::BindGroupLayout,
    blit: wgpu::RenderPipeline,
    blit_layout: wgpu::BindGroupLayout,
    sampler: wgpu::Sampler,
    uniforms: wgpu::Buffer,
    volume: Option<(Arc<ByteVolume>, wgpu::TextureView)>,
    tiers: Option<(Arc<ByteVolume>, wgpu::TextureView)>,
    lut: Option<(Arc<Vec<[u8; 4]>>, wgpu::TextureView)>,
    picture: Option<Picture>,
}

struct Picture {
    view: wgpu::TextureView,
    bind_group: wgpu::BindGroup,
    size: [u32; 2],
    drawn: Option<RayUniforms>,
}

const PICTURE_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

impl RayRenderer {
    pub fn new(device: &wgpu::Device, target: wgpu::TextureFormat) -> Self {
        let texture = |binding, view_dimension| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::FRAGMENT,
            ty: wgpu::BindingType::Texture {
                multisampled: false,
                sample_type: wgpu::TextureSampleType::Float { filterable: true },
                view_dimension,
            },
            count: None,
        };
        let sampler_entry = |binding| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::FRAGMENT,
            ty: wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering),
            count: None,
        };
        let (d2, d3) = (wgpu::TextureViewDimension::D2, wgpu::TextureViewDimension::D3);
        let layout = |entries: &[wgpu::BindGroupLayoutEntry]| {
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some("3-D view"), entries })
        };
        let cast_layout =
            layout(&[super::uniform_entry(0), texture(1, d3), sampler_entry(2), texture(3, d3), texture(4, d2)]);
        let blit_layout = layout(&[texture(0, d2), sampler_entry(1)]);
        let cast = super::full_screen_pipeline(device, include_str!("raycast.wgsl"), &cast_layout, PICTURE_FORMAT, 1);
        let blit = super::full_screen_pipeline(device, include_str!("blit.wgsl"), &blit_layout, target, 1);
        let sampler = device.create_sampler(&wgpu::SamplerDescriptor {
            mag_filter: wgpu::FilterMode::Linear,
            min_filter: wgpu::FilterMode::Linear,
            ..Default::default()
        });
        let uniforms = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("3-D view uniforms"),
            size: size_of::<RayUniforms>() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        Self {
            cast,
            cast_layout,
            blit,
            blit_layout,
            sampler,
            uniforms,
            volume: None,
            tiers: None,
            lut: None,
            picture: None,
        }
    }

    /// A picture of the wanted size; a new one has nothing drawn yet.
    fn fit_picture(&mut self, device: &wgpu::Device, size: [u32; 2]) {
        if self.picture.as_ref().is_some_and(|p| p.size == size) {
            return;
        }
        let texture = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("3-D view"),
            size: wgpu::Extent3d { width: size[0], height: size[1], depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: PICTURE_FORMAT,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT
                | wgpu::TextureUsages::TEXTURE_BINDING
                | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("3-D view"),
            layout: &self.blit_layout,
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::TextureView(&view) },
                wgpu::BindGroupEntry { binding: 1, resource: wgpu::BindingResource::Sampler(&self.sampler) },
            ],
        });
        self.picture = Some(Picture { view, bind_group, size, drawn: None });
    }

    /// Draws one picture and returns its texture.
    pub fn draw_once(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        callback: &RayCallback,
    ) -> Option<&wgpu::Texture> {
        self.fit_picture(device, callback.size);
        self.upload(device, queue, callback);
        queue.write_buffer(&self.uniforms, 0, bytemuck::bytes_of(&callback.uniforms));
        self.draw(device, encoder);
        self.picture.as_ref().map(|p| p.view.texture())
    }

    /// Uploads what is new; says whether anything was.
    fn upload(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, c: &RayCallback) -> bool {
        let mut new = false;
        for (slot, source) in [(&mut self.volume, &c.volume), (&mut self.tiers, &c.tiers)] {
            if slot.as_ref().is_none_or(|(old, _)| !Arc::ptr_eq(old, source)) {
                *slot = Some((source.clone(), texture_3d(device, queue, &source.texels, source.size)));
                new = true;
            }
        }
        if self.lut.as_ref().is_none_or(|(old, _)| !Arc::ptr_eq(old, &c.lut)) {
            self.lut = Some((c.lut.clone(), texture_2d(device, queue, Texels::Rgba(&c.lut), [c.lut.len(), 1])));
            new = true;
        }
        new
    }

    fn draw(&mut self, device: &wgpu::Device, encoder: &mut wgpu::CommandEncoder) {
        let (Some((_, volume)), Some((_, tiers)), Some((_, lut)), Some(picture)) =
            (&self.volume, &self.tiers, &self.lut, &self.picture)
        else {
            return;
        };
        let view = |binding, view| wgpu::BindGroupEntry { binding, resource: wgpu::BindingResource::TextureView(view) };
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("3-D view"),
            layout: &self.cast_layout,
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: self.uniforms.as_entire_binding() },
                view(1, volume),
                wgpu::BindGroupEntry { binding: 2, resource: wgpu::BindingResource::Sampler(&self.sampler) },
                view(3, tiers),
                view(4, lut),
            ],
        });
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("3-D view"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &picture.view,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color::BLACK), store: wgpu::StoreOp::Store },
            })],
            ..Default::default()
        });
        pass.set_pipeline(&self.cast);
        pass.set_bind_group(0, &group, &[]);
        pass.draw(0..3, 0..1);
    }
}

impl CallbackTrait for RayCallback {
    fn prepare(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        _screen: &ScreenDescriptor,
        encoder: &mut wgpu::CommandEncoder,
        resources: &mut CallbackResources,
    ) -> Vec<wgpu::CommandBuffer> {
        let Some(renderer) = resources.get_mut::<RayRenderer>() else { return Vec::new() };
        renderer.fit_picture(device, self.size);
        let new = renderer.upload(device, queue, self);
        if new || renderer.picture.as_ref().is_some_and(|p| p.drawn != Some(self.uniforms)) {
            queue.write_buffer(&renderer.uniforms, 0, bytemuck::bytes_of(&self.uniforms));
            renderer.draw(device, encoder);
            if let Some(picture) = &mut renderer.picture {
                picture.drawn = Some(self.uniforms);
            }
        }
        Vec::new()
    }

    fn paint(
        &self,
        _info: egui::PaintCallbackInfo,
        pass: &mut wgpu::RenderPass<'static>,
        resources: &CallbackResources,
    ) {
        let Some(renderer) = resources.get::<RayRenderer>() else { return };
        let Some(picture) = &renderer.picture else { return };
        pass.set_pipeline(&renderer.blit);
        pass.set_bind_group(0, &picture.bind_group, &[]);
        pass.draw(0..3, 0..1);
    }
}
