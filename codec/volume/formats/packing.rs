//! Values packed as integers, and codes for "missing": the CF conventions and their kin in FITS, NIfTI and Zarr.

use crate::volume::{DType, Element, Field, Region, StoredType, Values};
use crate::{Result, with_values};
use std::sync::Arc;

/// How stored values become physical ones: `value = stored * scale + offset`.
#[derive(Clone, Debug, PartialEq)]
pub struct Packing {
    pub scale: f64,
    pub offset: f64,
    /// Stored integers of the other signedness: what to add to values below 0 or to take from the upper half.
    pub wrap: Option<Wrap>,
    /// Stored values that mean "missing".
    pub fills: Vec<f64>,
    /// Stored values outside this closed range are missing too (those of scaled data are delivered as NaN).
    pub valid: Option<[f64; 2]>,
    /// Type delivered.
    pub dtype: DType,
}

/// An integer type read as its sibling of the other signedness (attribute `_Unsigned`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wrap {
    /// Values below 0 have 2^bits added.
    ToUnsigned(f64),
    /// Values from 2^(bits - 1) on have 2^bits taken away.
    ToSigned(f64),
}

impl Wrap {
    pub fn apply(self, v: f64) -> f64 {
        match self {
            Wrap::ToUnsigned(modulus) if v < 0.0 => v + modulus,
            Wrap::ToSigned(modulus) if v >= modulus / 2.0 => v - modulus,
            _ => v,
        }
    }
}

impl Packing {
    /// Values as they are stored.
    pub fn plain(stored: StoredType) -> Self {
        Self { scale: 1.0, offset: 0.0, wrap: None, fills: Vec::new(), valid: None, dtype: stored.delivered() }
    }
    pub fn is_scaled(&self) -> bool {
        self.scale != 1.0 || self.offset != 0.0
    }
    /// Values that mean "missing" among those delivered; the fills of scaled data are delivered as NaN.
    pub fn delivered_fills(&self) -> Vec<f64> {
        if self.is_scaled() { Vec::new() } else { self.fills.clone() }
    }
    /// The closed range outside which delivered values are missing.
    pub fn delivered_valid(&self) -> Option<[f64; 2]> {
        // Open ends are stored as the largest numbers: JSON has no infinity.
        self.valid.filter(|_| !self.is_scaled()).map(|range| range.map(|v| v.clamp(f64::MIN, f64::MAX)))
    }
    /// The stored type with what is done to it, such as "i16, scaled".
    pub fn describe(&self, stored: StoredType) -> String {
        if self.is_scaled() { format!("{stored}, scaled") } else { stored.to_string() }
    }
    /// What a reader should know of the conversion.
    pub fn notes(&self, stored: StoredType) -> Vec<String> {
        let mut notes = Vec::new();
        if self.is_scaled() {
            let Self { scale, offset, dtype, .. } = self;
            notes.push(format!("{stored} read as {dtype}: value = stored x {scale} + {offset}"));
            if !self.fills.is_empty() {
                notes.push(format!("stored {:?} means missing and is read as NaN", self.fills));
            }
        } else {
            notes.extend(stored.conversion_note());
        }
        if let Some([lo, hi]) = self.valid {
            let read = if self.is_scaled() { "stored values" } else { "values" };
            let how = if self.is_scaled() { "read as NaN" } else { "missing" };
            notes.push(format!("{read} outside {lo} to {hi} are {how} (valid range)"));
        }
        notes
    }
    /// The delivered view of raw values.
    pub fn apply(&self, raw: Values) -> Values {
        let as_is = !self.is_scaled() && self.wrap.is_none();
        if as_is && raw.dtype() == self.dtype {
            return raw;
        }
        let packing = self.clone();
        with_values!(raw, raw => match self.dtype {
            DType::F32 => Values::F32(Arc::new(Unpacked { raw, packing })),
            DType::F64 => Values::F64(Arc::new(Unpacked { raw, packing })),
        })
    }
    fn unpack(&self, stored: f64) -> f64 {
        let v = self.wrap.map_or(stored, |w| w.apply(stored));
        if self.fills.contains(&v) {
            return if self.is_scaled() { f64::NAN } else { v };
        }
        match self.valid {
            _ if !self.is_scaled() => v,
            Some([lo, hi]) if v < lo || v > hi => f64::NAN,
            _ => v * self.scale + self.offset,
        }
    }
}

/// A field whose values are unpacked as they are read.
struct Unpacked<R> {
    raw: Arc<dyn Field<R>>,
    packing: Packing,
}

impl<R: Element, T: Element> Field<T> for Unpacked<R> {
    fn extents(&self) -> [usize; 3] {
        self.raw.extents()
    }
    fn read_row(&self, z: usize, y: usize, x0: usize, out: &mut [T]) -> Result<()> {
        let mut raw = vec![R::ZERO; out.len()];
        self.raw.read_row(z, y, x0, &mut raw)?;
        for (v, r) in out.iter_mut().zip(raw) {
            *v = T::from_f64(self.packing.unpack(r.to_f64()));
        }
        Ok(())
    }
    fn check(&self) -> Result<()> {
        self.raw.check()
    }
    fn read_region(&self, region: &Region, out: &mut [T]) -> Result<()> {
        let plane = region.shape()[1] * region.shape()[2];
        let mut raw = vec![R::ZERO; plane];
        for (i, out) in out.chunks_exact_mut(plane.max(1)).enumerate() {
            let z = region.lo[0] + i;
            let slice = Region { lo: [z, region.lo[1], region.lo[2]], hi: [z + 1, region.hi[1], region.hi[2]] };
            self.raw.read_region(&slice, &mut raw)?;
            for (v, r) in out.iter_mut().zip(&raw) {
                *v = T::from_f64(self.packing.unpack(r.to_f64()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packing(scale: f64, offset: f64, fills: &[f64]) -> Packing {
        Packing { scale, offset, fills: fills.to_vec(), ..Packing::plain(StoredType::I16) }
    }

    #[test]
    fn negative_scale_and_fill_become_value_and_nan() {
        let p = packing(-0.5, 10.0, &[-32768.0]);
        assert_eq!(p.unpack(4.0), 8.0);
        assert!(p.unpack(-32768.0).is_nan());
        assert!(p.delivered_fills().is_empty());
    }

    #[test]
    fn unscaled_data_stay_as_they_are_and_their_valid_range_is_told() {
        let p = Packing { valid: Some([0.0, f64::INFINITY]), ..packing(1.0, 0.0, &[-999.0]) };
        assert_eq!([-999.0, -1.0, 100.0].map(|v| p.unpack(v)), [-999.0, -1.0, 100.0]);
        assert_eq!(p.delivered_valid(), Some([0.0, f64::MAX]));
        let scaled = Packing { scale: 2.0, ..p };
        assert!(scaled.unpack(-1.0).is_nan() && scaled.unpack(100.0) == 200.0 && scaled.delivered_valid().is_none());
    }

    #[test]
    fn unsigned_attribute_wraps_both_ways() {
        assert_eq!(Wrap::ToUnsigned(256.0).apply(-1.0), 255.0);
        assert_eq!(Wrap::ToSigned(256.0).apply(255.0), -1.0);
        assert_eq!(Wrap::ToSigned(256.0).apply(127.0), 127.0);
    }
}
