//! Measuring the stage models on a device.

use super::{DeviceModels, Linear, Models, Saturating};
use crate::backend::{Backend, FrameInput, StageTimes};
use crate::job::Coded;
use crate::transform::hybrid::plan::Plan;
use crate::volume::{SliceField, standin};
use crate::{Control, Mode, Params, Result, Shape, ToleranceMap};

/// Sides of the cubes that are encoded; the larger ones only while they stay below [`LONGEST_MS`].
const SIDES: [usize; 8] = [16, 24, 32, 48, 64, 128, 256, 512];
/// A cube is the last one when it takes longer.
const LONGEST_MS: f64 = 300.0;
/// Runs a cube after one that warms up; the median counts.
const RUNS: usize = 5;
/// Tolerance by the largest |u|: symbols as they are at a middling ratio.
const RELATIVE: f64 = 1e-3;

/// Measures the models of `backend`: a few seconds. Progress counts the volumes that are encoded.
///
/// # Errors
/// Those of the backend, or when `control` is cancelled.
pub fn measure(backend: &dyn Backend, control: &Control) -> Result<DeviceModels> {
    control.begin(2 * SIDES.len() as u64);
    Ok(DeviceModels {
        device: backend.describe(),
        version: env!("CARGO_PKG_VERSION").into(),
        f32: models::<f32>(backend, control)?,
        f64: models::<f64>(backend, control)?,
    })
}

fn models<T: Coded>(backend: &dyn Backend, control: &Control) -> Result<Models> {
    let (mut local, mut global, mut lossless) = (Vec::new(), Vec::new(), Vec::new());
    for (done, side) in SIDES.into_iter().enumerate() {
        let n = [side; 3];
        let params = Params { mode: Mode::Hybrid, local_levels: 1, global_levels: 1, ..Params::default() };
        let values = standin::<T>(n);
        let map = ToleranceMap::uniform(&Shape::new(&n)?, RELATIVE * 2.0)?;
        let field = SliceField::new(&values, n);
        let input = FrameInput { field: &field, tolerance: &map, max_abs: T::from_f64(2.0), params: &params };
        let mut runs = Vec::new();
        for _ in 0..RUNS + 1 {
            control.check()?;
            runs.push(T::stage_times(backend, &input, control)?);
        }
        let stage = |of: fn(&StageTimes) -> f64| median(runs[1..].iter().map(of).collect());
        let plan = Plan::new(n, &params);
        let blocks = plan.levels[0].blocks().iter().product::<usize>() as f64;
        let symbols = plan.levels.iter().map(|l| l.details).sum::<usize>() + plan.coarsest.iter().product::<usize>();
        local.push((blocks, stage(|t| t.local)));
        global.push((plan.levels[0].coarse.iter().product::<usize>() as f64, stage(|t| t.coarse)));
        lossless.push((symbols as f64, stage(|t| t.lossless)));
        control.advance(1);
        if stage(StageTimes::total) > LONGEST_MS {
            control.advance((SIDES.len() - done - 1) as u64);
            break;
        }
    }
    Ok(Models { local: Saturating::fit(&local), global: Linear::fit(&global), lossless: Linear::fit(&lossless) })
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
