//! Small helpers to upload textures.

use eframe::wgpu;

/// Texels of one 2-D texture.
pub enum Texels<'a> {
    F32(&'a [f32]),
    U8(&'a [u8]),
    Rgba(&'a [[u8; 4]]),
}

/// Creates and fills a texture of `size` texels (u, v).
pub fn texture_2d(device: &wgpu::Device, queue: &wgpu::Queue, texels: Texels, size: [usize; 2]) -> wgpu::TextureView {
    let (format, bytes, width): (_, &[u8], u32) = match texels {
        Texels::F32(t) => (wgpu::TextureFormat::R32Float, bytemuck::cast_slice(t), 4),
        Texels::U8(t) => (wgpu::TextureFormat::R8Uint, t, 1),
        Texels::Rgba(t) => (wgpu::TextureFormat::Rgba8Unorm, bytemuck::cast_slice(t), 4),
    };
    upload(device, queue, format, bytes, width, [size[0], size[1], 1], wgpu::TextureDimension::D2)
}

/// Creates and fills a 3-D texture of one byte a texel, `size` (x, y, z).
pub fn texture_3d(device: &wgpu::Device, queue: &wgpu::Queue, texels: &[u8], size: [usize; 3]) -> wgpu::TextureView {
    upload(device, queue, wgpu::TextureFormat::R8Unorm, texels, 1, size, wgpu::TextureDimension::D3)
}

fn upload(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    format: wgpu::TextureFormat,
    bytes: &[u8],
    texel_bytes: u32,
    size: [usize; 3],
    dimension: wgpu::TextureDimension,
) -> wgpu::TextureView {
    let extent =
        wgpu::Extent3d { width: size[0] as u32, height: size[1] as u32, depth_or_array_layers: size[2] as u32 };
    let texture = device.create_texture(&wgpu::TextureDescriptor {
        label: Some("studio"),
        size: extent,
        mip_level_count: 1,
        sample_count: 1,
        dimension,
        format,
        usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
        view_formats: &[],
    });
    queue.write_texture(
        texture.as_image_copy(),
        bytes,
        wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(texel_bytes * extent.width),
            rows_per_image: Some(extent.height),
        },
        extent,
    );
    texture.create_view(&wgpu::TextureViewDescriptor::default())
}
