//! What the map on screen is expected to cost, judged by the runs with the same settings: between two whose tolerances are looser
//! and stricter everywhere where there are such, else by the shape of the curve.

use super::State;
use super::compare::RunId;
use super::mapping::MapResult;
use super::runs::Run;
use blockmgard::{Params, ToleranceMap};
use std::sync::Arc;

/// Bits a value costs at least, however loose its tolerance.
const LEAST_BITS: f64 = 0.001;

/// Halvings of the tolerance that stand for the way to lossless and to nothing kept.
const FAR: f64 = 16.0;

/// An expected cost and the runs it is judged by.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    pub bits_per_value: f64,
    pub ratio: f64,
    pub runs: Vec<String>,
    /// Nothing measured holds it from both sides.
    pub rough: bool,
}

/// What an estimate depends on; it is made anew when that changes, not in every frame.
pub struct Basis {
    map: Arc<MapResult>,
    runs: Vec<(RunId, String)>,
    params: Params,
}

impl PartialEq for Basis {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.map, &other.map) && self.runs == other.runs && self.params == other.params
    }
}

/// A measured run.
struct Known<'a> {
    name: &'a str,
    map: &'a ToleranceMap,
    bits: f64,
    /// Against the map on screen, over all blocks.
    stricter: bool,
    looser: bool,
}

/// Blocks by their tier in two maps of the same blocks.
fn pairs(a: &ToleranceMap, b: &ToleranceMap) -> Vec<(f64, f64, usize)> {
    let mut counts = vec![0; a.tiers.len() * b.tiers.len()];
    for (&i, &j) in a.tier_of_block.iter().zip(&b.tier_of_block) {
        counts[i as usize * b.tiers.len() + j as usize] += 1;
    }
    let tau = |k: usize| (a.tiers[k / b.tiers.len()].tau, b.tiers[k % b.tiers.len()].tau);
    let held = counts.into_iter().enumerate().filter(|(_, n)| *n > 0);
    held.map(|(k, n)| (tau(k).0, tau(k).1, n)).collect()
}

/// Halvings between the tolerances of two maps, over all blocks.
fn halvings(loose: &ToleranceMap, strict: &ToleranceMap) -> f64 {
    let finite = || loose.tiers.iter().chain(&strict.tiers).map(|t| t.tau).filter(|t| *t > 0.0 && t.is_finite());
    let most = finite().fold(f64::NEG_INFINITY, |m, t| m.max(t.log2()));
    let least = finite().fold(f64::INFINITY, |m, t| m.min(t.log2()));
    let depth = |tau: f64| match tau {
        0.0 => FAR - least.min(0.0),
        t if t.is_infinite() => -FAR - most.max(0.0),
        t => -t.log2(),
    };
    pairs(loose, strict).iter().map(|(l, s, n)| (depth(*s) - depth(*l)) * *n as f64).sum()
}

/// Bits per value of a map, when a tolerance of `2^offset` costs 2 bits: at high rates each halving of a tolerance costs one bit
/// more, at low ones the bits go with its root.
fn model(map: &ToleranceMap, offset: f64, lossless: f64) -> f64 {
    let counts = map.blocks_per_tier();
    let total: usize = counts.iter().sum::<usize>().max(1);
    let cost = |tau: f64| match tau {
        0.0 => lossless,
        t if t.is_infinite() => LEAST_BITS,
        t => (2.0 * ((offset - t.log2()) / 2.0).exp2().ln_1p() / std::f64::consts::LN_2).clamp(LEAST_BITS, lossless),
    };
    map.tiers.iter().zip(counts).map(|(t, n)| cost(t.tau) * n as f64).sum::<f64>() / total as f64
}

/// The offset at which the model gives a run's measured bits, by bisection.
fn fit(map: &ToleranceMap, measured: f64, lossless: f64) -> f64 {
    let (mut lo, mut hi) = (-2000.0, 2000.0);
    for _ in 0..60 {
        let middle = (lo + hi) / 2.0;
        if model(map, middle, lossless) < measured { lo = middle } else { hi = middle }
    }
    (lo + hi) / 2.0
}

/// Bits per value of `now`, by runs of which the last is the nearest guess where none holds it.
fn judged(now: &ToleranceMap, known: &[Known], lossless: f64) -> Option<(f64, Vec<String>, bool)> {
    let looser = known.iter().filter(|k| k.looser).max_by(|a, b| a.bits.total_cmp(&b.bits));
    let stricter = known.iter().filter(|k| k.stricter).min_by(|a, b| a.bits.total_cmp(&b.bits));
    if let Some(same) = known.iter().rev().find(|k| k.looser && k.stricter) {
        return Some((same.bits, vec![same.name.to_owned()], false));
    }
    if let (Some(low), Some(high)) = (looser, stricter) {
        let part = (halvings(low.map, now) / halvings(low.map, high.map).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        let names = vec![low.name.to_owned(), high.name.to_owned()];
        return Some((low.bits + (high.bits - low.bits) * part, names, false));
    }
    let by = looser.or(stricter).or(known.last())?;
    let mut bits = model(now, fit(by.map, by.bits, lossless), lossless);
    if let Some(low) = looser {
        bits = bits.max(low.bits);
    }
    if let Some(high) = stricter {
        bits = bits.min(high.bits);
    }
    Some((bits, vec![by.name.to_owned()], true))
}

impl State {
    /// The cost of the map on screen with the settings of the run panel, or of the last run where none has these; `None` before the
    /// first run.
    pub fn estimate(&self) -> Option<Estimate> {
        let result = self.mapping.result.as_ref()?;
        let runs = self.runs.list.iter().filter(|r| r.tolerance.is_some()).map(|r| (r.id, r.name.clone())).collect();
        let basis = Basis { map: result.clone(), runs, params: self.runs.settings.params.clone() };
        let mut last = self.estimated.borrow_mut();
        match &*last {
            Some((known, estimate)) if *known == basis => estimate.clone(),
            _ => {
                let estimate = self.estimate_of(&result.levels[0]);
                *last = Some((basis, estimate.clone()));
                estimate
            }
        }
    }

    fn estimate_of(&self, now: &ToleranceMap) -> Option<Estimate> {
        let runs = &self.runs.list;
        let measured = |r: &&Run| r.tolerance.is_some();
        let panel = &self.runs.settings.params;
        let settings = runs.iter().filter(measured).rev().find(|r| r.request.params == *panel);
        let settings = &settings.or(runs.iter().rfind(measured))?.request.params;
        let known: Vec<Known> = runs
            .iter()
            .filter(|r| r.request.params == *settings)
            .filter_map(|r| {
                let map = r.tolerance.as_deref().filter(|m| m.blocks == now.blocks)?;
                let pairs = pairs(map, now);
                Some(Known {
                    name: &r.name,
                    map,
                    bits: r.compress.bits_per_value,
                    stricter: pairs.iter().all(|(run, now, _)| run <= now),
                    looser: pairs.iter().all(|(run, now, _)| run >= now),
                })
            })
            .collect();
        let lossless = 8.0 * self.document.as_ref()?.volume.values.dtype().bytes() as f64;
        let (bits_per_value, runs, rough) = judged(now, &known, lossless)?;
        Some(Estimate { bits_per_value, ratio: lossless / bits_per_value, runs, rough })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmgard::Tier;

    fn map(strict: usize) -> ToleranceMap {
        let tier = |tau| Tier { name: String::new(), tau };
        let tier_of_block = (0..72).map(|i| u8::from(i < strict)).collect();
        ToleranceMap { blocks: [1, 1, 72], tiers: vec![tier(1e-2), tier(1e-4)], tier_of_block }
    }

    fn known<'a>(name: &'a str, of: &'a ToleranceMap, ratio: f64, now: &ToleranceMap) -> Known<'a> {
        let all = |test: fn(&f64, &f64) -> bool| pairs(of, now).iter().all(|(a, b, _)| test(a, b));
        Known { name, map: of, bits: 32.0 / ratio, stricter: all(|a, b| a <= b), looser: all(|a, b| a >= b) }
    }

    /// Figures of a WRF cloud field: all loose 78.9, all strict 34.7, 12 of 72 blocks strict 60.7.
    #[test]
    fn between_two_measured_runs_the_share_of_the_blocks_decides() {
        let (loose, now, strict) = (map(0), map(12), map(72));
        let runs = [known("loose", &loose, 78.9, &now), known("strict", &strict, 34.7, &now)];
        let (bits, by, rough) = judged(&now, &runs, 32.0).unwrap();
        assert!((32.0 / bits - 60.7).abs() < 6.0, "{}", 32.0 / bits);
        assert_eq!((by, rough), (vec!["loose".to_owned(), "strict".to_owned()], false));
        let (bits, _, rough) = judged(&loose, &[known("loose", &loose, 78.9, &loose)], 32.0).unwrap();
        assert_eq!((bits, rough), (32.0 / 78.9, false), "what was run is known");
    }

    #[test]
    fn one_run_alone_bounds_the_guess_on_its_side() {
        let (loose, strict) = (map(0), map(72));
        let (bits, _, rough) = judged(&loose, &[known("strict", &strict, 34.7, &loose)], 32.0).unwrap();
        assert!(rough && bits < 32.0 / 34.7 && bits > LEAST_BITS, "{bits}");
        let (bits, _, rough) = judged(&strict, &[known("loose", &loose, 78.9, &strict)], 32.0).unwrap();
        assert!(rough && bits > 32.0 / 78.9 && bits < 32.0, "{bits}");
    }

    #[test]
    fn lossless_and_ignored_blocks_are_far_away_but_not_endless() {
        let (mut loose, mut strict) = (map(0), map(72));
        (loose.tiers[0].tau, strict.tiers[1].tau) = (f64::INFINITY, 0.0);
        let between = halvings(&loose, &strict);
        assert!(between.is_finite() && between > 72.0 * 2.0 * FAR, "{between}");
    }

    #[test]
    fn the_model_returns_what_it_was_fitted_to_and_a_stricter_map_costs_more() {
        let now = map(12);
        let offset = fit(&now, 2.5, 32.0);
        assert!((model(&now, offset, 32.0) - 2.5).abs() < 1e-6);
        assert!(model(&map(36), offset, 32.0) > 2.5);
    }
}
