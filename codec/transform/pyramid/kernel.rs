//! The tile kernel: W equal tiles at a time, compiled for the machine's vector units, the same bits on all.

use super::lanes::{Lanes, Real, W, apply_delta, delta};
use super::predict::{Group, Node, Visit};
use super::quantizer::QuantizerLanes;
use super::vector::Vector;
use crate::entropy::class::symbols::EXACT;
use crate::simd::{Instructions, instructions};

struct Encode<'a, T, V: Vector<T, W>>
where
    T: Real,
{
    quantizers: &'a [QuantizerLanes<T, W>],
    q: &'a mut [[i16; W]],
    /// The lanes that have had no exact node.
    fits: V::Mask,
}

impl<T: Real, V: Vector<T, W>> Visit<T, V, W> for Encode<'_, T, V> {
    #[inline(always)]
    fn visit(&mut self, node: Node, p: V, v: &mut [Lanes<T, W>]) {
        let (u, z) = (V::load(&v[node.position]), &self.quantizers[node.block]);
        let rounder = V::splat(T::ROUNDER);
        let rounded = u.sub(p).mul(V::load(&z.inverse)).add(rounder);
        let steps = rounded.sub(rounder);
        let r = steps.fma(V::load(&z.step), p);
        let few = steps.abs().le(V::splat(T::Q_MAX));
        let fits = V::and(few, u.sub(r).abs().le(V::load(&z.check)));
        V::select(fits, r, u).store(&mut v[node.position]);
        self.fits = V::and(self.fits, fits);
        self.q[node.position] = V::select(fits, rounded, V::splat(T::EXACT_ROUNDED)).low16();
    }
}

struct Decode<'a, T, const W: usize> {
    quantizers: &'a [QuantizerLanes<T, W>],
    q: &'a [[i16; W]],
    /// Empty when no node is exact.
    delta: &'a [[u64; W]],
}

impl<T: Real, V: Vector<T, W>> Visit<T, V, W> for Decode<'_, T, W> {
    #[inline(always)]
    fn visit(&mut self, node: Node, p: V, v: &mut [Lanes<T, W>]) {
        let (q, step) = (&self.q[node.position], &self.quantizers[node.block].step);
        let v = &mut v[node.position];
        V::from_q(q).fma(V::load(step), p).store(v);
        if !self.delta.is_empty() {
            let mut prediction = Lanes::default();
            p.store(&mut prediction);
            for l in 0..W {
                if q[l] == EXACT {
                    v[l] = apply_delta(self.delta[node.position][l], prediction[l]);
                }
            }
        }
    }
}

struct Deltas<'a, const W: usize>(&'a mut [[u64; W]]);

impl<T: Real, V: Vector<T, W>> Visit<T, V, W> for Deltas<'_, W> {
    #[inline(always)]
    fn visit(&mut self, node: Node, p: V, v: &mut [Lanes<T, W>]) {
        let (out, r) = (&mut self.0[node.position], &v[node.position]);
        let mut prediction = Lanes::default();
        p.store(&mut prediction);
        for l in 0..W {
            out[l] = delta(r[l], prediction[l]);
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
                #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
                fn avx512<T: Real>(group: &Group<T, W>, $($arg: $ty),*) $(-> $ret)? {
                    group.$body::<T::Avx2>($($arg),*)
                }
                #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
                fn avx2<T: Real>(group: &Group<T, W>, $($arg: $ty),*) $(-> $ret)? {
                    group.$body::<T::Avx2>($($arg),*)
                }
                match instructions() {
                    // SAFETY: the machine has the instructions.
                    Instructions::Avx512 => return unsafe { avx512(self, $($arg),*) },
                    // SAFETY: as above.
                    Instructions::Avx2 => return unsafe { avx2(self, $($arg),*) },
                    Instructions::Plain => {}
                }
            }
            self.$body::<Lanes<T, W>>($($arg),*)
        }
    };
}

impl<T: Real> Group<'_, T, W> {
    dispatch! {
        /// Quantizes all coded nodes. `v` holds the values, its corners already reconstructed, and becomes the
        /// reconstruction. Returns whether there are exact nodes.
        encode, encode_with, (v: &mut [Lanes<T, W>], q: &mut [[i16; W]]) -> bool
    }
    dispatch! {
        /// Rebuilds all coded nodes from the corners in `v`. `delta` may be empty when no q is [`EXACT`].
        decode, decode_with, (v: &mut [Lanes<T, W>], q: &[[i16; W]], delta: &[[u64; W]])
    }
    dispatch! {
        /// The delta of every coded node of a reconstruction.
        deltas, deltas_with, (v: &mut [Lanes<T, W>], out: &mut [[u64; W]])
    }

    #[inline(always)]
    fn encode_with<V: Vector<T, W>>(&self, v: &mut [Lanes<T, W>], q: &mut [[i16; W]]) -> bool {
        let zero = V::splat(T::ZERO);
        let mut visitor = Encode::<T, V> { quantizers: self.quantizers, q, fits: zero.le(zero) };
        self.sweep(v, &mut visitor);
        !V::all(visitor.fits)
    }
    #[inline(always)]
    fn decode_with<V: Vector<T, W>>(&self, v: &mut [Lanes<T, W>], q: &[[i16; W]], delta: &[[u64; W]]) {
        self.sweep::<V, _>(v, &mut Decode { quantizers: self.quantizers, q, delta });
    }
    #[inline(always)]
    fn deltas_with<V: Vector<T, W>>(&self, v: &mut [Lanes<T, W>], out: &mut [[u64; W]]) {
        self.sweep::<V, _>(v, &mut Deltas(out));
    }
}
