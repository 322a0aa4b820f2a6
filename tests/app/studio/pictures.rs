//! What ends up in pixels.

use super::support::*;
use eframe::egui_wgpu::{RenderState, RendererOptions, WgpuSetup};

fn render_state(setup: WgpuSetup) -> RenderState {
    egui_kittest::wgpu::create_render_state(setup, RendererOptions::PREDICTABLE)
}

/// A window whose pixels can be looked at.
fn drawn_window(render: RenderState, n: [usize; 3]) -> Window {
    blockmgard_app::studio::gpu::install(&render);
    let mut studio = Studio::headless(&egui::Context::default());
    studio.state.set_document(document(n));
    let mut h = Harness::builder()
        .with_size(vec2(1480.0, 1000.0))
        .with_step_dt(1.0 / 60.0)
        .renderer(egui_kittest::wgpu::WgpuTestRenderer::from_render_state(render))
        .build_ui_state(|ui, studio: &mut Studio| studio.show(ui), studio);
    settle(&mut h);
    h
}

#[test]
fn slices_are_drawn_through_the_colour_map_and_a_nan_has_its_own_colour() {
    let setup = egui_kittest::wgpu::default_wgpu_setup();
    let mut h = drawn_window(render_state(setup), [8, 8, 8]);
    h.state_mut().state.crosshair = [0, 4, 4];
    settle(&mut h);
    let transform =
        blockmgard_app::studio::views::geometry::PlaneTransform::new(&h.state().state, 0, axial(&h)).unwrap();
    let picture = h.render().unwrap();
    let pixel = |u: f64, v: f64| {
        let p = transform.screen(u, v);
        picture.get_pixel(p.x as u32, p.y as u32).0
    };
    let nan = blockmgard_app::studio::theme::NAN;
    // Off the corner, where the axes' arrows are drawn.
    assert_eq!(pixel(0.9, 0.9)[..3], nan, "the NaN voxel");
    let state = &h.state().state;
    let value =
        blockmgard_app::studio::data::slice::read_value(&state.document.as_ref().unwrap().volume.values, [0, 6, 6])
            .unwrap();
    let [lo, hi] = state.display.window;
    let expected = state.display.color_map.color(((value - lo) / (hi - lo)).clamp(0.0, 1.0));
    let got = pixel(6.3, 6.3);
    for c in 0..3 {
        assert!(got[c].abs_diff(expected[c]) <= 3, "{got:?} is not {expected:?}");
    }
}

#[test]
fn the_3d_view_is_exported_at_the_size_asked_for() {
    let render = render_state(egui_kittest::wgpu::default_wgpu_setup());
    let mut h = window([20, 24, 28]);
    h.state_mut().state.gpu = Some(Gpu { device: render.device.clone(), queue: render.queue.clone() });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("volume.png");
    let form = PictureForm { view: PictureView::Volume, scale: 2, ..h.state().state.picture_form() };
    h.state_mut().state.apply(Command::SaveAs(Export::Picture(form), path.clone()));
    settle(&mut h);
    let picture = image::open(&path).unwrap().to_rgb8();
    assert_eq!(picture.dimensions(), (800, 600));
    let background = *picture.get_pixel(0, 0);
    assert_ne!(*picture.get_pixel(400, 300), background, "the volume is in the middle");
    let frame = Rect::from_min_size(Pos2::ZERO, vec2(800.0, 600.0));
    let state = &h.state().state;
    let (edges, _) = blockmgard_app::studio::views::volume_view::box_lines(state, &state.camera, frame);
    let middle = |[a, b]: [Pos2; 2]| a + (b - a) * 0.5;
    let drawn = edges.iter().filter(|e| *picture.get_pixel(middle(**e).x as u32, middle(**e).y as u32) != background);
    assert_eq!(drawn.count(), 12, "the edges of the box, as on screen");
}

/// By hand, on a machine with an NVIDIA GPU and Vulkan; prints the table and leaves a picture in the folder that
/// `BLOCKMGARD_PICTURES` names.
#[test]
#[ignore = "needs an NVIDIA GPU with Vulkan"]
fn on_a_gpu_the_table_holds_its_figures_and_it_draws_the_slices() {
    let render = render_state(blockmgard_app::studio::gpu::adapter::setup());
    let adapter = render.adapter.get_info();
    println!("drawn by {} ({:?}, {:?})", adapter.name, adapter.device_type, adapter.backend);
    assert_ne!(adapter.device_type, eframe::wgpu::DeviceType::Cpu);
    let mut h = drawn_window(render, [256, 256, 256]);
    let c = axial(&h).center();
    drag(&mut h, PointerButton::Primary, c - vec2(80.0, 40.0), c + vec2(80.0, 40.0));
    for device in ["cpu", "cuda", "cuda"] {
        let request = RunRequest { device: device.to_owned(), ..RunRequest::default() };
        h.state().state.commands.send(Command::Run(request));
    }
    h.step();
    settle(&mut h);
    let runs = &h.state().state.runs.list;
    assert_eq!(runs.len(), 3, "{:?}", h.state().state.notices);
    for run in runs {
        let (c, decode) = (&run.compress, run.decompress_gbps());
        println!(
            "{}: ratio {:.2}, {:.3} GB/s, kernels {:.3}, back {decode:.3}",
            c.device, c.ratio, c.gbps, c.kernel_gbps
        );
        assert_eq!(run.metrics.violations, 0);
    }
    let bytes = |i: usize| runs[i].stream.as_ref().unwrap().bytes.clone();
    assert_eq!(bytes(0), bytes(1), "the same bytes whoever does the work");
    let picture = h.render().unwrap();
    if let Some(folder) = std::env::var_os("BLOCKMGARD_PICTURES") {
        picture.save(std::path::Path::new(&folder).join("studio-gpu.png")).unwrap();
    }
}
