//! A [`Field`] over bytes as they lie in a file: any stored type, byte order, axis order and offset.

use super::file_map::{self, FileMap};
use super::{DType, Element, Field, Region, StoredType, Values, stored::gather};
use crate::{Error, Result};
use std::{path::Path, sync::Arc};

/// Bytes that stay alive as long as a field reads from them: a memory map or a buffer.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Maps a file into memory without reading it.
pub fn map_file(path: &Path) -> Result<SharedBytes> {
    let meta = std::fs::metadata(path).map_err(|e| Error::io(path, &e))?;
    if !meta.is_file() {
        return Err(Error::invalid(format!("{} is not a regular file", path.display())));
    }
    if meta.len() == 0 {
        return Err(Error::truncated(format!("{} is empty", path.display())));
    }
    Ok(Arc::new(FileMap::open(path)?))
}

/// Where the values of one volume lie inside some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteLayout {
    /// Extents in nodes, slowest first.
    pub n: [usize; 3],
    /// Byte of the value (0, 0, 0).
    pub offset: usize,
    /// Bytes from one node to the next, per axis.
    pub stride: [usize; 3],
    pub stored: StoredType,
    pub big_endian: bool,
}

impl ByteLayout {
    /// Values one after the other, axis 2 fastest.
    pub fn c_order(n: [usize; 3], offset: usize, stored: StoredType, big_endian: bool) -> Self {
        let b = stored.bytes();
        Self { n, offset, stride: [n[1] * n[2] * b, n[2] * b, b], stored, big_endian }
    }
    /// Values one after the other, axis 0 fastest (Fortran order of the same axes).
    pub fn fortran_order(n: [usize; 3], offset: usize, stored: StoredType, big_endian: bool) -> Self {
        let b = stored.bytes();
        Self { n, offset, stride: [b, n[0] * b, n[0] * n[1] * b], stored, big_endian }
    }
    /// One past the last byte used; `None` when it does not fit in memory or an extent is 0.
    fn end(&self) -> Option<usize> {
        let last = self
            .n
            .iter()
            .zip(self.stride)
            .try_fold(self.offset, |at, (&n, stride)| at.checked_add(n.checked_sub(1)?.checked_mul(stride)?))?;
        last.checked_add(self.stored.bytes())
    }
}

/// A [`Field`] that converts values as they are read.
pub struct MappedField {
    bytes: SharedBytes,
    layout: ByteLayout,
}

impl MappedField {
    /// # Errors
    /// [`crate::ErrorKind::Truncated`] when the layout reaches beyond the bytes.
    pub fn new(bytes: SharedBytes, layout: ByteLayout) -> Result<Self> {
        let have = (*bytes).as_ref().len();
        match layout.end() {
            Some(end) if end <= have => Ok(Self { bytes, layout }),
            _ => Err(Error::truncated(format!(
                "the values of a {:?} volume reach beyond the {have} bytes that are there",
                layout.n
            ))),
        }
    }
    /// As [`Values`] of the type the stored type delivers.
    pub fn into_values(self) -> Values {
        match self.layout.stored.delivered() {
            DType::F32 => Values::F32(Arc::new(self)),
            DType::F64 => Values::F64(Arc::new(self)),
        }
    }
    fn at(&self, [z, y, x]: [usize; 3]) -> usize {
        let s = self.layout.stride;
        self.layout.offset + z * s[0] + y * s[1] + x * s[2]
    }
}

impl<T: Element> Field<T> for MappedField {
    fn extents(&self) -> [usize; 3] {
        self.layout.n
    }
    fn read_row(&self, z: usize, y: usize, x0: usize, out: &mut [T]) -> Result<()> {
        let ByteLayout { stride, stored, big_endian, .. } = self.layout;
        gather((*self.bytes).as_ref(), self.at([z, y, x0]), stride[2], stored, big_endian, out);
        file_map::intact((*self.bytes).as_ref())
    }
    fn as_slice(&self) -> Option<&[T]> {
        let l = &self.layout;
        let native = l.big_endian == cfg!(target_endian = "big") && l.stored == T::DTYPE.into();
        let dense = ByteLayout::c_order(l.n, 0, l.stored, false).stride;
        if !native || (0..3).any(|a| l.n[a] > 1 && l.stride[a] != dense[a]) {
            return None;
        }
        let bytes = &(*self.bytes).as_ref()[l.offset..l.end()?];
        bytemuck::try_cast_slice(bytes).ok()
    }
    fn check(&self) -> Result<()> {
        file_map::whole((*self.bytes).as_ref())
    }
    fn read_region(&self, region: &Region, out: &mut [T]) -> Result<()> {
        let [nz, ny, nx] = region.shape();
        let [sz, _, sx] = self.layout.stride;
        if sz >= sx {
            for (i, row) in out.chunks_exact_mut(nx.max(1)).enumerate() {
                self.read_row(region.lo[0] + i / ny, region.lo[1] + i % ny, region.lo[2], row)?;
            }
            return Ok(());
        }
        // Axis 0 is the fast one in the file: walk it innermost, or every value costs a cache line.
        let ByteLayout { stored, big_endian, .. } = self.layout;
        let mut column = vec![T::ZERO; nz];
        for x in 0..nx {
            for y in 0..ny {
                let start = self.at([region.lo[0], region.lo[1] + y, region.lo[2] + x]);
                gather((*self.bytes).as_ref(), start, sz, stored, big_endian, &mut column);
                for (z, v) in column.iter().enumerate() {
                    out[(z * ny + y) * nx + x] = *v;
                }
            }
        }
        file_map::intact((*self.bytes).as_ref())
    }
}
