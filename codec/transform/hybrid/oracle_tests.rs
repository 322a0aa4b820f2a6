//! The operators against vectors of an independent numpy oracle (tests/data/hybrid), to 1e-12 relative.

use super::block::{Operator, details_of};
use super::global::GlobalLevel;
use super::local::LocalLevel;
use super::plan::{BLOCK, Level, Plan};
use super::quantizer::Quantizer;
use crate::entropy::huffman::EXACT;
use crate::{Basis, Params};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Stored {
    shape: [usize; 3],
    stride: usize,
    offset: usize,
    count: usize,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    shape: [usize; 3],
    #[serde(rename = "L")]
    local: u8,
    #[serde(rename = "M")]
    global: u8,
    projection: bool,
    gains: Vec<f64>,
    shares: Vec<f64>,
    arrays: BTreeMap<String, Stored>,
}

fn vectors() -> (Vec<Case>, Vec<f64>) {
    let packed = include_bytes!("../../../tests/data/hybrid/hybrid.bin.zst");
    let bytes = zstd::decode_all(&packed[..]).unwrap();
    let line = bytes.iter().position(|&b| b == b'\n').unwrap();
    let values = bytes[line + 1..].chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
    (serde_json::from_slice(&bytes[..line]).unwrap(), values)
}

/// A step so small that every detail but zero is stored exactly: the plain decomposition.
const FINE: Quantizer<f64> = Quantizer { step: 1e-290, inverse: 1e290 };

/// Details in order, zeros included.
fn plain(symbols: &[i32], exact: &[f64]) -> Vec<f64> {
    let mut exact = exact.iter();
    symbols.iter().map(|&q| if q == EXACT { *exact.next().unwrap() } else { 0.0 }).collect()
}

/// Where the details of a level stand in the (padded) array of the oracle, in our order.
fn places(level: &Level) -> (Vec<[usize; 3]>, [usize; 3]) {
    let n = level.fine.map(|n| if n == 1 || !level.local { n } else { n.next_multiple_of(BLOCK) });
    let coarse = |i: usize, n: usize| i.is_multiple_of(2) || i == n - 1;
    let all = |n: [usize; 3]| (0..n[0] * n[1] * n[2]).map(move |i| [i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]]);
    let block = n.map(|n| if level.local { n.min(BLOCK) } else { n });
    let blocks = std::array::from_fn(|a| n[a] / block[a]);
    let details = all(blocks).flat_map(|b| {
        all(block)
            .filter(|at| (0..3).any(|a| !coarse(at[a], block[a])))
            .map(move |at| std::array::from_fn(|a| b[a] * block[a] + at[a]))
            .collect::<Vec<_>>()
    });
    (details.collect(), n)
}

fn check(case: &Case, part: &str, shape: [usize; 3], found: &[f64], values: &[f64]) {
    let stored = &case.arrays[part];
    assert_eq!(stored.shape, shape, "{} {part}", case.name);
    let scale = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    for (i, &want) in values[stored.offset..][..stored.count].iter().enumerate() {
        let got = found[i * stored.stride];
        assert!((got - want).abs() <= 1e-12 * scale.max(1.0), "{} {part}: {got} for {want}", case.name);
    }
}

#[test]
fn decomposition_equals_the_oracle() {
    let (cases, values) = vectors();
    assert_eq!(cases.len(), 8);
    for case in &cases {
        let basis = if case.projection { Basis::Projection } else { Basis::Hierarchical };
        let params = Params { local_levels: case.local, global_levels: case.global, basis, ..Params::default() };
        let plan = Plan::new(case.shape, &params);
        let operator = Operator::<f64>::new(basis);
        let input = &case.arrays["input"];
        let u = values[input.offset..][..input.count].to_vec();
        let mut a = u.clone();
        let mut kept = Vec::new();
        for (k, level) in plan.levels.iter().enumerate() {
            let tiers = vec![0; level.blocks().iter().product()];
            let local = LocalLevel { level, operator: &operator, quantizers: &[FINE], tiers: &tiers };
            let global = GlobalLevel { level, basis, quantizer: FINE };
            let (symbols, exact, coarse) =
                if level.local { local.decompose(&a, plan.rank()) } else { global.decompose(&a) };
            let (at, n) = places(level);
            let mut dense = vec![0.0; n.iter().product()];
            let details = plain(&symbols, &exact);
            assert_eq!(details.len(), at.len());
            at.iter().zip(details).for_each(|(&[z, y, x], d)| dense[(z * n[1] + y) * n[2] + x] = d);
            check(case, &format!("detail{k}"), n, &dense, &values);
            kept.push((symbols, exact));
            a = coarse;
        }
        check(case, "coarsest", plan.coarsest, &a, &values);
        for (k, (symbols, exact)) in kept.iter().enumerate().rev() {
            let level = &plan.levels[k];
            let tiers = vec![0; level.blocks().iter().product()];
            let local = LocalLevel { level, operator: &operator, quantizers: &[FINE], tiers: &tiers };
            let global = GlobalLevel { level, basis, quantizer: FINE };
            a = if level.local {
                local.recompose(&a, symbols, exact, plan.rank())
            } else {
                global.recompose(a, symbols, exact)
            };
        }
        check(case, "input", case.shape, &a, &values);
    }
}

#[test]
fn gains_and_shares_equal_the_oracle() {
    for case in vectors().0 {
        let basis = if case.projection { Basis::Projection } else { Basis::Hierarchical };
        let params = Params { local_levels: case.local, global_levels: case.global, basis, ..Params::default() };
        let plan = Plan::new(case.shape, &params);
        let gains: Vec<f64> = plan.levels.iter().map(|l| l.gain).collect();
        let shares: Vec<f64> = plan.levels.iter().map(|l| l.share).chain([plan.coarsest_share]).collect();
        let close = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(close(&gains, &case.gains), "{}: gains {gains:?}", case.name);
        assert!(close(&shares, &case.shares), "{}: shares {shares:?}", case.name);
    }
}

#[test]
fn block_gain_of_the_paper_is_exact_not_28() {
    let plan = Plan::new([64; 3], &Params { basis: Basis::Projection, global_levels: 0, ..Params::default() });
    assert!((plan.levels[0].gain - 5.260261085501905).abs() < 1e-12);
    assert_eq!(details_of(8, 8), 387);
}
