//! NumPy's .npy, version 1: a Python dictionary, padded so that the values start on a multiple of 64.

use super::Payload;
use crate::volume::StoredType;

pub fn header(payload: &Payload) -> Vec<u8> {
    let descr = match payload.stored {
        StoredType::U8 => "|u1",
        StoredType::F32 => "<f4",
        _ => "<f8",
    };
    let shape: String = payload.shape.extents().iter().map(|n| format!("{n}, ")).collect();
    let shape = if payload.shape.rank > 1 { shape.trim_end_matches(", ") } else { shape.trim_end() };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    const PREFIX: usize = 10;
    let padding = (PREFIX + text.len() + 1).next_multiple_of(64) - (PREFIX + text.len() + 1);
    text.extend(std::iter::repeat_n(' ', padding));
    text.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((text.len() as u16).to_le_bytes());
    out.extend(text.as_bytes());
    out
}
