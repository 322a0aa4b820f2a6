use super::*;
use crate::roi::Geometry;
use proptest::prelude::*;

fn mask() -> MaskRuns {
    MaskRuns::new(Shape::new(&[40, 48, 50]).unwrap()).unwrap()
}

fn arb_geometry() -> impl Strategy<Value = Geometry> {
    let p = || [-5f64..45.0, -5f64..55.0, -5f64..55.0];
    prop_oneof![
        (p(), 0.0f64..20.0).prop_map(|(c, r)| Geometry::ball(c, r + 0.01)),
        (0usize..3, 0usize..40, p(), 0.1f64..20.0).prop_map(|(a, i, c, r)| Geometry::disc(a, i, c, r)),
        ([0usize..60, 0usize..60, 0usize..60], [0usize..60, 0usize..60, 0usize..60])
            .prop_map(|(lo, d)| Geometry::Box(Region { lo, hi: std::array::from_fn(|a| lo[a] + d[a]) })),
        (0usize..3, prop::collection::vec([-5f64..55.0, -5f64..55.0], 3..7), 0usize..40, 0usize..40)
            .prop_map(|(axis, points, from, d)| Geometry::Polygon { axis, points, from, to: from + d }),
    ]
}

fn add(mask: &mut MaskRuns, shape: &Geometry) {
    let n = mask.shape().n;
    for (z, y) in (0..n[0]).flat_map(|z| (0..n[1]).map(move |y| (z, y))) {
        let mut runs: Vec<Run> = Vec::new();
        shape.spans(z, y, n[2], &mut |a, b| runs.push([a as u32, b as u32]));
        runs.sort_unstable();
        mask.add_row(z, y, &runs);
    }
}

proptest! {
    #[test]
    fn masks_survive_text(shapes in prop::collection::vec(arb_geometry(), 0..6)) {
        let mut m = mask();
        shapes.iter().for_each(|g| add(&mut m, g));
        let held: u64 = m.rows().flat_map(|(_, _, runs)| runs).map(|r| (r[1] - r[0]) as u64).sum();
        prop_assert_eq!(m.count(), held);
        let text = serde_json::to_string(&m).unwrap();
        let back: MaskRuns = serde_json::from_str(&text).unwrap();
        prop_assert!(back.rows().eq(m.rows()) && back.count() == m.count());
    }

    #[test]
    fn no_packed_text_panics(text in "[A-Za-z0-9+/=]{0,64}", bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        use base64::Engine;
        let packed = base64::engine::general_purpose::STANDARD.encode(zstd::bulk::compress(&bytes, 1).unwrap());
        for t in [text, packed] {
            let _ = serde_json::from_str::<MaskRuns>(&format!(r#"{{"shape": [3, 4, 5], "runs": "{t}"}}"#));
        }
    }
}

#[test]
fn a_plain_list_reads_and_bad_runs_are_named() {
    let read = |runs: &str| serde_json::from_str::<MaskRuns>(&format!(r#"{{"shape": [4, 9], "runs": {runs}}}"#));
    let m = read("[[1, 2, 5], [1, 4, 8], [3, 0, 9]]").unwrap();
    assert_eq!((m.row(0, 1), m.row(0, 3), m.count()), (&[[2, 8]][..], &[[0, 9]][..], 15));
    for bad in ["[[4, 0, 1]]", "[[0, 3, 3]]", "[[0, 0, 10]]", "[[0, 1]]"] {
        assert!(read(bad).unwrap_err().to_string().contains("no run of a volume of shape 4x9"), "{bad}");
    }
    for huge in ["[281474976710656, 1, 1]", "[1, 281474976710656, 1]", "[281474976710656]"] {
        let text = format!(r#"{{"shape": {huge}, "runs": []}}"#);
        assert!(serde_json::from_str::<MaskRuns>(&text).unwrap_err().to_string().contains("too long"));
    }
    assert!(read("7").unwrap_err().to_string().contains("base64 string or a list"));
}
