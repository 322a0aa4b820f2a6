//! Which graphics adapter to draw on, and what to say when there is none.

use eframe::wgpu;
use std::sync::Arc;

/// Said when no adapter can show the window.
pub const NO_ADAPTER: &str = "No graphics adapter can show the window. Install a driver, or the software \
     rasterizer (Debian and Ubuntu: apt install mesa-vulkan-drivers; Fedora: dnf install mesa-vulkan-drivers). \
     The command line works without one.";

/// Lower is better: discrete, integrated, virtual, then software.
pub fn rank(kind: wgpu::DeviceType) -> u8 {
    match kind {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    }
}

/// Among equals, the backends that show fewest surprises come first.
fn backend_rank(backend: wgpu::Backend) -> u8 {
    match backend {
        wgpu::Backend::Vulkan | wgpu::Backend::Metal => 0,
        wgpu::Backend::Dx12 => 1,
        wgpu::Backend::Gl => 2,
        _ => 3,
    }
}

fn select(adapters: &[wgpu::Adapter], surface: Option<&wgpu::Surface<'_>>) -> Result<wgpu::Adapter, String> {
    adapters
        .iter()
        .filter(|a| surface.is_none_or(|s| a.is_surface_supported(s)))
        .min_by_key(|a| {
            let info = a.get_info();
            (rank(info.device_type), backend_rank(info.backend))
        })
        .cloned()
        .ok_or_else(|| NO_ADAPTER.to_owned())
}

/// The device asks for what the adapter can do in texture and buffer sizes, not for the defaults.
fn device(adapter: &wgpu::Adapter) -> wgpu::DeviceDescriptor<'static> {
    let base = if adapter.get_info().backend == wgpu::Backend::Gl {
        wgpu::Limits::downlevel_webgl2_defaults()
    } else {
        wgpu::Limits::default()
    };
    let most = adapter.limits();
    wgpu::DeviceDescriptor {
        label: Some("studio"),
        required_limits: wgpu::Limits {
            max_texture_dimension_2d: most.max_texture_dimension_2d,
            max_texture_dimension_3d: most.max_texture_dimension_3d,
            max_buffer_size: most.max_buffer_size,
            ..base
        },
        ..Default::default()
    }
}

/// The wgpu set-up of the window.
pub fn setup() -> eframe::egui_wgpu::WgpuSetup {
    let mut setup = eframe::egui_wgpu::WgpuSetupCreateNew::without_display_handle();
    setup.native_adapter_selector = Some(Arc::new(select));
    setup.device_descriptor = Arc::new(device);
    setup.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_gpu_beats_the_software_rasterizer_and_the_message_names_a_package() {
        assert!(rank(wgpu::DeviceType::DiscreteGpu) < rank(wgpu::DeviceType::IntegratedGpu));
        assert!(rank(wgpu::DeviceType::IntegratedGpu) < rank(wgpu::DeviceType::VirtualGpu));
        assert!(rank(wgpu::DeviceType::VirtualGpu) < rank(wgpu::DeviceType::Cpu));
        assert!(NO_ADAPTER.contains("mesa-vulkan-drivers"));
    }
}
