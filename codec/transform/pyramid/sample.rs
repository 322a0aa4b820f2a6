//! What predictions of a row of probes would cost.

use super::lanes::{Lanes, Real, delta};
use super::probe::{Probes, WIDTH};
use super::tiers::Tiers;
use crate::Region;

/// Cost of a bit.
const BIT: u32 = 128;
/// A quarter of the variance of rounding to integers: most predicting nodes have q = 0 and little noise.
const NOISE: f64 = 1.0 / 48.0;

type Vector<T> = Lanes<T, WIDTH>;

/// Probes next to each other on axis 2, predicted as though they were new on any set of axes.
pub struct Row<T> {
    /// How many lanes count.
    count: usize,
    u: Vector<T>,
    step: Vector<T>,
    inverse: Vector<T>,
    /// Lanes of a lossless or an ignored tier: which, and whether it is lossless.
    stepless: Vec<(usize, bool)>,
    /// The six nodes along each axis.
    near: [[Vector<T>; 6]; 3],
    p: [Vector<T>; 3],
    rough: [Vector<T>; 3],
    gain: [Vector<T>; 3],
}

impl<T: Real> Default for Row<T> {
    fn default() -> Self {
        let v = Vector::default();
        let stepless = Vec::new();
        Self {
            count: 0,
            u: v,
            step: v,
            inverse: v,
            stepless,
            near: [[v; 6]; 3],
            p: [v; 3],
            rough: [v; 3],
            gain: [v; 3],
        }
    }
}

impl<T: Real> Row<T> {
    /// Fetches the values from the chunk `region`; `active` are the axes with new nodes.
    #[inline(always)]
    pub fn load(&mut self, region: &Region, tiers: &Tiers<T>, values: &[T], probes: [&Probes<T>; 3], active: usize) {
        let [_, ny, nx] = region.shape();
        let strides = [ny * nx, nx, 1];
        let count = probes[2].count;
        self.count = count;
        self.stepless.clear();
        let mut place = [0; WIDTH];
        for l in 0..WIDTH {
            let at = probes.map(|p| p.at[l]);
            place[l] = at[0] * strides[0] + at[1] * strides[1] + at[2];
            self.u[l] = values[place[l]];
            let quantizer = tiers.quantizer(std::array::from_fn(|a| region.lo[a] + at[a]), 0);
            (self.step[l], self.inverse[l]) = (quantizer.step, quantizer.inverse);
            if quantizer.inverse == T::ZERO && l < count {
                self.stepless.push((l, quantizer.check < T::ZERO));
            }
        }
        for a in (0..3).filter(|a| active >> a & 1 == 1) {
            for (near, offset) in self.near[a].iter_mut().zip(&probes[a].offset) {
                for l in 0..WIDTH {
                    near[l] = values[place[l].wrapping_add_signed(offset[l] * strides[a] as isize)];
                }
            }
        }
    }

    /// Predicts along each active axis.
    #[inline(always)]
    pub fn interpolate(&mut self, points: usize, probes: [&Probes<T>; 3], active: usize) {
        for a in (0..3).filter(|a| active >> a & 1 == 1) {
            let (v, weight, alone) = (&self.near[a], &probes[a].weight[points], &probes[a].alone);
            let mut p = Vector::default();
            for k in 0..6 {
                for l in 0..WIDTH {
                    p[l] = weight[k][l].fma(v[k][l], p[l]);
                }
            }
            (self.p[a], self.gain[a]) = (p, probes[a].gain[points]);
            for l in 0..WIDTH {
                let (left, right) = (v[2][l], v[3][l]);
                let alone = (points == 0) | alone[l];
                let rough = T::select(alone, right - left, p[l].fma(-T::TWO, left + right));
                self.rough[a][l] = rough.abs();
            }
        }
    }

    /// What the predictions cost if the nodes were new on the axes `set`; with `rule` axes much rougher than another are left out.
    #[inline(always)]
    pub fn cost(&self, set: usize, rule: bool) -> u64 {
        let (p, gain) = if rule { self.mean_of_smooth(set) } else { self.mean(set) };
        let mut cost = [0u32; WIDTH];
        for l in 0..WIDTH {
            let x = (self.u[l] - p[l]).abs() * self.inverse[l];
            let x = T::select(x < T::COST_LIMIT, x, T::COST_LIMIT);
            let y = x.fma(x, gain[l].fma(T::from_f64(NOISE), T::ONE));
            cost[l] = logarithm(y.single());
        }
        for &(l, lossless) in &self.stepless {
            let bits = u64::BITS - delta(self.u[l], p[l]).leading_zeros();
            cost[l] = if lossless { bits * BIT } else { 0 };
        }
        cost[..self.count].iter().map(|&c| c as u64).sum()
    }

    /// The mean over the axes `set`, and what rounding adds to its square error.
    #[inline(always)]
    fn mean(&self, set: usize) -> (Vector<T>, Vector<T>) {
        let (mut sum, mut gain) = (Vector::default(), Vector::<T>::default());
        for a in (0..3).filter(|a| set >> a & 1 == 1) {
            for l in 0..WIDTH {
                (sum[l], gain[l]) = (sum[l] + self.p[a][l], gain[l] + self.gain[a][l]);
            }
        }
        let share = [T::ONE, T::HALF, T::THIRD][set.count_ones() as usize - 1];
        for l in 0..WIDTH {
            (sum[l], gain[l]) = (sum[l] * share, gain[l] * (share * share));
        }
        (sum, gain)
    }

    /// The same without axes that are much rougher than another; `set` has two or three.
    #[inline(always)]
    fn mean_of_smooth(&self, set: usize) -> (Vector<T>, Vector<T>) {
        let mut limit = Lanes([T::INFINITY; WIDTH]);
        let (mut sum, mut gain, mut count) = (Vector::default(), Vector::<T>::default(), Vector::<T>::default());
        for a in (0..3).filter(|a| set >> a & 1 == 1) {
            for l in 0..WIDTH {
                limit[l] = T::select(self.rough[a][l] < limit[l], self.rough[a][l], limit[l]);
            }
        }
        for l in 0..WIDTH {
            limit[l] = limit[l].fma(T::TWO, self.step[l]);
        }
        for a in (0..3).filter(|a| set >> a & 1 == 1) {
            for l in 0..WIDTH {
                let out = self.rough[a][l] > limit[l];
                sum[l] = T::select(out, sum[l], sum[l] + self.p[a][l]);
                gain[l] = T::select(out, gain[l], gain[l] + self.gain[a][l]);
                count[l] = T::select(out, count[l], count[l] + T::ONE);
            }
        }
        for l in 0..WIDTH {
            let two = T::select(count[l] == T::ONE, T::ONE, T::HALF);
            let share = T::select(count[l] > T::TWO, T::THIRD, two);
            (sum[l], gain[l]) = (sum[l] * share, gain[l] * (share * share));
        }
        (sum, gain)
    }
}

/// log2 of a number >= 1, straight between powers of two, in 64ths.
#[inline(always)]
fn logarithm(y: f32) -> u32 {
    (y.to_bits() >> 17) - (127 << 6)
}
