//! The hybrid mode end to end: every value within its tolerance by an exact comparison, whatever the input.

mod frame_harness;

use blockmgard::{Basis, Budget, Element, Entropy, Params, Shape, Tier, ToleranceMap};
use frame_harness::*;
use proptest::prelude::*;

fn params(local: u8, global: u8, basis: Basis, budget: Budget) -> Params {
    let (local_levels, global_levels) = (local, global);
    Params { mode: blockmgard::Mode::Hybrid, local_levels, global_levels, basis, budget, ..Params::default() }
}

/// All hierarchies worth telling apart.
fn all_params() -> Vec<Params> {
    let mut all = Vec::new();
    for (local, global) in [(0, 0), (0, 2), (1, 0), (1, 2), (2, 1), (3, 0), (255, 255)] {
        for basis in [Basis::Hierarchical, Basis::Projection] {
            for budget in [Budget::Coefficients, Budget::Uniform] {
                let p = params(local, global, basis, budget);
                all.extend([Entropy::Huffman, Entropy::Class].map(|entropy| Params { entropy, ..p.clone() }));
            }
        }
    }
    all
}

fn smooth<T: Element>(n: [usize; 3]) -> Vec<T> {
    let wave = |i: usize| {
        let [z, y, x] = [i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]].map(|v| v as f64);
        (0.11 * z).sin() + (0.07 * y + 0.03 * x).cos() + 0.2 * (0.31 * x).sin()
    };
    (0..n.iter().product()).map(|i| T::from_f64(wave(i))).collect()
}

fn noise(seed: u64) -> impl FnMut() -> u64 {
    let mut s = seed;
    move || {
        s = s.wrapping_add(0x9e3779b97f4a7c15);
        let z = (s ^ (s >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d049bb133111eb);
        z ^ (z >> 31)
    }
}

/// Finite bit patterns drawn at random: the worst that a file can hold.
fn random_bits<T: Element>(count: usize, seed: u64) -> Vec<T> {
    let mut next = noise(seed);
    let values = std::iter::repeat_with(|| T::from_bits64(next() & (u64::MAX >> (64 - 8 * T::BYTES))));
    values.filter(|v| v.is_finite()).take(count).collect()
}

fn uniform(n: [usize; 3], tau: f64) -> ToleranceMap {
    ToleranceMap::uniform(&Shape::new(&n).unwrap(), tau).unwrap()
}

fn ugly<T: Element>(n: [usize; 3]) -> Vec<Vec<T>> {
    let len = n.iter().product();
    let fill = |v: f64| vec![T::from_f64(v); len];
    let mut spike = smooth::<T>(n);
    spike[len / 2] = T::from_f64(3e38);
    spike[len - 1] = T::from_f64(-3e38);
    let alternating = (0..len).map(|i| T::from_f64(if i % 2 == 0 { 3e38 } else { -3e38 })).collect();
    let denormal = (0..len).map(|i| T::from_bits64(i as u64 % 50)).collect();
    vec![fill(0.0), fill(-0.0), fill(1e38), spike, alternating, denormal, random_bits(len, 1), smooth(n)]
}

fn bounds_hold_on_ugly_input<T: Element>() {
    let n = [11, 18, 9];
    for u in ugly::<T>(n) {
        let m = max_abs(&u).to_f64();
        for params in all_params() {
            for tau in [0.0, 1e-12 * m, 1e-6 * m, 1e-2 * m, m, f64::INFINITY] {
                round_trip(&u, n, &uniform(n, tau), &params);
            }
        }
    }
}

#[test]
fn bounds_hold_on_ugly_f32() {
    bounds_hold_on_ugly_input::<f32>();
}

#[test]
fn bounds_hold_on_ugly_f64() {
    bounds_hold_on_ugly_input::<f64>();
}

#[test]
fn odd_shapes_work() {
    for n in [
        [1, 1, 1],
        [1, 1, 2],
        [3, 1, 1],
        [1, 9, 1],
        [40, 1, 33],
        [1, 1, 5000],
        [1, 70, 65],
        [2, 2, 2],
        [8, 8, 8],
        [7, 1, 9],
    ] {
        let u = smooth::<f32>(n);
        for params in all_params() {
            for tau in [0.0, 1e-3] {
                round_trip(&u, n, &uniform(n, tau), &params);
            }
        }
    }
}

#[test]
fn smooth_data_compresses_and_random_bits_cost_one_percent() {
    let n = [64, 72, 80];
    let bytes = n.iter().product::<usize>() * 4;
    let p = params(1, 2, Basis::Hierarchical, Budget::Coefficients);
    let coded = round_trip(&smooth::<f32>(n), n, &uniform(n, 1e-3), &p);
    assert!(bytes / coded.bytes() > 5, "ratio {}", bytes / coded.bytes());
    let coded = round_trip(&random_bits::<f32>(bytes / 4, 5), n, &uniform(n, 1e-3), &p);
    assert!(coded.bytes() <= bytes + bytes / 100 + 2048);
}

fn three_tiers(n: [usize; 3], seed: u64, taus: [f64; 3]) -> ToleranceMap {
    let mut map = uniform(n, 1.0);
    let mut next = noise(seed);
    map.tiers = taus.iter().map(|&tau| Tier { name: format!("{tau}"), tau }).collect();
    map.tier_of_block.iter_mut().for_each(|t| *t = [0, 0, 0, 0, 1, 2][next() as usize % 6]);
    map
}

#[test]
fn lossless_blocks_leave_their_neighbours_alone() {
    let n = [48, 48, 48];
    let u = smooth::<f32>(n);
    let p = params(2, 1, Basis::Hierarchical, Budget::Coefficients);
    let mut map = uniform(n, 1e-2);
    let plain = round_trip(&u, n, &map, &p).bytes();
    map.tiers.push(Tier { name: "lossless".into(), tau: 0.0 });
    map.tier_of_block[100] = 1;
    let with_one = round_trip(&u, n, &map, &p).bytes();
    assert!(with_one < plain + 512 * 4 + 64, "{plain} grew to {with_one}");
}

#[test]
fn boxes_decode_alone() {
    let n = [70, 130, 140];
    let u = smooth::<f64>(n);
    for (local, global) in [(1, 2), (2, 0), (0, 3)] {
        let p = params(local, global, Basis::Projection, Budget::Coefficients);
        let map = three_tiers(n, 3, [1e-2, 1e-4, 0.0]);
        let coded = round_trip(&u, n, &map, &p);
        let whole = decode::<f64>(&coded, n, &map, &p, [[0; 3], n]).unwrap();
        for (lo, hi) in
            [([0, 0, 0], [1, 1, 1]), ([5, 60, 100], [66, 70, 140]), ([69, 129, 139], n), ([30, 0, 0], [31, 130, 140])]
        {
            let part = decode::<f64>(&coded, n, &map, &p, [lo, hi]).unwrap();
            let nodes =
                |[z, y, x]: [usize; 3]| z >= lo[0] && z < hi[0] && y >= lo[1] && y < hi[1] && x >= lo[2] && x < hi[2];
            for (i, (a, b)) in part.iter().zip(&whole).enumerate() {
                let at = [i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]];
                assert!(!nodes(at) || a.to_bits() == b.to_bits());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_shape_and_map_keeps_its_bound(
        n in [1usize..30, 1usize..30, 1usize..90], local in 0u8..3, global in 0u8..4, projection: bool, even: bool, class: bool,
        seed: u64, scale in -9..3i32, rough in 0.0..0.2f64,
    ) {
        let basis = if projection { Basis::Projection } else { Basis::Hierarchical };
        let p = params(local, global, basis, if even { Budget::Uniform } else { Budget::Coefficients });
        let p = Params { entropy: if class { Entropy::Class } else { Entropy::Huffman }, ..p };
        let mut next = noise(seed);
        let u: Vec<f32> = smooth::<f32>(n).iter().map(|v| v + (rough * (next() as f64 / u64::MAX as f64)) as f32).collect();
        let tau = 10f64.powi(scale);
        for taus in [[tau, tau / 10.0, tau / 100.0], [tau, 0.0, f64::INFINITY], [f64::INFINITY, tau, 0.0]] {
            round_trip(&u, n, &three_tiers(n, seed, taus), &p);
        }
    }

    #[test]
    fn damaged_parts_never_panic(
        seed: u64, part in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), bit in 0u8..8, cut: bool,
        local in 0u8..3, projection: bool, class: bool,
    ) {
        let n = [20, 30, 70];
        let basis = if projection { Basis::Projection } else { Basis::Hierarchical };
        let entropy = if class { Entropy::Class } else { Entropy::Huffman };
        let p = Params { entropy, ..params(local, 1, basis, Budget::Coefficients) };
        let mut u = smooth::<f32>(n);
        u[777] = 1e30;
        let map = three_tiers(n, seed, [1e-2, 1e-5, 0.0]);
        let mut coded = encode(&u, n, &map, &p);
        let part = part.index(coded.chunks.len() + 1);
        let bytes = if part == 0 { &mut coded.coarse } else { &mut coded.chunks[part - 1] };
        let i = at.index(bytes.len());
        if cut { bytes.truncate(i) } else { bytes[i] ^= 1 << bit }
        let result = decode::<f32>(&coded, n, &map, &p, [[0; 3], n]);
        if cut { prop_assert!(result.is_err()) }
    }
}
