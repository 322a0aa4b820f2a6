//! The attributes of the CF conventions that say how values are packed and which are missing.

use super::packing::{Packing, Wrap};
use crate::volume::{DType, Element, StoredType};

/// The attributes as a file gives them; `None` and empty where it does not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CfAttributes {
    /// `scale_factor` and the type it is stored in.
    pub scale: Option<(f64, DType)>,
    /// `add_offset` and the type it is stored in.
    pub offset: Option<(f64, DType)>,
    /// `_FillValue`.
    pub fill: Option<f64>,
    /// `missing_value`, one or several.
    pub missing: Vec<f64>,
    /// `valid_range`, or `valid_min` and `valid_max` (infinite where one lacks).
    pub valid: Option<[f64; 2]>,
    /// The valid range is in packed values (its type is the variable's), not in physical ones.
    pub valid_is_packed: bool,
    /// `_Unsigned`.
    pub unsigned: Option<bool>,
}

impl CfAttributes {
    /// The packing they describe for values of type `stored`.
    pub fn packing(&self, stored: StoredType) -> Packing {
        let wrap = self.wrap(stored);
        // Attributes are compared in the variable's own type: 1e20 in f64 is not the f32 nearest to it.
        let in_type = |v: f64| {
            let v = if stored == StoredType::F32 { f32::from_f64(v) as f64 } else { v };
            wrap.map_or(v, |w| w.apply(v))
        };
        let (scale, offset) = (self.scale.map_or(1.0, |s| s.0), self.offset.map_or(0.0, |o| o.0));
        let scaled = scale != 1.0 || offset != 0.0;
        let mut fills: Vec<f64> = Vec::new();
        for v in self.fill.iter().chain(&self.missing).map(|&v| in_type(v)).filter(|v| v.is_finite()) {
            if !fills.contains(&v) {
                fills.push(v);
            }
        }
        let valid = self.valid.map(|range| {
            if scaled && !self.valid_is_packed {
                let [a, b] = range.map(|v| (v - offset) / scale);
                [a.min(b), a.max(b)]
            } else {
                range.map(in_type)
            }
        });
        let valid = valid.filter(|[lo, hi]| lo <= hi);
        let dtype = if scaled { self.scaled_dtype(stored) } else { stored.delivered() };
        Packing { scale, offset, wrap, fills, valid, dtype }
    }
    /// f32 only where both attributes say so and every stored value fits; otherwise f64 loses nothing.
    fn scaled_dtype(&self, stored: StoredType) -> DType {
        let single = [self.scale, self.offset].iter().flatten().all(|(_, t)| *t == DType::F32);
        if single && stored.delivered() == DType::F32 { DType::F32 } else { DType::F64 }
    }
    fn wrap(&self, stored: StoredType) -> Option<Wrap> {
        use StoredType::{I8, I16, I32, I64, U8, U16, U32, U64};
        let modulus = 2f64.powi(8 * stored.bytes() as i32);
        match (self.unsigned?, stored) {
            (true, I8 | I16 | I32 | I64) => Some(Wrap::ToUnsigned(modulus)),
            (false, U8 | U16 | U32 | U64) => Some(Wrap::ToSigned(modulus)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fill_is_compared_in_the_type_of_the_variable() {
        let cf = CfAttributes { fill: Some(1e20), missing: vec![1e20], ..Default::default() };
        assert_eq!(cf.packing(StoredType::F32).fills, [1e20f32 as f64]);
        assert_eq!(cf.packing(StoredType::F64).fills, [1e20]);
    }

    #[test]
    fn scaled_type_follows_the_attributes() {
        let both = |t| CfAttributes { scale: Some((0.1, t)), offset: Some((1.0, t)), ..Default::default() };
        assert_eq!(both(DType::F32).packing(StoredType::I16).dtype, DType::F32);
        assert_eq!(both(DType::F32).packing(StoredType::I32).dtype, DType::F64);
        assert_eq!(both(DType::F64).packing(StoredType::I16).dtype, DType::F64);
    }

    #[test]
    fn physical_valid_range_is_turned_into_stored_values() {
        let cf = CfAttributes {
            scale: Some((-0.5, DType::F64)),
            offset: Some((10.0, DType::F64)),
            valid: Some([0.0, 10.0]),
            ..Default::default()
        };
        assert_eq!(cf.packing(StoredType::I16).valid, Some([0.0, 20.0]));
        let packed = CfAttributes { valid_is_packed: true, ..cf };
        assert_eq!(packed.packing(StoredType::I16).valid, Some([0.0, 10.0]));
    }
}
