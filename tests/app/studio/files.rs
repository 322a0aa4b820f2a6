//! Files opened, saved and restored.

use super::support::*;

#[test]
fn a_project_restores_regions_views_and_tools() {
    let folder = std::env::temp_dir().join(format!("blockmgard-studio-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("ramp_24x24x24.f32");
    let bytes: Vec<u8> = (0..24 * 24 * 24).flat_map(|i| (i as f32).to_le_bytes()).collect();
    std::fs::write(&path, bytes).unwrap();
    let mut h = window([32, 32, 32]);
    h.state_mut().state.start(Some(path.display().to_string()), OpenHints::default());
    settle(&mut h);
    assert_eq!(h.state().state.extents(), Some([24; 3]));
    let c = axial(&h).center();
    let tools = Tools { brush: BrushShape::Blocks, brush_size: 9.0, ..h.state().state.tools.clone() };
    h.state_mut().state.apply(Command::Tools(Box::new(tools)));
    drag(&mut h, PointerButton::Primary, c, c + vec2(30.0, 30.0));
    h.state_mut().state.apply(Command::Crosshair([3, 4, 5]));
    let count = painted(&h);
    let project = folder.join("work.json");
    h.state_mut().state.apply(Command::SaveAs(Export::Project, project.clone()));
    settle(&mut h);

    let mut second = window([16, 16, 16]);
    second.state_mut().state.start(Some(project.display().to_string()), OpenHints::default());
    settle(&mut second);
    settle(&mut second);
    assert_eq!(painted(&second), count, "{:?}", second.state().state.notices);
    let state = &second.state().state;
    assert_eq!((state.crosshair, state.tools.brush, state.tools.brush_size), ([3, 4, 5], BrushShape::Blocks, 9.0));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_missing_file_opens_the_dialog_with_a_sentence() {
    let mut h = window([16, 16, 16]);
    h.state_mut().state.start(Some("/no/such/file_4x4x4.f32".into()), OpenHints::default());
    settle(&mut h);
    let error = h.state().state.open_error.clone().unwrap();
    assert!(error.path.contains("file_4x4x4") && !error.text.is_empty() && !error.raw);
    h.get_by_label("Open a volume");
    key(&mut h, Modifiers::NONE, Key::Escape);
    assert!(h.state().state.open_error.is_none(), "the next dialog starts afresh");
}

#[test]
fn a_typed_file_without_a_shape_shows_the_shapes_that_fit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("values.f32");
    std::fs::write(&path, vec![0; 4 * 8 * 8 * 8]).unwrap();
    let mut h = window([16, 16, 16]);
    key(&mut h, Modifiers::COMMAND, Key::O);
    h.event(Event::Text(path.display().to_string()));
    h.step();
    key(&mut h, Modifiers::NONE, Key::Enter);
    h.get_by_label("8x8x8").click();
    settle(&mut h);
    h.get_by_label("Open").click();
    settle(&mut h);
    assert_eq!(h.state().state.extents(), Some([8; 3]), "{:?}", h.state().state.open_error);
}

#[test]
fn a_smaller_volume_may_open_under_the_pointer() {
    let folder = tempfile::tempdir().unwrap();
    let mut h = window([64, 64, 64]);
    let c = axial(&h);
    h.event(Event::PointerMoved(c.center() + vec2(100.0, 100.0)));
    h.step();
    h.state_mut().state.start(Some(raw_file(folder.path(), [5, 6, 7])), OpenHints::default());
    for _ in 0..30 {
        // The pointer keeps moving while the volumes change places.
        h.event(Event::PointerMoved(c.center() + vec2(100.0, 101.0)));
        h.event(Event::PointerMoved(c.center() + vec2(100.0, 100.0)));
        h.step();
    }
    settle(&mut h);
    assert_eq!(h.state().state.extents(), Some([5, 6, 7]));
}

#[test]
fn a_value_that_may_mean_missing_is_asked_about() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sea_16x16x16.f32");
    let sea = |i: u32| if i.is_multiple_of(4) { 1e20f32 } else { 271.0 + (i % 30) as f32 };
    std::fs::write(&path, (0..4096).flat_map(|i| sea(i).to_le_bytes()).collect::<Vec<u8>>()).unwrap();
    let mut h = window([16, 16, 16]);
    h.state_mut().state.start(Some(path.display().to_string()), OpenHints::default());
    settle(&mut h);
    assert!(h.state().state.scales().1 > 1e19, "nothing is masked without an answer");
    h.get_by_label_contains("Treat 1e20").click();
    settle(&mut h);
    let state = &h.state().state;
    assert!(state.suspect.is_none() && state.scales().1 < 30.0, "{:?}", state.scales());
    assert!(state.command_line(&RunRequest::default(), 0).contains("--missing 10000000"));
}

#[test]
fn a_failed_save_brings_the_dialog_back_with_the_reason() {
    let mut h = window([16, 16, 16]);
    h.state_mut().state.apply(Command::SaveAs(Export::Spec, "/no/such/folder/a.toml".into()));
    settle(&mut h);
    let form = h.state().state.save.clone().unwrap();
    assert!(form.path.ends_with("a.toml") && form.error.is_some());
    h.get_by_label("Save the ROI spec");
}

#[test]
fn every_export_is_a_file_that_says_what_it_should() {
    let folder = tempfile::tempdir().unwrap();
    let mut h = window([24, 32, 40]);
    let c = axial(&h).center();
    drag(&mut h, PointerButton::Primary, c - vec2(60.0, 0.0), c + vec2(60.0, 0.0));
    h.state().state.commands.send(Command::Run(RunRequest::default()));
    h.step();
    settle(&mut h);
    let run = h.state().state.runs.list[0].id;
    let picture = PictureForm { scale: 3, view: PictureView::Slice(1), ..h.state().state.picture_form() };
    let exports = [
        (Export::Masks, "labels.npy"),
        (Export::Map, "map.npy"),
        (Export::Reconstruction(run), "rebuilt.npy"),
        (Export::Picture(picture), "slice.png"),
        (Export::TableCsv, "runs.csv"),
        (Export::TableJson, "runs.json"),
        (Export::Report, "report.html"),
    ];
    for (what, name) in exports {
        h.state_mut().state.apply(Command::SaveAs(what, folder.path().join(name)));
    }
    settle(&mut h);
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let text = |name: &str| String::from_utf8(read(name)).unwrap();
    assert_eq!(read("labels.npy").len() % 64, 24 * 32 * 40 % 64, "one byte a voxel behind a header");
    assert!(read("map.npy").len() > 3 * 4 * 5 * 4 && read("rebuilt.npy").len() > 24 * 32 * 40 * 4);
    let png = image::load_from_memory(&read("slice.png")).unwrap();
    assert_eq!((png.width(), png.height()), (120, 72), "3 pixels a voxel of the coronal slice");
    let csv = text("runs.csv");
    let fields: Vec<usize> =
        csv.lines().map(|l| l.replace("CPU, ", "CPU ").replace(", ROI", " ROI").split(',').count()).collect();
    assert_eq!(fields, [13, 13]);
    let json: serde_json::Value = serde_json::from_str(&text("runs.json")).unwrap();
    assert!(json["runs"][0]["ratio"].as_f64().unwrap() > 1.0);
    let html = text("report.html");
    assert!(
        html.contains("Original with the regions") && html.contains("blockmgard compress") && html.contains("Strict")
    );
}

#[test]
fn an_exported_label_file_imports_as_the_region_it_came_from() {
    let folder = tempfile::tempdir().unwrap();
    let mut h = window([24, 32, 40]);
    let c = axial(&h).center();
    drag(&mut h, PointerButton::Primary, c - vec2(60.0, 0.0), c + vec2(60.0, 20.0));
    let count = painted(&h);
    let path = folder.path().join("labels.npy").display().to_string();
    h.state_mut().state.apply(Command::SaveAs(Export::Masks, path.clone().into()));
    settle(&mut h);
    let id = h.state().state.roi.regions[0].id;
    h.state_mut().state.apply(Command::RemoveRegion(id));
    settle(&mut h);
    h.get_by_label("Import mask…").click();
    settle(&mut h);
    h.get_by_label("One label").click();
    settle(&mut h);
    let form = ImportForm { path, label: Some(2) };
    h.state().state.commands.send(Command::ImportMask(form));
    h.step();
    settle(&mut h);
    assert_eq!(painted(&h), count, "{:?}", h.state().state.notices);
}
