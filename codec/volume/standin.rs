//! A made-up field, for measurements where no data is at hand.

use crate::Element;
use rayon::prelude::*;

/// Waves that are summed.
const WAVES: usize = 12;
/// Largest part of the noise.
const NOISE: f64 = 1e-4;

/// Smooth waves of many lengths, the shorter ones weaker, over a little noise; magnitudes stay below 2. C order; the
/// same values on every machine of one mathematics library.
pub fn standin<T: Element>(n: [usize; 3]) -> Vec<T> {
    // One factor an axis for each wave; frequencies that do not repeat within a volume.
    let axis = |axis: usize| -> Vec<Vec<f64>> {
        let wave = |k: usize| {
            let frequency = 0.013 * (k as f64 + 1.0).powf(1.3) * (1.0 + 0.17 * ((3 * k + axis) as f64).sin());
            (0..n[axis]).map(|i| (frequency * i as f64 + (k * 5 + axis * 3) as f64).sin()).collect()
        };
        (0..WAVES).map(wave).collect()
    };
    let (z, y, x) = (axis(0), axis(1), axis(2));
    let mut values = vec![T::ZERO; n.iter().product()];
    values.par_chunks_mut(n[2]).enumerate().for_each(|(row, out)| {
        let mut state = (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let amplitude: [f64; WAVES] =
            std::array::from_fn(|k| (k as f64 + 1.0).powf(-5.0 / 3.0) * z[k][row / n[1]] * y[k][row % n[1]]);
        for (i, out) in out.iter_mut().enumerate() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let noise = NOISE * ((state >> 33) as f64 / (1u64 << 31) as f64 - 0.5);
            let sum: f64 = amplitude.iter().zip(&x).map(|(a, x)| a * x[i]).sum();
            *out = T::from_f64(sum + noise);
        }
    });
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_ins_are_smooth_bounded_and_the_same_each_time() {
        let n = [9, 20, 33];
        let values = standin::<f64>(n);
        assert!(values == standin::<f64>(n) && values.iter().all(|v| v.abs() < 2.0));
        let largest = values.iter().fold(0f64, |m, v| m.max(v.abs()));
        assert!(largest > 0.1 && values.windows(2).filter(|w| (w[0] - w[1]).abs() > 0.2 * largest).count() < 9 * 20);
    }
}
