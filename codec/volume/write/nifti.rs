//! NIfTI (.nii): version 1, or version 2 where an axis has more than 32767 nodes.

use super::Payload;
use crate::Result;
use crate::volume::StoredType;

/// (datatype, bits per value) as both versions number them.
fn datatype(stored: StoredType) -> (i16, i16) {
    match stored {
        StoredType::U8 => (2, 8),
        StoredType::F32 => (16, 32),
        _ => (64, 64),
    }
}

/// Longest text of the `descrip` field.
const DESCRIP_BYTES: usize = 79;

/// The header with its four bytes of (no) extensions.
pub fn header(payload: &Payload) -> Result<Vec<u8>> {
    let rank = payload.shape.rank as usize;
    let mut dim = [1i64; 8];
    let mut pixdim = [1f64; 8];
    let mut origin = [0f64; 3];
    dim[0] = rank as i64;
    // x first: NIfTI lists the fastest axis first. Its spacings are positive; a falling axis shows in the affine.
    for (i, a) in (0..rank).rev().enumerate() {
        dim[i + 1] = payload.shape.extents()[a] as i64;
        pixdim[i + 1] = payload.spacing()[a].abs();
        origin[i] = payload.origin()[a];
    }
    let mut rows = [[0f64; 4]; 3];
    for (i, row) in rows.iter_mut().enumerate() {
        row[i] = if i < rank { payload.spacing()[rank - 1 - i] } else { 1.0 };
        row[3] = origin[i];
    }
    let fields = Fields { dim, pixdim, rows, descrip: descrip(payload), stored: payload.stored };
    Ok(if dim.iter().all(|&d| d <= i16::MAX as i64) { fields.version_1() } else { fields.version_2() })
}

/// "name [units]", as much of it as fits.
fn descrip(payload: &Payload) -> Vec<u8> {
    let units = payload.meta.units.as_ref().map(|u| format!(" [{u}]")).unwrap_or_default();
    let mut text = format!("{}{units}", payload.name()).into_bytes();
    text.truncate(DESCRIP_BYTES);
    text
}

struct Fields {
    dim: [i64; 8],
    pixdim: [f64; 8],
    /// The affine from node to world.
    rows: [[f64; 4]; 3],
    descrip: Vec<u8>,
    stored: StoredType,
}

impl Fields {
    fn version_1(&self) -> Vec<u8> {
        let mut h = vec![0u8; 352];
        let mut put = |at: usize, bytes: &[u8]| h[at..at + bytes.len()].copy_from_slice(bytes);
        let (code, bits) = datatype(self.stored);
        put(0, &348i32.to_le_bytes());
        put(38, b"r");
        for i in 0..8 {
            put(40 + 2 * i, &(self.dim[i] as i16).to_le_bytes());
            put(76 + 4 * i, &(self.pixdim[i] as f32).to_le_bytes());
        }
        put(70, &code.to_le_bytes());
        put(72, &bits.to_le_bytes());
        put(108, &352f32.to_le_bytes());
        put(112, &1f32.to_le_bytes());
        put(148, &self.descrip);
        put(254, &1i16.to_le_bytes());
        for (i, v) in self.rows.iter().flatten().enumerate() {
            put(280 + 4 * i, &(*v as f32).to_le_bytes());
        }
        put(344, b"n+1\0");
        h
    }
    fn version_2(&self) -> Vec<u8> {
        let mut h = vec![0u8; 544];
        let mut put = |at: usize, bytes: &[u8]| h[at..at + bytes.len()].copy_from_slice(bytes);
        let (code, bits) = datatype(self.stored);
        put(0, &540i32.to_le_bytes());
        put(4, b"n+2\0\r\n\x1a\n");
        put(12, &code.to_le_bytes());
        put(14, &bits.to_le_bytes());
        for i in 0..8 {
            put(16 + 8 * i, &self.dim[i].to_le_bytes());
            put(104 + 8 * i, &self.pixdim[i].to_le_bytes());
        }
        put(168, &544i64.to_le_bytes());
        put(176, &1f64.to_le_bytes());
        put(240, &self.descrip);
        put(348, &1i32.to_le_bytes());
        for (i, v) in self.rows.iter().flatten().enumerate() {
            put(400 + 8 * i, &v.to_le_bytes());
        }
        h
    }
}
