//! How values lie in a file: type and byte order, and their conversion to an element type.

use super::{DType, Element};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// Type of a value as stored in a file. Reads deliver [`StoredType::delivered`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoredType {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F32,
    F64,
}

impl StoredType {
    /// Bytes of one value.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }
    /// The smallest element type that holds every value exactly (64-bit integers: f64, exact up to 2^53).
    pub fn delivered(self) -> DType {
        match self {
            Self::U8 | Self::I8 | Self::U16 | Self::I16 | Self::F32 => DType::F32,
            Self::U32 | Self::I32 | Self::U64 | Self::I64 | Self::F64 => DType::F64,
        }
    }
    /// What a reader should know of the conversion; `None` when values are delivered as they are.
    pub fn conversion_note(self) -> Option<String> {
        match self {
            Self::F32 | Self::F64 => None,
            Self::U64 | Self::I64 => Some(format!("{self} read as f64: whole numbers beyond 2^53 are rounded")),
            _ => Some(format!("{self} read as {}: exact", self.delivered())),
        }
    }
}

impl From<DType> for StoredType {
    fn from(t: DType) -> Self {
        match t {
            DType::F32 => Self::F32,
            DType::F64 => Self::F64,
        }
    }
}

impl fmt::Display for StoredType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        })
    }
}

impl FromStr for StoredType {
    type Err = ();
    /// The spellings found in file names: `f32`, `d64`, `float64`, `uint16`, ...
    fn from_str(s: &str) -> Result<Self, ()> {
        Ok(match s.to_ascii_lowercase().as_str() {
            "u8" | "uint8" | "uchar" => Self::U8,
            "i8" | "int8" => Self::I8,
            "u16" | "uint16" | "ushort" => Self::U16,
            "i16" | "int16" => Self::I16,
            "u32" | "uint32" => Self::U32,
            "i32" | "int32" => Self::I32,
            "u64" | "uint64" => Self::U64,
            "i64" | "int64" => Self::I64,
            "f32" | "float32" | "f4" | "float" => Self::F32,
            "f64" | "float64" | "d64" | "f8" | "double" => Self::F64,
            _ => return Err(()),
        })
    }
}

/// Converts `out.len()` values that lie `stride` bytes apart, the first at `bytes[start]`.
///
/// # Panics
/// When the values reach beyond `bytes`; callers check the size of the file once, on opening.
pub(crate) fn gather<T: Element>(
    bytes: &[u8],
    start: usize,
    stride: usize,
    stored: StoredType,
    big_endian: bool,
    out: &mut [T],
) {
    if stored == T::DTYPE.into() && stride == T::BYTES {
        // Values as they are, possibly with their bytes reversed.
        let row = &bytes[start..start + out.len() * T::BYTES];
        bytemuck::cast_slice_mut::<T, u8>(out).copy_from_slice(row);
        if big_endian != cfg!(target_endian = "big") {
            swap_bytes(out);
        }
        return;
    }
    macro_rules! convert {
        ($t:ty, $to:expr) => {{
            const N: usize = size_of::<$t>();
            let to = $to;
            let read = |at: usize| -> [u8; N] { std::array::from_fn(|i| bytes[at + i]) };
            if stride == N {
                let row = bytes[start..start + out.len() * N].chunks_exact(N);
                for (v, b) in out.iter_mut().zip(row) {
                    let b: [u8; N] = std::array::from_fn(|i| b[i]);
                    *v = to(if big_endian { <$t>::from_be_bytes(b) } else { <$t>::from_le_bytes(b) });
                }
            } else {
                for (i, v) in out.iter_mut().enumerate() {
                    let b = read(start + i * stride);
                    *v = to(if big_endian { <$t>::from_be_bytes(b) } else { <$t>::from_le_bytes(b) });
                }
            }
        }};
    }
    match (stored, T::DTYPE) {
        // Same type: move the bits, so that the payload of a NaN survives.
        (StoredType::F32, DType::F32) => convert!(u32, |b: u32| T::from_bits64(b as u64)),
        (StoredType::F64, DType::F64) => convert!(u64, T::from_bits64),
        (StoredType::F32, DType::F64) => convert!(f32, |v: f32| T::from_f64(v as f64)),
        (StoredType::F64, DType::F32) => convert!(f64, T::from_f64),
        (StoredType::U8, _) => convert!(u8, |v: u8| T::from_f64(v as f64)),
        (StoredType::I8, _) => convert!(i8, |v: i8| T::from_f64(v as f64)),
        (StoredType::U16, _) => convert!(u16, |v: u16| T::from_f64(v as f64)),
        (StoredType::I16, _) => convert!(i16, |v: i16| T::from_f64(v as f64)),
        (StoredType::U32, _) => convert!(u32, |v: u32| T::from_f64(v as f64)),
        (StoredType::I32, _) => convert!(i32, |v: i32| T::from_f64(v as f64)),
        (StoredType::U64, _) => convert!(u64, |v: u64| T::from_f64(v as f64)),
        (StoredType::I64, _) => convert!(i64, |v: i64| T::from_f64(v as f64)),
    }
}

fn swap_bytes<T: Element>(values: &mut [T]) {
    match T::DTYPE {
        DType::F32 => bytemuck::cast_slice_mut::<T, u32>(values).iter_mut().for_each(|v| *v = v.swap_bytes()),
        DType::F64 => bytemuck::cast_slice_mut::<T, u64>(values).iter_mut().for_each(|v| *v = v.swap_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_read_in_both_byte_orders_and_with_strides() {
        fn check<const N: usize>(stored: StoredType, le: [u8; N], expected: f64) {
            let mut be = le;
            be.reverse();
            for (bytes, big_endian) in [(le, false), (be, true)] {
                let spaced = [&[0u8; 3][..], &bytes, &[0; 3], &bytes].concat();
                let (mut wide, mut narrow) = ([0f64; 2], [0f32; 2]);
                gather(&spaced, 3, N + 3, stored, big_endian, &mut wide);
                gather(&[bytes, bytes].concat(), 0, N, stored, big_endian, &mut narrow);
                assert_eq!((wide, narrow), ([expected; 2], [expected as f32; 2]), "{stored} {big_endian}");
            }
        }
        check(StoredType::U8, [200], 200.0);
        check(StoredType::I8, [200], -56.0);
        check(StoredType::U16, 40_000u16.to_le_bytes(), 40_000.0);
        check(StoredType::I16, (-3i16).to_le_bytes(), -3.0);
        check(StoredType::U32, 4_000_000_000u32.to_le_bytes(), 4e9);
        check(StoredType::I32, (-70_000i32).to_le_bytes(), -70_000.0);
        check(StoredType::U64, (1u64 << 53).to_le_bytes(), 9_007_199_254_740_992.0);
        check(StoredType::I64, (-5i64).to_le_bytes(), -5.0);
        check(StoredType::F32, 1.5f32.to_le_bytes(), 1.5);
        check(StoredType::F64, (-2.25f64).to_le_bytes(), -2.25);
    }

    #[test]
    fn the_payload_of_a_nan_survives() {
        let bits = 0x7fa0_1234u32;
        let mut out = [0f32];
        gather(&bits.to_be_bytes(), 0, 4, StoredType::F32, true, &mut out);
        assert_eq!(out[0].to_bits(), bits);
    }
}
