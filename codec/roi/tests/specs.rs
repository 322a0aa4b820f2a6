use super::*;
use crate::roi::*;
use proptest::prelude::*;

const PAPER: &str = r##"
background = "background"

[[tier]]
name = "background"
tolerance = { rel = 1e-2 }
color = "#5a6b7c"

[[tier]]
name = "normal"
tolerance.range = 1e-3

[[tier]]
name = "strict"
tolerance = { abs = 1e-4 }

[[region]]
tier = "strict"
name = "lowest 15 %"
shape.fraction = { max = 0.15 }

[[region]]
tier = "normal"
shape.fraction = { min = 0.15, max = 0.4 }

[[region]]
tier = "strict"
enabled = false
shape.box = { lo = [0, 0, 0], hi = [8, 8, 8] }
grow.blocks = 1
"##;

fn error(text: &str) -> String {
    RoiSpec::parse(text).unwrap_err().to_string()
}

#[test]
fn toml_and_json_carry_the_same_spec() {
    let spec = RoiSpec::parse(PAPER).unwrap();
    assert_eq!(spec.tiers[1].tolerance, Tolerance::Range(1e-3));
    assert_eq!(spec.tier_color(0), Color([0x5a, 0x6b, 0x7c]));
    assert_eq!(spec.regions[2].grow, Some(Grow::Blocks(1)));
    for text in [spec.to_toml().unwrap(), spec.to_json().unwrap()] {
        assert_eq!(RoiSpec { lines: spec.lines.clone(), ..RoiSpec::parse(&text).unwrap() }, spec);
    }
}

#[test]
fn every_tolerance_is_made_absolute() {
    let (_, stats) = volume(&[8, 8, 8], |[z, y, x]| z as f32 - 5.0 + (y + x) as f32 * 0.5);
    assert_eq!((stats.min, stats.max, stats.max_abs), (-5.0, 9.0, 9.0));
    let tau = |t: Tolerance| t.resolve(&stats);
    assert_eq!((tau(Tolerance::Abs(0.5)), tau(Tolerance::Rel(0.5)), tau(Tolerance::Range(0.5))), (0.5, 4.5, 7.0));
    assert_eq!((tau(Tolerance::Lossless), tau(Tolerance::Ignore)), (0.0, f64::INFINITY));
}

#[test]
fn errors_name_the_line_and_the_remedy() {
    let spec = |extra: &str| format!("background = \"a\"\n[[tier]]\nname = \"a\"\ntolerance.abs = 1.0\n{extra}");
    for (text, parts) in [
        (spec("colour = 3\n"), &["line 5", "colour"][..]),
        (spec("[[region]]\ntier = \"a\"\nshape.value = { min = 1, most = 2 }\n"), &["line 7", "most", "min"]),
        (spec("[[region]]\ntier = \"b\"\nshape.value.min = 1\n"), &["line 5", "region 1", "no tier \"b\"", "tiers are: a"]),
        (spec("\n[[region]]\ntier = \"a\"\nname = \"core\"\nshape.value = { min = 3, max = 1 }"), &["line 6", "\"core\"", "min <= max"]),
        (spec("[[tier]]\nname = \"a\"\ntolerance = \"lossless\"\n"), &["line 5", "used twice"]),
        (spec("[[tier]]\nname = \"b\"\ntolerance.rel = -1.0\n"), &["line 5", "lossless"]),
        (spec("[[tier]]\nname = \"b\"\ntolerance = { rel = 1.0, abs = 1.0 }\n"), &["line 7"]),
        (spec("[[region]]\ntier = \"a\"\nshape.box = { lo = [1, 2], hi = [1, 3] }\n"), &["line 5", "holds nothing"]),
        ("background = \"a\"\n".into(), &["tier"]),
        ("background = 7\n[[tier]]\nname = \"a\"\ntolerance.abs = 1.0\n".into(), &["line 1"]),
        ("\nbackground = \"b\"\n[[tier]]\nname = \"a\"\ntolerance.abs = 1.0\n".into(), &["line 2", "no tier \"b\""]),
        ("{\n \"background\": \"a\",\n \"tier\": [\n  {\"name\": \"a\", \"tolerance\": {\"abs\": 1}},\n  {\"name\": \"a\", \"tolerance\": \"ignore\"}\n ]\n}".into(), &["line 5", "used twice"]),
        ("{\n \"background\": \"a\", \"x\": 1}".into(), &["line 2", "unknown field `x`"]),
    ] {
        let found = error(&text);
        assert!(parts.iter().all(|p| found.contains(p)), "{found}\nlacks one of {parts:?}");
    }
}

#[test]
fn the_strictest_tier_wins_in_every_block() {
    let (volume, stats) = volume(&[16, 16, 24], |[z, y, x]| (z + y + x) as f32);
    let spec = RoiSpec::parse(
        r#"
        background = "normal"
        tier = [
            { name = "normal", tolerance.abs = 0.1 },
            { name = "strict", tolerance.abs = 0.01 },
            { name = "loose", tolerance = "ignore" },
            { name = "exact", tolerance = "lossless" },
        ]
        [[region]]
        tier = "strict"
        shape.box = { lo = [0, 0, 7], hi = [9, 1, 9] }
        [[region]]
        tier = "exact"
        shape.box = { lo = [0, 0, 8], hi = [1, 1, 9] }
        [[region]]
        tier = "loose"
        shape.box = { lo = [8, 8, 0], hi = [16, 16, 12] }
        [[region]]
        tier = "loose"
        shape.box = { lo = [8, 8, 12], hi = [16, 16, 23] }
        [[region]]
        tier = "loose"
        shape.box = { lo = [0, 0, 0], hi = [8, 8, 8] }
    "#,
    )
    .unwrap();
    let map = spec.resolve(&volume, &stats, &Control::default()).unwrap();
    assert_eq!(map.blocks, [2, 2, 3]);
    // Strict beats loose in block 0; two loose regions fill block (1, 1, 1) together, but leave a voxel column of (1, 1, 2).
    assert_eq!(map.tier_of_block, [1, 3, 0, 0, 0, 0, 1, 1, 0, 2, 2, 0]);
    assert_eq!(map.tiers[2].tau, f64::INFINITY);
}

#[test]
fn a_spec_applies_to_the_next_step_and_refuses_another_grid() {
    let spec = RoiSpec::parse(PAPER).unwrap();
    let (first, stats) = volume(&[16, 16, 16], |[z, _, x]| (z * 16 + x) as f32);
    let one = spec.resolve(&first, &stats, &Control::default()).unwrap();
    let (next, stats) = volume(&[16, 16, 16], |[z, _, x]| 100.0 + ((15 - z) * 16 + x) as f32);
    let two = spec.resolve(&next, &stats, &Control::default()).unwrap();
    assert_eq!(one.tier_of_block, [2, 2, 2, 2, 0, 0, 0, 0]);
    assert_eq!(two.tier_of_block, [0, 0, 0, 0, 2, 2, 2, 2]);

    let mut painted = RoiSpec::uniform("all", Tolerance::Abs(1.0));
    let runs = MaskRuns::new(Shape::new(&[4, 4, 4]).unwrap()).unwrap();
    let region = |shape| RegionSpec { tier: "all".into(), name: "p".into(), enabled: true, shape, grow: None };
    painted.regions.push(region(RegionShape::Painted(runs)));
    let refused = |spec: &RoiSpec| spec.resolve(&first, &stats, &Control::default()).unwrap_err().to_string();
    assert!(refused(&painted).contains("region 1 \"p\": it was painted on shape 4x4x4, the volume has 16x16x16"));
    painted.regions[0] = region(RegionShape::Box(BoxShape { lo: vec![20, 0, 0], hi: vec![30, 1, 1] }));
    assert!(refused(&painted).contains("outside"));
    painted.regions[0] = region(RegionShape::Box(BoxShape { lo: vec![2, 0], hi: vec![3, 1] }));
    assert!(refused(&painted).contains("2 entries for a volume of 3 axes"));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m_4x4x5_u8.raw");
    std::fs::write(&path, [0; 80]).unwrap();
    painted.regions[0] = region(RegionShape::Mask(MaskFile { path: "m_4x4x5_u8.raw".into(), label: None }));
    painted.folder = dir.path().into();
    assert!(refused(&painted).contains("has shape 4x4x5, the volume has 16x16x16"));
    let mut read = RoiSpec::parse(&painted.to_toml().unwrap()).unwrap();
    read.folder = painted.folder;
    assert!(refused(&read).starts_with("line 9: region 1 \"p\": mask"), "{}", refused(&read));
}

#[test]
fn two_and_one_axes_work_too() {
    let (flat, stats) = volume(&[20, 30], |[_, y, x]| (y * x) as f32);
    let mut spec = RoiSpec::parse(PAPER).unwrap();
    spec.regions[0].shape = RegionShape::Box(BoxShape { lo: vec![0, 0], hi: vec![8, 9] });
    spec.regions[1].shape = RegionShape::Polygon(PolygonShape {
        axis: 0,
        points: vec![[10., 20.], [10., 29.], [19., 29.]],
        from: 0,
        to: 1,
    });
    let map = spec.resolve(&flat, &stats, &Control::default()).unwrap();
    assert_eq!(map.tier_of_block, [2, 2, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1]);
    let (line, stats) = volume(&[100], |[_, _, x]| x as f32);
    spec.regions.truncate(1);
    spec.regions[0].shape = RegionShape::Fraction(Interval { min: Some(0.9), max: None });
    let map = spec.resolve(&line, &stats, &Control::default()).unwrap();
    assert_eq!(map.tier_of_block.iter().position(|t| *t == 2), Some(90 / 8));
}

#[test]
fn the_schema_names_every_key() {
    let schema = RoiSpec::json_schema().to_string();
    for key in ["background", "tier", "region", "gradient_percentile", "painted", "grow", "lossless", "label"] {
        assert!(schema.contains(&format!("\"{key}\"")), "{key}");
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let _ = RoiSpec::parse(&text);
    }
    #[test]
    fn no_broken_spec_panics(at in 0usize..700, cut in 0usize..20, insert in "[-\\[\\]{}=\"a-z0-9.,\n]{0,6}", json in any::<bool>()) {
        let mut text = if json { RoiSpec::parse(PAPER).unwrap().to_json().unwrap() } else { PAPER.to_string() };
        let at = at.min(text.len());
        text.replace_range(at..(at + cut).min(text.len()), &insert);
        if let Ok(spec) = RoiSpec::parse(&text) {
            let (volume, stats) = volume(&[9, 9, 9], |[z, _, x]| (z * x) as f32);
            let _ = spec.resolve(&volume, &stats, &Control::default());
        }
    }
}

#[test]
fn names_that_no_table_bears_are_refused() {
    let named = |name: &str| {
        PAPER
            .replace("name = \"strict\"", &format!("name = \"{name}\""))
            .replace("tier = \"strict\"", "tier = \"normal\"")
    };
    let long = "x".repeat(65_600);
    for (name, why) in
        [(long.as_str(), "65600 characters"), ("a\\u001b[2Jb", "control character"), ("a\\nb", "control character")]
    {
        let found = error(&named(name));
        assert!(
            found.contains(why) && found.len() < 300 && !found.contains('\u{1b}') && !found.contains('\n'),
            "{found}"
        );
    }
    assert!(RoiSpec::parse(&named("Strömung 数据")).is_ok() && RoiSpec::parse(&named(&"x".repeat(200))).is_ok());
    assert!(error(&PAPER.replace("name = \"lowest 15 %\"", "name = \"a\\tb\"")).contains("region name"));
    let unknown = error(&PAPER.replace("tier = \"normal\"", &format!("tier = \"{long}\"")));
    assert!(unknown.contains("there is no tier") && unknown.len() < 300, "{unknown}");
}
