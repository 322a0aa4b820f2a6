//! Values of the element type as little-endian bytes.

use crate::stream::bytes::Cursor;
use crate::{Element, Result};

/// Appends values.
pub fn put_values<T: Element>(out: &mut Vec<u8>, values: &[T]) {
    if cfg!(target_endian = "little") {
        return out.extend_from_slice(bytemuck::cast_slice(values));
    }
    values.iter().for_each(|v| out.extend_from_slice(&v.to_bits64().to_le_bytes()[..T::BYTES]));
}

/// Reads `count` values.
pub fn take_values<T: Element>(cursor: &mut Cursor, count: usize) -> Result<Vec<T>> {
    Ok(values_of(cursor.take(count.saturating_mul(T::BYTES))?))
}

/// Little-endian bytes as values.
pub fn values_of<T: Element>(bytes: &[u8]) -> Vec<T> {
    let value = |b: &[u8]| {
        let mut wide = [0; 8];
        wide[..T::BYTES].copy_from_slice(b);
        T::from_bits64(u64::from_le_bytes(wide))
    };
    bytes.chunks_exact(T::BYTES).map(value).collect()
}
