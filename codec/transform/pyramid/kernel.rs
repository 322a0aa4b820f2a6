//! The tile kernel: W equal tiles at a time, compiled for the machine's vector units, the same bits on all.

use super::lanes::{Lanes, Real, apply_delta, delta};
use super::predict::{Group, Node, Visit};
use super::quantizer::QuantizerLanes;
use crate::entropy::class::symbols::EXACT;

struct Encode<'a, T, const W: usize> {
    quantizers: &'a [QuantizerLanes<T, W>],
    q: &'a mut [[i16; W]],
    /// Not 0 where a lane has had an exact node.
    exact: Lanes<T, W>,
}

impl<T: Real, const W: usize> Visit<T, W> for Encode<'_, T, W> {
    /// One simple loop a step, selections by masks: this is what compilers vectorize.
    #[inline(always)]
    fn visit(&mut self, node: Node, p: &Lanes<T, W>, v: &mut [Lanes<T, W>]) {
        let (u, z) = (v[node.position], &self.quantizers[node.block]);
        let (mut rounded, mut r, mut fits) = (Lanes::<T, W>::default(), Lanes::<T, W>::default(), [false; W]);
        for l in 0..W {
            rounded[l] = (u[l] - p[l]) * z.inverse[l] + T::ROUNDER;
        }
        for l in 0..W {
            let steps = rounded[l] - T::ROUNDER;
            r[l] = steps.fma(z.step[l], p[l]);
            fits[l] = (steps.abs() <= T::Q_MAX) & ((u[l] - r[l]).abs() <= z.check[l]);
        }
        for l in 0..W {
            r[l] = T::select(fits[l], r[l], u[l]);
        }
        v[node.position] = r;
        for l in 0..W {
            self.exact[l] = T::select(fits[l], self.exact[l], T::ONE);
        }
        let mut q = [0; W];
        for l in 0..W {
            q[l] = T::select(fits[l], rounded[l], T::EXACT_ROUNDED).low16();
        }
        self.q[node.position] = q;
    }
}

struct Decode<'a, T, const W: usize> {
    quantizers: &'a [QuantizerLanes<T, W>],
    q: &'a [[i16; W]],
    /// Empty when no node is exact.
    delta: &'a [[u64; W]],
}

impl<T: Real, const W: usize> Visit<T, W> for Decode<'_, T, W> {
    #[inline(always)]
    fn visit(&mut self, node: Node, p: &Lanes<T, W>, v: &mut [Lanes<T, W>]) {
        let (q, step) = (&self.q[node.position], &self.quantizers[node.block].step);
        let v = &mut v[node.position];
        for l in 0..W {
            v[l] = T::from_q(q[l]).fma(step[l], p[l]);
        }
        if !self.delta.is_empty() {
            for l in 0..W {
                if q[l] == EXACT {
                    v[l] = apply_delta(self.delta[node.position][l], p[l]);
                }
            }
        }
    }
}

struct Deltas<'a, const W: usize>(&'a mut [[u64; W]]);

impl<T: Real, const W: usize> Visit<T, W> for Deltas<'_, W> {
    #[inline(always)]
    fn visit(&mut self, node: Node, p: &Lanes<T, W>, v: &mut [Lanes<T, W>]) {
        let (out, r) = (&mut self.0[node.position], &v[node.position]);
        for l in 0..W {
            out[l] = delta(r[l], p[l]);
        }
    }
}

/// Defines a method of [`Group`] whose body is compiled for several instruction sets.
macro_rules! dispatch {
    ($(#[$doc:meta])* $name:ident, $body:ident, ($($arg:ident: $ty:ty),*) $(-> $ret:ty)?) => {
        $(#[$doc])*
        pub fn $name(&self, $($arg: $ty),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")]
                fn avx512<T: Real, const W: usize>(group: &Group<T, W>, $($arg: $ty),*) $(-> $ret)? {
                    group.$body($($arg),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2<T: Real, const W: usize>(group: &Group<T, W>, $($arg: $ty),*) $(-> $ret)? {
                    group.$body($($arg),*)
                }
                if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("fma")
                {
                    // SAFETY: the features were just detected.
                    return unsafe { avx512(self, $($arg),*) };
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    // SAFETY: as above.
                    return unsafe { avx2(self, $($arg),*) };
                }
            }
            self.$body($($arg),*)
        }
    };
}

impl<T: Real, const W: usize> Group<'_, T, W> {
    dispatch! {
        /// Quantizes all coded nodes. `v` holds the values, its corners already reconstructed, and becomes the
        /// reconstruction. Returns which tiles have exact nodes.
        encode, encode_plain, (v: &mut [Lanes<T, W>], q: &mut [[i16; W]]) -> [bool; W]
    }
    dispatch! {
        /// Rebuilds all coded nodes from the corners in `v`. `delta` may be empty when no q is [`EXACT`].
        decode, decode_plain, (v: &mut [Lanes<T, W>], q: &[[i16; W]], delta: &[[u64; W]])
    }
    dispatch! {
        /// The delta of every coded node of a reconstruction.
        deltas, deltas_plain, (v: &mut [Lanes<T, W>], out: &mut [[u64; W]])
    }

    #[inline(always)]
    fn encode_plain(&self, v: &mut [Lanes<T, W>], q: &mut [[i16; W]]) -> [bool; W] {
        let mut visitor = Encode { quantizers: self.quantizers, q, exact: Lanes::default() };
        self.sweep(v, &mut visitor);
        visitor.exact.0.map(|e| e != T::ZERO)
    }
    #[inline(always)]
    fn decode_plain(&self, v: &mut [Lanes<T, W>], q: &[[i16; W]], delta: &[[u64; W]]) {
        self.sweep(v, &mut Decode { quantizers: self.quantizers, q, delta });
    }
    #[inline(always)]
    fn deltas_plain(&self, v: &mut [Lanes<T, W>], out: &mut [[u64; W]]) {
        self.sweep(v, &mut Deltas(out));
    }
}
