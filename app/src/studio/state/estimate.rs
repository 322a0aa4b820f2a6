//! What the map on screen is expected to cost, judged by the last run.

use super::State;
use super::runs::Run;
use blockmgard::ToleranceMap;

/// Bits a value costs at least, however loose its tolerance.
const LEAST_BITS: f64 = 0.01;

/// An expected cost and the run it is judged by.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    pub bits_per_value: f64,
    pub ratio: f64,
    pub run: String,
}

/// Bits per value of a map, when a tolerance of one would cost `offset` bits: each halving of a tolerance
/// costs one bit more.
fn model(map: &ToleranceMap, counts: &[usize], offset: f64, lossless: f64) -> f64 {
    let total: usize = counts.iter().sum::<usize>().max(1);
    let cost = |tau: f64| match tau {
        0.0 => lossless,
        t if t.is_infinite() => LEAST_BITS,
        t => (offset - t.log2()).clamp(LEAST_BITS, lossless),
    };
    map.tiers.iter().zip(counts).map(|(t, n)| cost(t.tau) * *n as f64).sum::<f64>() / total as f64
}

/// The offset at which the model gives a run's measured bits, by bisection.
fn fit(map: &ToleranceMap, measured: f64, lossless: f64) -> f64 {
    let counts = map.blocks_per_tier();
    let (mut lo, mut hi) = (-2000.0, 2000.0);
    for _ in 0..60 {
        let middle = (lo + hi) / 2.0;
        if model(map, &counts, middle, lossless) < measured { lo = middle } else { hi = middle }
    }
    (lo + hi) / 2.0
}

impl State {
    /// The cost of the map on screen; `None` before the first run.
    pub fn estimate(&self) -> Option<Estimate> {
        let now = self.mapping.result.as_ref()?;
        let run: &Run = self.runs.list.last()?;
        let map = run.tolerance.as_ref()?;
        let lossless = 8.0 * self.document.as_ref()?.volume.values.dtype().bytes() as f64;
        let offset = fit(map, run.compress.bits_per_value, lossless);
        let bits_per_value = model(&now.levels[0], &now.counts[0], offset, lossless);
        Some(Estimate { bits_per_value, ratio: lossless / bits_per_value, run: run.name.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmgard::Tier;

    #[test]
    fn the_model_returns_what_it_was_fitted_to_and_a_stricter_map_costs_more() {
        let tier = |tau| Tier { name: String::new(), tau };
        let map =
            ToleranceMap { blocks: [1, 1, 4], tiers: vec![tier(1.0), tier(0.01)], tier_of_block: vec![0, 0, 0, 1] };
        let offset = fit(&map, 2.5, 32.0);
        assert!((model(&map, &[3, 1], offset, 32.0) - 2.5).abs() < 1e-6);
        assert!(model(&map, &[1, 3], offset, 32.0) > 2.5);
    }
}
