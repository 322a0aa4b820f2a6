//! The pyramid keeps every bound, on any shape and any finite input.

mod pyramid_support;

use blockmgard::params::Points;
use blockmgard::transform::pyramid::{Real, preview};
use blockmgard::{Coder, Control, Element, Order, Params, Region, Shape, Tier, ToleranceMap};
use proptest::prelude::*;
use pyramid_support::{Case, KINDS, Random, ugly};

type Settings = (u8, Coder, Order);

/// Tiles of every side, all coders and orders.
const SETTINGS: [Settings; 8] = [
    (8, Coder::Class, Order::Parity),
    (16, Coder::Class, Order::Axis),
    (32, Coder::Class, Order::Parity),
    (8, Coder::Planes, Order::Axis),
    (16, Coder::Planes, Order::Axis),
    (8, Coder::Groups, Order::Axis),
    (16, Coder::Groups, Order::Parity),
    (32, Coder::Groups, Order::Axis),
];

fn uniform<T: Real>(n: [usize; 3], values: Vec<T>, tau: f64, (tile, coder, order): Settings) -> Case<T> {
    let map = ToleranceMap::uniform(&Shape::new(&n).unwrap(), tau).unwrap();
    Case { n, values, map, params: Params { tile, coder, order, ..Params::default() } }
}

/// Relative bounds on one input, with all settings.
fn bounds<T: Real>(kind: &str, n: [usize; 3]) {
    for settings in SETTINGS {
        for rel in [1e-1, 1e-3, 1e-6, 1e-9, 1e-12] {
            let mut case = uniform::<T>(n, ugly(kind, n, 1), 1.0, settings);
            let tau = rel * case.max_abs().to_f64();
            case.map.tiers[0].tau = if tau > 0.0 { tau } else { rel };
            case.round_trip();
        }
    }
}

#[test]
fn every_bound_holds_on_ugly_inputs() {
    for kind in KINDS {
        bounds::<f32>(kind, [20, 17, 35]);
        bounds::<f64>(kind, [9, 33, 18]);
    }
}

#[test]
fn every_bound_holds_on_odd_shapes() {
    for n in
        [[1, 1, 1], [1, 1, 2], [2, 2, 2], [7, 1, 9], [3, 50, 50], [1, 70, 129], [1, 1, 5000], [70, 65, 3], [2, 2, 90]]
    {
        bounds::<f32>("smooth", n);
        bounds::<f64>("spikes", n);
    }
}

/// A map of random tiers, lossless and ignore among them.
fn mixed<T: Real>(kind: &str, n: [usize; 3], seed: u64, settings: Settings) -> Case<T> {
    let mut case = uniform::<T>(n, ugly(kind, n, seed), 0.0, settings);
    let m = case.max_abs().to_f64();
    case.map.tiers = [0.0, f64::INFINITY, 1e-2 * m, 1e-4 * m, 1e-7 * m]
        .map(|tau| Tier { name: format!("{tau}"), tau: if tau.is_nan() { 0.0 } else { tau } })
        .to_vec();
    let mut random = Random(seed);
    case.map.tier_of_block.iter_mut().for_each(|t| *t = (random.next() % 5) as u8);
    case
}

#[test]
fn every_node_keeps_its_own_tier() {
    for kind in KINDS {
        for settings in SETTINGS {
            mixed::<f32>(kind, [34, 40, 70], 5, settings).round_trip();
            mixed::<f64>(kind, [1, 130, 45], 6, settings).round_trip();
        }
    }
}

#[test]
fn a_box_decodes_alone_to_the_same_bits() {
    boxes((16, Coder::Class, Order::Parity));
    boxes((8, Coder::Planes, Order::Axis));
    boxes((16, Coder::Groups, Order::Axis));
}

fn boxes(settings: Settings) {
    let case = mixed::<f32>("smooth", [70, 66, 131], 9, settings);
    let parts = case.round_trip();
    let all = case.decode(&parts, case.region()).unwrap();
    let mut random = Random(2);
    for _ in 0..40 {
        let mut cut = |n: usize| {
            let (a, b) = (random.next() as usize % n, random.next() as usize % n);
            (a.min(b), a.max(b) + 1)
        };
        let [(z0, z1), (y0, y1), (x0, x1)] = case.n.map(&mut cut);
        let region = Region { lo: [z0, y0, x0], hi: [z1, y1, x1] };
        let part = case.decode(&parts, region).unwrap();
        let mut part = part.iter();
        for z in z0..z1 {
            for y in y0..y1 {
                for x in x0..x1 {
                    assert_eq!(all[(z * 66 + y) * 131 + x].to_bits64(), part.next().unwrap().to_bits64());
                }
            }
        }
    }
}

#[test]
fn a_preview_holds_the_frame_at_its_coordinates() {
    previews((8, Coder::Class, Order::Axis));
    previews((8, Coder::Planes, Order::Axis));
    previews((8, Coder::Groups, Order::Parity));
}

fn previews(settings: Settings) {
    let case = mixed::<f64>("smooth", [60, 45, 77], 3, settings);
    let parts = case.encode().unwrap();
    let all = case.decode(&parts, case.region()).unwrap();
    for most in [1, 8, 1000, 1 << 20] {
        let look = preview::<f64>(&case.shape(), &parts, most, &Control::default()).unwrap();
        assert!(look.values.len() <= most.max(8));
        let mut values = look.values.iter();
        for &z in &look.coordinates[0] {
            for &y in &look.coordinates[1] {
                for &x in &look.coordinates[2] {
                    assert_eq!(all[(z * 45 + y) * 77 + x].to_bits64(), values.next().unwrap().to_bits64());
                }
            }
        }
        assert!(values.next().is_none());
    }
}

#[test]
fn damaged_parts_end_in_an_error_or_in_values_but_never_in_a_panic() {
    damaged((8, Coder::Class, Order::Parity), 72);
    damaged((8, Coder::Planes, Order::Axis), 48);
    damaged((8, Coder::Groups, Order::Axis), 72);
    damaged((32, Coder::Groups, Order::Axis), 72);
}

/// `choice` is one that no chunk of the coder has.
fn damaged(settings: Settings, choice: u8) {
    let case = mixed::<f32>("spikes", [20, 33, 70], 4, settings);
    let parts = case.encode().unwrap();
    let mut random = Random(11);
    for _ in 0..300 {
        let mut bad = parts.clone();
        let part = random.next() as usize % (bad.chunks.len() + 1);
        let bytes = if part == 0 { &mut bad.coarse } else { &mut bad.chunks[part - 1] };
        let at = random.next() as usize % bytes.len();
        match random.next() % 3 {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << (random.next() % 8),
            _ => bytes.insert(at, random.next() as u8),
        }
        let _ = case.decode(&bad, case.region());
    }
    let mut short = parts.clone();
    short.chunks.pop();
    assert!(case.decode(&short, case.region()).unwrap_err().message.contains("chunk index"));
    let mut empty = parts.clone();
    empty.coarse.clear();
    assert!(case.decode(&empty, case.region()).unwrap_err().message.contains("coarse part"));
    let mut other = parts;
    other.chunks[0][0] = choice;
    assert!(case.decode(&other, case.region()).unwrap_err().message.contains("chunk 0"));
}

#[test]
fn noise_costs_at_most_one_percent_over_a_copy() {
    for kind in ["bits", "noise"] {
        let case = uniform::<f32>([64, 70, 66], ugly(kind, [64, 70, 66], 8), 0.0, (16, Coder::Class, Order::Parity));
        let parts = case.round_trip();
        let size = parts.coarse.len() + parts.chunks.iter().map(Vec::len).sum::<usize>();
        assert!(size as f64 <= 1.01 * 4.0 * case.values.len() as f64, "{kind}: {size}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn any_shape_and_map_keeps_its_bounds(
        n in prop::array::uniform3(1usize..44), kind in 0..KINDS.len(), seed: u64, settings in 0..SETTINGS.len(), wide: bool, points in 0usize..4
    ) {
        let (settings, kind) = (SETTINGS[settings], KINDS[kind]);
        let points = [Points::Auto, Points::Two, Points::Four, Points::Six][points];
        if wide {
            let mut case = mixed::<f64>(kind, n, seed, settings);
            case.params.points = points;
            case.round_trip();
        } else {
            let mut case = mixed::<f32>(kind, n, seed, settings);
            case.params.points = points;
            case.round_trip();
        }
    }
}
