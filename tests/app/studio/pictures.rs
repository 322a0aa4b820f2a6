//! What ends up in pixels.

use super::support::*;

#[test]
fn slices_are_drawn_through_the_colour_map_and_a_nan_has_its_own_colour() {
    let setup = egui_kittest::wgpu::default_wgpu_setup();
    let state = egui_kittest::wgpu::create_render_state(setup, eframe::egui_wgpu::RendererOptions::PREDICTABLE);
    blockmgard_app::studio::gpu::install(&state);
    let mut studio = Studio::headless(&egui::Context::default());
    studio.state.set_document(document([8, 8, 8]));
    studio.state.crosshair = [0, 4, 4];
    let mut h = Harness::builder()
        .with_size(vec2(1480.0, 1000.0))
        .with_step_dt(1.0 / 60.0)
        .renderer(egui_kittest::wgpu::WgpuTestRenderer::from_render_state(state))
        .build_ui_state(|ui, studio: &mut Studio| studio.show(ui), studio);
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
    let setup = egui_kittest::wgpu::default_wgpu_setup();
    let render = egui_kittest::wgpu::create_render_state(setup, eframe::egui_wgpu::RendererOptions::PREDICTABLE);
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
}
