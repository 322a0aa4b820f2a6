use super::*;
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

fn painted(mask: &MaskRuns) -> u64 {
    mask.rows().map(|(_, _, r)| r.iter().map(|r| (r[1] - r[0]) as u64).sum::<u64>()).sum()
}

proptest! {
    #[test]
    fn undoing_a_stroke_restores_the_mask(stamps in prop::collection::vec((arb_geometry(), any::<bool>(), any::<bool>()), 1..8)) {
        let mut m = mask();
        let first = m.paint(&Geometry::ball([20.0; 3], 12.0), Paint::Set);
        prop_assert!(!first.is_empty());
        let before = m.clone();
        let mut stroke = RowDelta::default();
        for (g, set, blocks) in &stamps {
            let paint = if *set { Paint::Set } else { Paint::Clear };
            stroke.absorb(if *blocks { m.paint_blocks(g, paint) } else { m.paint(g, paint) });
            prop_assert_eq!(m.count(), painted(&m));
        }
        let after = m.clone();
        m.swap(&mut stroke);
        prop_assert!(m.rows().eq(before.rows()) && m.count() == before.count());
        m.swap(&mut stroke);
        prop_assert!(m.rows().eq(after.rows()) && m.count() == after.count());
    }

    #[test]
    fn masks_survive_text(stamps in prop::collection::vec((arb_geometry(), any::<bool>()), 0..6)) {
        let mut m = mask();
        for (g, set) in &stamps {
            m.paint(g, if *set { Paint::Set } else { Paint::Clear });
        }
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

#[test]
fn block_snapped_paint_fills_the_touched_blocks() {
    let mut m = mask();
    m.paint_blocks(&Geometry::ball([8.0, 12.0, 49.0], 1.0), Paint::Set);
    assert_eq!(m.bounds(), Some(Region { lo: [0, 8, 48], hi: [16, 16, 50] }));
    assert_eq!(m.count(), 16 * 8 * 2);
}

#[test]
fn set_operations_and_no_op_strokes() {
    let (mut a, mut b) = (mask(), mask());
    a.paint(&Geometry::Box(Region { lo: [0; 3], hi: [4; 3] }), Paint::Set);
    b.paint(&Geometry::Box(Region { lo: [2; 3], hi: [6; 3] }), Paint::Set);
    assert!(a.paint(&Geometry::Box(Region { lo: [1; 3], hi: [2; 3] }), Paint::Set).is_empty());
    assert!(a.paint(&Geometry::ball([30.0; 3], 2.0), Paint::Clear).is_empty());
    let mut delta = a.union(&b).unwrap();
    assert_eq!((a.count(), delta.bounds(&a)), (64 + 64 - 8, Some(Region { lo: [2, 2, 2], hi: [6, 6, 6] })));
    a.swap(&mut delta);
    a.intersect(&b).unwrap();
    assert_eq!(a.count(), 8);
    b.subtract(&a).unwrap();
    assert_eq!(b.count(), 56);
    let other = MaskRuns::new(Shape::new(&[5]).unwrap()).unwrap();
    assert!(a.union(&other).is_err());
    assert!(a.contains([2, 3, 3]) && !a.contains([4, 3, 3]));
}
