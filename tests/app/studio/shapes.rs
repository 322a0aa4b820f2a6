//! Regions that a spec says by a shape, and what an exported spec makes of them.

use super::support::*;
use blockmgard::roi::{Grow, RegionShape, RoiSpec};

const SPEC: &str = r#"
background = "bg"
[[tier]]
name = "bg"
tolerance.rel = 1e-2
[[tier]]
name = "core"
tolerance.rel = 1e-4
[[region]]
tier = "core"
name = "grown value"
shape.value = { min = 2.5 }
grow.voxels = 2
[[region]]
tier = "core"
name = "grown percentile"
shape.percentile = { min = 99 }
grow.blocks = 1
[[region]]
tier = "core"
name = "grown ellipsoid"
shape.ellipsoid = { center = [10, 11, 12], radii = [4, 3, 2] }
grow.voxels = 1
[[region]]
tier = "core"
name = "mask"
shape.mask = { path = "mask_24x32x40.u8" }
"#;

/// Opens a spec with a mask beside it on a volume of 24x32x40.
fn with_spec(folder: &std::path::Path) -> Window {
    let mask: Vec<u8> = (0..24 * 32 * 40).map(|i| u8::from(i % 40 < 5)).collect();
    std::fs::write(folder.join("mask_24x32x40.u8"), mask).unwrap();
    std::fs::write(folder.join("spec.toml"), SPEC).unwrap();
    let mut h = window([24, 32, 40]);
    h.state_mut().state.apply(Command::OpenProject(folder.join("spec.toml")));
    settle(&mut h);
    assert_eq!(h.state().state.roi.regions.len(), 4, "{:?}", h.state().state.notices);
    h
}

fn exported(h: &mut Window, path: &std::path::Path) -> RoiSpec {
    h.state_mut().state.apply(Command::SaveAs(Export::Spec, path.to_path_buf()));
    settle(h);
    RoiSpec::load(path).unwrap()
}

#[test]
fn an_exported_spec_keeps_grown_shapes_and_mask_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut h = with_spec(folder.path());
    let before = RoiSpec::load(&folder.path().join("spec.toml")).unwrap();
    let after = exported(&mut h, &folder.path().join("out.toml"));
    assert_eq!(after.regions, before.regions);
    let other = tempfile::tempdir().unwrap();
    let far = exported(&mut h, &other.path().join("out.toml"));
    let RegionShape::Mask(file) = &far.regions[3].shape else { panic!("{:?}", far.regions[3].shape) };
    assert_eq!(file.path, std::path::absolute(folder.path().join("mask_24x32x40.u8")).unwrap());
    // Both give the blocks that the window shows.
    let state = &h.state().state;
    let volume = &state.document.as_ref().unwrap().volume;
    let stats = Stats::of(volume, &Control::default()).unwrap();
    let live = state.mapping.result.as_ref().unwrap().levels[0].tier_of_block.clone();
    for spec in [after, far, state.spec().unwrap()] {
        assert_eq!(spec.resolve(volume, &stats, &Control::default()).unwrap().tier_of_block, live);
    }
}

#[test]
fn only_what_was_painted_on_becomes_voxels_and_undo_brings_the_shape_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut h = with_spec(folder.path());
    let c = axial(&h).center();
    // A brush has a region of its own unless one is selected.
    drag(&mut h, PointerButton::Primary, c - vec2(60.0, 0.0), c + vec2(60.0, 0.0));
    assert_eq!(h.state().state.roi.regions.len(), 5);
    key(&mut h, Modifiers::COMMAND, Key::Z);
    let value = h.state().state.roi.regions[0].id;
    h.state_mut().state.apply(Command::SelectRegion(Some(value)));
    drag(&mut h, PointerButton::Primary, c - vec2(60.0, 0.0), c + vec2(60.0, 0.0));
    let told = |h: &Window, what: &str| h.state().state.notices.iter().any(|n| n.text.contains(what));
    assert!(told(&h, "grown value (Value from 2.5, grown by 2 voxels) was painted on"));
    let path = folder.path().join("painted.toml");
    let spec = exported(&mut h, &path);
    assert!(matches!(spec.regions[0].shape, RegionShape::Painted(_)) && spec.regions[0].grow.is_none());
    assert!(told(&h, "voxels rather than as a shape: grown value"));
    assert_eq!(spec.regions[1].grow, Some(Grow::Blocks(1)));
    key(&mut h, Modifiers::COMMAND, Key::Z);
    let spec = exported(&mut h, &path);
    assert!(matches!(spec.regions[0].shape, RegionShape::Value(_)));
    assert_eq!(spec.regions[0].grow, Some(Grow::Voxels(2)));
}

#[test]
fn a_grown_region_holds_the_values_of_the_next_step() {
    let folder = tempfile::tempdir().unwrap();
    let mut h = with_spec(folder.path());
    let path = folder.path().join("next_24x32x40.f32");
    let values = (0..24 * 32 * 40).map(|i| if i % 40 > 30 { 3.0f32 } else { 0.1 * (i % 7) as f32 });
    std::fs::write(&path, values.flat_map(f32::to_le_bytes).collect::<Vec<u8>>()).unwrap();
    open(&mut h, &path.display().to_string());
    let state = &h.state().state;
    let document = state.document.as_ref().unwrap();
    let stats = Stats::of(&document.volume, &Control::default()).unwrap();
    let expected = state.spec().unwrap().resolve(&document.volume, &stats, &Control::default()).unwrap();
    assert_eq!(state.mapping.result.as_ref().unwrap().levels[0].tier_of_block, expected.tier_of_block);
    assert!(state.roi.regions.iter().all(|r| r.standing().is_some()));
}

#[test]
fn an_imported_mask_is_exported_as_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut h = with_spec(folder.path());
    let path = folder.path().join("mask_24x32x40.u8").display().to_string();
    h.state_mut().state.apply(Command::ImportMask(ImportForm { path, label: Some(1) }));
    settle(&mut h);
    let spec = exported(&mut h, &folder.path().join("out.toml"));
    let RegionShape::Mask(file) = &spec.regions[4].shape else { panic!("{:?}", spec.regions[4].shape) };
    assert_eq!((file.path.to_str(), file.label), (Some("mask_24x32x40.u8"), Some(1)));
}

#[test]
fn control_characters_of_names_are_shown_as_escapes_and_refused_in_a_spec() {
    let folder = tempfile::tempdir().unwrap();
    let mut h = with_spec(folder.path());
    let (bad, roi) = (folder.path().join("bad.toml"), h.state().state.roi.regions.len());
    std::fs::write(&bad, SPEC.replace("\"bg\"", r#""bg\u001b[31m""#)).unwrap();
    h.state_mut().state.apply(Command::OpenProject(bad));
    settle(&mut h);
    assert_eq!(h.state().state.roi.regions.len(), roi);
    assert!(h.state().state.open_error.as_ref().unwrap().text.contains("control character"));
    let id = h.state().state.roi.regions[0].id;
    h.state_mut().state.apply(Command::RenameRegion(id, "a\u{7}b".into()));
    assert_eq!(h.state().state.roi.regions[0].name, "a\\u{7}b");
}
