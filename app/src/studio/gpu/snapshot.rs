//! The 3-D view as a picture of any size, drawn off screen.

use super::raycast::{RayCallback, RayRenderer};
use anyhow::Context as _;
use eframe::wgpu;
use image::{Rgb, RgbImage};

/// Device and queue of the window, for drawing outside its frames.
#[derive(Clone)]
pub struct Gpu {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
}

/// Draws what `callback` describes, `callback.size` pixels. Off the UI thread: it waits for the adapter.
///
/// # Errors
/// When the picture is larger than a texture of the adapter, or the device is lost.
pub fn volume_picture(gpu: &Gpu, callback: &RayCallback) -> anyhow::Result<RgbImage> {
    let [width, height] = callback.size;
    let most = gpu.device.limits().max_texture_dimension_2d;
    anyhow::ensure!(
        width.max(height) <= most,
        "the graphics adapter draws at most {most} pixels a side; lower the scale"
    );
    let mut renderer = RayRenderer::new(&gpu.device, wgpu::TextureFormat::Rgba8Unorm);
    // Rows of a copied texture start at multiples of 256 bytes.
    let row_bytes = (width * 4).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
    let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("3-D picture"),
        size: row_bytes as u64 * height as u64,
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let texture = renderer.draw_once(&gpu.device, &gpu.queue, &mut encoder, callback).context("nothing to draw")?;
    let layout =
        wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(row_bytes), rows_per_image: Some(height) };
    encoder.copy_texture_to_buffer(
        texture.as_image_copy(),
        wgpu::TexelCopyBufferInfo { buffer: &buffer, layout },
        wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
    );
    gpu.queue.submit([encoder.finish()]);
    let (send, receive) = std::sync::mpsc::channel();
    buffer.slice(..).map_async(wgpu::MapMode::Read, move |result| {
        // The receiver waits below.
        let _ = send.send(result);
    });
    gpu.device.poll(wgpu::PollType::wait_indefinitely())?;
    receive.recv()??;
    let bytes = buffer.slice(..).get_mapped_range()?;
    let pixel = |x: u32, y: u32| {
        let at = (y * row_bytes + x * 4) as usize;
        Rgb([bytes[at], bytes[at + 1], bytes[at + 2]])
    };
    Ok(RgbImage::from_fn(width, height, pixel))
}
