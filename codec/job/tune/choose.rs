//! The search of Algorithm 1.

use super::Models;
use crate::stream::Frames;
use crate::transform::hybrid::plan::Plan;
use crate::{Error, Mode, Params, Result, Shape};
use serde::Serialize;

/// Most levels of a kind that are tried.
const MOST_LEVELS: u8 = 48;

/// A hierarchy and what it is predicted to take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Choice {
    pub local_levels: u8,
    pub global_levels: u8,
    /// Milliseconds of encoding all frames.
    pub predicted_ms: f64,
}

/// All (L, M) that are really there: each level leaves fewer values than it takes, in every frame.
pub fn candidates(shape: &Shape, params: &Params) -> Vec<Params> {
    let frames = Frames::new(shape, params.frame_values);
    let last = frames.region(frames.count - 1).shape();
    let mut all = Vec::new();
    for local_levels in 0..=MOST_LEVELS {
        let mut found = false;
        for global_levels in 0..=MOST_LEVELS {
            let params = Params { mode: Mode::Hybrid, local_levels, global_levels, ..params.clone() };
            if Plan::new(last, &params).levels.len() < (local_levels + global_levels) as usize {
                break;
            }
            found = true;
            all.push(params);
        }
        if !found {
            break;
        }
    }
    all
}

/// Predicted milliseconds of encoding all frames of a volume in the hybrid mode, hierarchy as in `params`.
pub fn predict(models: &Models, shape: &Shape, params: &Params) -> f64 {
    let frames = Frames::new(shape, params.frame_values);
    (0..frames.count).map(|i| models.predict(frames.region(i).shape(), params).total()).sum()
}

/// All hierarchies of a volume with what they are predicted to take; the other settings are those of `params`.
pub fn predictions(models: &Models, shape: &Shape, params: &Params) -> Vec<Choice> {
    let choice = |params: Params| Choice {
        local_levels: params.local_levels,
        global_levels: params.global_levels,
        predicted_ms: predict(models, shape, &params),
    };
    candidates(shape, params).into_iter().map(choice).collect()
}

/// The hierarchy with the most global levels and then the fewest local ones that is predicted to encode a volume within
/// `budget_ms`; the other settings are those of `params`.
///
/// # Errors
/// As [`pick`].
pub fn choose(models: &Models, shape: &Shape, params: &Params, budget_ms: f64) -> Result<Choice> {
    pick(&predictions(models, shape, params), budget_ms)
}

/// The choice of [`choose`] among `all`.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] when none is predicted to fit: with the time of the fastest.
pub fn pick(all: &[Choice], budget_ms: f64) -> Result<Choice> {
    let fitting = all.iter().filter(|c| c.predicted_ms <= budget_ms);
    if let Some(best) = fitting.max_by_key(|c| (c.global_levels, std::cmp::Reverse(c.local_levels))) {
        return Ok(*best);
    }
    let fastest = all.iter().min_by(|a, b| a.predicted_ms.total_cmp(&b.predicted_ms));
    let (l, m, ms) = fastest.map_or((0, 0, 0.0), |c| (c.local_levels, c.global_levels, c.predicted_ms));
    Err(Error::invalid(format!("no hierarchy is predicted to take at most {budget_ms} ms"))
        .remedy(format!("the fastest has {l} local and {m} global levels and {ms:.3} ms")))
}

#[cfg(test)]
mod tests {
    use super::super::{Linear, Saturating};
    use super::*;

    /// As on a GPU: local levels fast, global ones slow.
    const MODELS: Models = Models {
        local: Saturating { slope: 100.0, peak: 5e5 },
        global: Linear { fixed_ms: 0.01, ms_per_item: 1e-8 },
        lossless: Linear { fixed_ms: 0.05, ms_per_item: 5e-9 },
    };

    #[test]
    fn more_time_gives_more_global_levels_and_then_fewer_local_ones() {
        let shape = Shape::new(&[512, 512, 512]).unwrap();
        let params = Params::default();
        let all = candidates(&shape, &params);
        assert!(all.len() > 20 && all.iter().all(|p| p.mode == Mode::Hybrid));
        let mut before = 0;
        for budget in [1.5, 1.8, 2.0, 5.0, 1e9] {
            let choice = choose(&MODELS, &shape, &params, budget).unwrap();
            assert!(choice.predicted_ms <= budget && choice.global_levels >= before);
            before = choice.global_levels;
            let of = |p: &&Params| {
                let fits = MODELS.predict(shape.n, p).total() <= budget;
                fits && (p.global_levels, u8::MAX - p.local_levels) > (before, u8::MAX - choice.local_levels)
            };
            assert_eq!(all.iter().find(of), None);
        }
        assert_eq!(choose(&MODELS, &shape, &params, 1e9).unwrap().local_levels, 0);
        assert!(choose(&MODELS, &shape, &params, 1e-3).unwrap_err().to_string().contains("at most 0.001 ms"));
    }

    #[test]
    fn small_and_flat_volumes_have_candidates() {
        for extents in [vec![1], vec![2, 2], vec![9], vec![1, 100, 100]] {
            let shape = Shape::new(&extents).unwrap();
            assert!(!candidates(&shape, &Params::default()).is_empty());
        }
    }
}
