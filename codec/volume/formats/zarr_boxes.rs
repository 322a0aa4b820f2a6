//! An array of a Zarr store and boxes of it, from the chunks that they touch.

use super::header_text::total_bytes;
use super::packing::Packing;
use super::tiled::BoxReader;
use super::zarr_meta::ArrayMeta;
use crate::volume::stored::gather;
use crate::volume::{Element, Region, map_file};
use crate::{Error, Result};
use std::path::PathBuf;
use std::sync::Arc;

const MAX_CHUNK_BYTES: usize = 1 << 30;

/// An array of a store.
#[derive(Clone)]
pub struct ZarrArray {
    /// Names of its groups and its own, with `/` between.
    pub name: String,
    /// The folder of its chunks.
    pub path: PathBuf,
    pub meta: Arc<ArrayMeta>,
    pub packing: Packing,
}

/// Bytes of an unpacked chunk.
pub fn chunk_bytes(meta: &ArrayMeta) -> Result<usize> {
    let bytes = total_bytes(meta.inner_chunk(), 1, meta.stored.bytes())?;
    if bytes <= MAX_CHUNK_BYTES {
        Ok(bytes)
    } else {
        Err(Error::invalid(format!("Zarr chunks of {bytes} bytes are too large")))
    }
}

/// Boxes of one step of an array.
pub struct ZarrBoxes {
    pub array: ZarrArray,
    /// Indices on the axes in front of the last `rank`.
    pub leading: Vec<usize>,
    pub rank: usize,
}

impl ZarrBoxes {
    /// The bytes of the inner chunk at these indices; `None` when it was never written.
    fn chunk(&self, index: &[usize]) -> Result<Option<Vec<u8>>> {
        let meta = &self.array.meta;
        let expected = chunk_bytes(meta)?;
        let per_file: Vec<usize> =
            meta.chunk.iter().zip(meta.inner_chunk()).map(|(outer, inner)| outer / inner).collect();
        let outer: Vec<usize> = index.iter().zip(&per_file).map(|(i, n)| i / n).collect();
        let path = self.array.path.join(meta.key(&outer));
        if !path.is_file() {
            return Ok(None);
        }
        let file = map_file(&path)?;
        let bytes = (*file).as_ref();
        let decode = || match &meta.sharding {
            None => meta.codecs.decode(bytes, expected).map(Some),
            Some(shards) => {
                let inner = index.iter().zip(&per_file).fold(0, |flat, (i, n)| flat * n + i % n);
                let place = shards.locate(bytes, inner, per_file.iter().product())?;
                place.map(|range| shards.codecs.decode(&bytes[range], expected)).transpose()
            }
        };
        decode().map_err(|e| e.in_file(&path))
    }
    /// Bytes between neighbours of a chunk, per axis.
    fn strides(&self) -> Vec<usize> {
        let meta = &self.array.meta;
        let chunk = meta.inner_chunk();
        let codecs = meta.sharding.as_ref().map_or(&meta.codecs, |s| &s.codecs);
        let natural: Vec<usize> = (0..chunk.len()).collect();
        let mut strides = vec![0; chunk.len()];
        let mut step = meta.stored.bytes();
        for &axis in codecs.order.as_ref().unwrap_or(&natural).iter().rev() {
            strides[axis] = step;
            step *= chunk[axis];
        }
        strides
    }
}

impl<T: Element> BoxReader<T> for ZarrBoxes {
    fn read_box(&self, region: &Region, out: &mut [T]) -> Result<()> {
        let meta = &self.array.meta;
        let (lead, pad) = (self.leading.len(), 3 - self.rank);
        let chunk: Vec<usize> = meta.inner_chunk().to_vec();
        let strides = self.strides();
        let big_endian = meta.sharding.as_ref().map_or(meta.codecs.big_endian, |s| s.codecs.big_endian);
        // The last axes as three, the missing ones in front with one node.
        let three = |v: &[usize], fill: usize| -> [usize; 3] {
            std::array::from_fn(|a| if a < pad { fill } else { v[lead + a - pad] })
        };
        let (size, stride) = (three(&chunk, 1), three(&strides, 0));
        let base: usize = (0..lead).map(|a| self.leading[a] % chunk[a] * strides[a]).sum();
        let grid = Region {
            lo: std::array::from_fn(|a| region.lo[a] / size[a]),
            hi: std::array::from_fn(|a| region.hi[a].div_ceil(size[a])),
        };
        for cell in 0..grid.len() {
            let n = grid.shape();
            let at = [cell / (n[1] * n[2]), cell / n[2] % n[1], cell % n[2]];
            let c: [usize; 3] = std::array::from_fn(|a| grid.lo[a] + at[a]);
            let lo: [usize; 3] = std::array::from_fn(|a| c[a] * size[a]);
            let common = Region { lo, hi: std::array::from_fn(|a| lo[a] + size[a]) }.intersect(region);
            let index: Vec<usize> =
                (0..lead).map(|a| self.leading[a] / chunk[a]).chain(c[pad..].iter().copied()).collect();
            let bytes = self.chunk(&index)?;
            for z in common.lo[0]..common.hi[0] {
                for y in common.lo[1]..common.hi[1] {
                    let [_, ny, nx] = region.shape();
                    let start = ((z - region.lo[0]) * ny + y - region.lo[1]) * nx + common.lo[2] - region.lo[2];
                    let row = &mut out[start..start + common.shape()[2]];
                    match &bytes {
                        None => row.fill(T::from_f64(meta.fill)),
                        Some(bytes) => {
                            let from = [z - lo[0], y - lo[1], common.lo[2] - lo[2]];
                            let at = base + (0..3).map(|a| from[a] * stride[a]).sum::<usize>();
                            gather(bytes, at, stride[2], meta.stored, big_endian, row);
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
