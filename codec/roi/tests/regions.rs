use super::*;
use crate::roi::*;
use std::path::Path;

const SHAPE: [usize; 3] = [19, 17, 21];

/// Smooth, with a NaN, an infinity and a missing value in it.
fn sample([z, y, x]: [usize; 3]) -> f32 {
    match [z, y, x] {
        [3, 3, 3] => f32::NAN,
        [10, 11, 12] => f32::INFINITY,
        [18, 16, 20] => -999.0,
        _ => (z as f32 * 0.37).sin() * 2.0 + (y as f32 * 0.21).cos() + x as f32 * 0.1,
    }
}

/// Compares block cover and runs of a region with a definition per voxel.
fn check(shape: RegionShape, grow: Option<Grow>, expected: impl Fn([usize; 3]) -> bool) {
    let (volume, stats) = volume(&SHAPE, sample);
    let control = Control::default();
    let analysis = Analysis::new(volume.clone(), stats);
    let spec = RegionSpec { tier: "t".into(), name: String::new(), enabled: true, shape, grow };
    let mask = spec.resolve(&analysis, Path::new(""), &control).unwrap();
    let blocks = mask.blocks(&control).unwrap();
    for (i, cover) in blocks.cover.iter().enumerate() {
        let b =
            [i / blocks.blocks[2] / blocks.blocks[1], i / blocks.blocks[2] % blocks.blocks[1], i % blocks.blocks[2]];
        let inside: Vec<bool> =
            voxels(&volume.shape).filter(|v| (0..3).all(|a| v[a] / 8 == b[a])).map(&expected).collect();
        let wanted = match (inside.iter().any(|&v| v), inside.iter().all(|&v| v)) {
            (false, _) => Cover::None,
            (true, true) => Cover::Full,
            _ => Cover::Part,
        };
        assert_eq!(*cover, wanted, "block {b:?} of {:?}", spec.shape);
    }
    let runs = mask.to_runs(&control).unwrap();
    assert!(voxels(&volume.shape).all(|v| runs.contains(v) == expected(v)));
}

fn interval(min: f64, max: f64) -> Interval {
    Interval { min: Some(min), max: Some(max) }
}

fn valid(v: f32) -> bool {
    v.is_finite() && v != -999.0
}

#[test]
fn value_intervals_are_closed_and_leave_special_values_out() {
    let within = |lo: f32, hi: f32| move |at| valid(sample(at)) && lo <= sample(at) && sample(at) <= hi;
    check(RegionShape::Value(interval(0.25, 1.0)), None, within(0.25, 1.0));
    check(RegionShape::Value(Interval { min: None, max: Some(-0.5) }), None, within(f32::MIN, -0.5));
    check(RegionShape::Value(Interval { min: Some(2.0), max: None }), None, within(2.0, f32::MAX));
    check(RegionShape::Value(interval(1.0, 1.0)), None, within(1.0, 1.0));
}

#[test]
fn fractions_and_percentiles_follow_the_volume() {
    let (_, stats) = volume(&SHAPE, sample);
    let cut = stats.min + (stats.max / 2.0 - stats.min / 2.0) * 0.3;
    check(RegionShape::Fraction(Interval { min: None, max: Some(0.15) }), None, |at| {
        valid(sample(at)) && sample(at) as f64 <= cut
    });
    let low = stats.percentile(90.0);
    check(RegionShape::Percentile(Interval { min: Some(90.0), max: None }), None, |at| {
        valid(sample(at)) && sample(at) as f64 >= low
    });
    let count =
        voxels(&Shape::new(&SHAPE).unwrap()).filter(|&at| valid(sample(at)) && sample(at) as f64 >= low).count();
    assert!((count as f64 / stats.valid as f64 - 0.1).abs() < 0.01);
}

#[test]
fn gradient_magnitude_is_selected_by_value_and_percentile() {
    let slope = |at: [usize; 3]| -> Option<f32> {
        let value = |v: [usize; 3]| Some(sample(v)).filter(|v| valid(*v)).map(f64::from);
        let here = value(at)?;
        let mut sum = 0.0;
        for a in 0..3 {
            let near = |step: i64| {
                let mut v = at;
                v[a] = (v[a] as i64 + step).try_into().ok().filter(|&i: &usize| i < SHAPE[a])?;
                value(v)
            };
            let d = match (near(-1), near(1)) {
                (Some(l), Some(h)) => (h - l) / 2.0,
                (None, Some(h)) => h - here,
                (Some(l), None) => here - l,
                (None, None) => 0.0,
            };
            sum += d * d;
        }
        Some((sum.sqrt()) as f32)
    };
    check(RegionShape::Gradient(interval(0.3, 0.5)), None, |at| {
        slope(at).is_some_and(|s| (0.3..=0.5).contains(&(s as f64)))
    });
    let (volume, stats) = volume(&SHAPE, sample);
    let analysis = Analysis::new(volume, stats);
    let cut = analysis.gradient_stats(&Control::default()).unwrap().percentile(75.0);
    check(RegionShape::GradientPercentile(Interval { min: Some(75.0), max: None }), None, |at| {
        slope(at).is_some_and(|s| s as f64 >= cut)
    });
}

#[test]
fn geometric_shapes() {
    let b = BoxShape { lo: vec![2, 0, 9], hi: vec![9, 40, 16] };
    check(RegionShape::Box(b), None, |[z, y, x]| (2..9).contains(&z) && y < 40 && (9..16).contains(&x));
    let e = EllipsoidShape { center: vec![9.0, 8.5, 10.0], radii: vec![4.0, 6.0, 9.5] };
    check(RegionShape::Ellipsoid(e), None, |[z, y, x]| {
        ((z as f64 - 9.0) / 4.0).powi(2) + ((y as f64 - 8.5) / 6.0).powi(2) + ((x as f64 - 10.0) / 9.5).powi(2) <= 1.0
    });
    let p = PolygonShape { axis: 1, points: vec![[0.0, 0.0], [18.0, 0.0], [0.0, 18.0]], from: 4, to: 12 };
    check(RegionShape::Polygon(p), None, |[z, y, x]| (4..12).contains(&y) && z + x <= 18);
}

#[test]
fn mask_files_select_what_is_not_zero_or_one_label() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("labels_19x17x21_u8.raw");
    let shape = Shape::new(&SHAPE).unwrap();
    let label = |[z, y, x]: [usize; 3]| ((z / 5 + y / 7 + x / 4) % 3) as u8;
    std::fs::write(&path, voxels(&shape).map(label).collect::<Vec<u8>>()).unwrap();
    check(RegionShape::Mask(MaskFile { path: path.clone(), label: None }), None, |at| label(at) != 0);
    check(RegionShape::Mask(MaskFile { path, label: Some(2) }), None, |at| label(at) == 2);
}

#[test]
fn growing_by_voxels_and_blocks() {
    let small = || RegionShape::Box(BoxShape { lo: vec![9, 9, 9], hi: vec![10, 10, 12] });
    check(small(), Some(Grow::Voxels(2)), |[z, y, x]| {
        (7..12).contains(&z) && (7..12).contains(&y) && (7..14).contains(&x)
    });
    check(small(), Some(Grow::Blocks(0)), |v| v.iter().all(|p| p / 8 == 1));
    check(small(), Some(Grow::Blocks(1)), |_| true);
    let large = || RegionShape::Box(BoxShape { lo: vec![0, 4, 4], hi: vec![12, 17, 17] });
    check(large(), Some(Grow::Voxels(-3)), |[z, y, x]| z < 9 && y >= 7 && (7..14).contains(&x));
    check(large(), Some(Grow::Blocks(-1)), |[z, _, _]| z < 8);
}

#[test]
fn painted_voxels_are_what_was_painted() {
    let mut runs = MaskRuns::new(Shape::new(&SHAPE).unwrap()).unwrap();
    for (z, y) in (0..SHAPE[0]).flat_map(|z| (0..SHAPE[1]).map(move |y| (z, y))) {
        Geometry::ball([9.0; 3], 5.0).spans(z, y, SHAPE[2], &mut |a, b| runs.add_row(z, y, &[[a as u32, b as u32]]));
    }
    let same = runs.clone();
    check(RegionShape::Painted(runs), None, |at| same.contains(at));
}
