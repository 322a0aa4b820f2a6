//! Headers of NumPy files, for arrays that are written piece by piece.

use crate::volume::DType;

/// The header of a .npy file (version 1.0) of little-endian values in C order; extents slowest first.
pub fn npy_header(dtype: DType, extents: &[usize]) -> Vec<u8> {
    let shape: String = extents.iter().map(|n| format!("{n}, ")).collect();
    let bytes = dtype.bytes();
    let mut dict = format!("{{'descr': '<f{bytes}', 'fortran_order': False, 'shape': ({}), }}", shape.trim_end());
    // Magic, version and length take 10 bytes; the whole is padded to a multiple of 64 and ends with a newline.
    let padded = (10 + dict.len() + 1).next_multiple_of(64);
    dict.extend(std::iter::repeat_n(' ', padded - 11 - dict.len()));
    dict.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((dict.len() as u16).to_le_bytes());
    out.extend(dict.into_bytes());
    out
}
