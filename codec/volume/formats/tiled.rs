//! A [`Field`] over a file that is read box by box, with the boxes last used kept.

use crate::volume::{DType, Element, Field, Region, Values};
use crate::{Error, Result};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Reads boxes of one volume from wherever it is stored.
pub trait BoxReader<T>: Send + Sync {
    /// Fills `out` (of exactly the box's length, C order); the box lies inside the volume.
    fn read_box(&self, region: &Region, out: &mut [T]) -> Result<()>;
}

/// Bytes a tile should have: large enough to make a read worth its cost, small against memory.
const TILE_BYTES: usize = 4 << 20;
/// Most bytes kept when one layer of tiles is larger than this.
const CACHE_BYTES: usize = 1 << 30;

/// A volume cut into tiles, each read as a whole on first use.
pub struct TiledField<T, R> {
    n: [usize; 3],
    tile: [usize; 3],
    reader: R,
    cache: Mutex<Cache<T>>,
}

struct Cache<T> {
    /// Most recently used last.
    tiles: VecDeque<([usize; 3], Arc<Vec<T>>)>,
    capacity: usize,
}

impl<T: Element, R: BoxReader<T>> TiledField<T, R> {
    /// `chunk` is the unit that storage reads at once ([1, 1, 1] where any row is as good as another).
    ///
    /// # Errors
    /// A chunk too large to be held.
    pub fn new(n: [usize; 3], chunk: [usize; 3], reader: R) -> Result<Self> {
        let tile = tile_shape(n, chunk, T::BYTES);
        let bytes = tile.iter().product::<usize>() * T::BYTES;
        if bytes > CACHE_BYTES {
            return Err(Error::invalid(format!("chunks of {tile:?} values are too large to be read one by one"))
                .remedy("store the data in chunks of at most 1 GiB"));
        }
        // One layer of tiles across the volume, so that a walk row by row reads each tile once.
        let layer = n[1].div_ceil(tile[1]) * n[2].div_ceil(tile[2]);
        let capacity = (layer + 1).min(CACHE_BYTES / bytes).max(2);
        Ok(Self { n, tile, reader, cache: Mutex::new(Cache { tiles: VecDeque::new(), capacity }) })
    }
    /// The nodes of tile `t`.
    fn region(&self, t: [usize; 3]) -> Region {
        let lo: [usize; 3] = std::array::from_fn(|a| t[a] * self.tile[a]);
        Region { lo, hi: std::array::from_fn(|a| (lo[a] + self.tile[a]).min(self.n[a])) }
    }
    fn read(&self, region: &Region) -> Result<Vec<T>> {
        let mut out = vec![T::ZERO; region.len()];
        self.reader.read_box(region, &mut out)?;
        Ok(out)
    }
    /// The values of tile `t`. Two threads may read the same tile at once; none waits for another.
    fn get(&self, t: [usize; 3]) -> Result<Arc<Vec<T>>> {
        let lock = || self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut cache = lock();
            if let Some(i) = cache.tiles.iter().rposition(|(key, _)| *key == t)
                && let Some(hit) = cache.tiles.remove(i)
            {
                cache.tiles.push_back(hit.clone());
                return Ok(hit.1);
            }
        }
        let values = Arc::new(self.read(&self.region(t))?);
        let mut cache = lock();
        while cache.tiles.len() >= cache.capacity {
            cache.tiles.pop_front();
        }
        cache.tiles.push_back((t, values.clone()));
        Ok(values)
    }
}

impl<T: Element, R: BoxReader<T>> Field<T> for TiledField<T, R> {
    fn extents(&self) -> [usize; 3] {
        self.n
    }
    fn read_row(&self, z: usize, y: usize, x0: usize, out: &mut [T]) -> Result<()> {
        let region = Region { lo: [z, y, x0], hi: [z + 1, y + 1, x0 + out.len()] };
        self.read_region(&region, out)
    }
    fn read_region(&self, region: &Region, out: &mut [T]) -> Result<()> {
        if region.is_empty() {
            return Ok(());
        }
        let first: [usize; 3] = std::array::from_fn(|a| region.lo[a] / self.tile[a]);
        let last: [usize; 3] = std::array::from_fn(|a| (region.hi[a] - 1) / self.tile[a]);
        for tz in first[0]..=last[0] {
            for ty in first[1]..=last[1] {
                for tx in first[2]..=last[2] {
                    let tile = self.region([tz, ty, tx]);
                    let common = tile.intersect(region);
                    // A tile wanted as a whole will hardly be wanted again: it does not push out others.
                    let values = if common == tile { Arc::new(self.read(&tile)?) } else { self.get([tz, ty, tx])? };
                    copy_box(&values, &tile, out, region, &common);
                }
            }
        }
        Ok(())
    }
}

/// Copies the box `common` from an array over `from_box` into one over `to_box`.
fn copy_box<T: Copy>(from: &[T], from_box: &Region, to: &mut [T], to_box: &Region, common: &Region) {
    let at = |r: &Region, z: usize, y: usize| {
        let n = r.shape();
        ((z - r.lo[0]) * n[1] + (y - r.lo[1])) * n[2] + (common.lo[2] - r.lo[2])
    };
    let nx = common.hi[2] - common.lo[2];
    for z in common.lo[0]..common.hi[0] {
        for y in common.lo[1]..common.hi[1] {
            to[at(to_box, z, y)..][..nx].copy_from_slice(&from[at(from_box, z, y)..][..nx]);
        }
    }
}

/// Whole chunks, first along rows, then planes, then the volume, up to about [`TILE_BYTES`].
fn tile_shape(n: [usize; 3], chunk: [usize; 3], bytes: usize) -> [usize; 3] {
    let mut tile: [usize; 3] = std::array::from_fn(|a| chunk[a].clamp(1, n[a]));
    for a in [2, 1, 0] {
        let size = tile.iter().fold(bytes, |p, &t| p.saturating_mul(t));
        tile[a] = tile[a].saturating_mul((TILE_BYTES / size).max(1)).min(n[a]);
    }
    tile
}

/// Boxes of either element type from one reader.
pub fn tiled_values<R>(dtype: DType, n: [usize; 3], chunk: [usize; 3], reader: R) -> Result<Values>
where
    R: BoxReader<f32> + BoxReader<f64> + 'static,
{
    Ok(match dtype {
        DType::F32 => Values::F32(Arc::new(TiledField::<f32, R>::new(n, chunk, reader)?)),
        DType::F64 => Values::F64(Arc::new(TiledField::<f64, R>::new(n, chunk, reader)?)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Counting(AtomicUsize);

    impl BoxReader<f32> for Counting {
        fn read_box(&self, r: &Region, out: &mut [f32]) -> Result<()> {
            self.0.fetch_add(1, Ordering::Relaxed);
            let [_, ny, nx] = r.shape();
            for (i, v) in out.iter_mut().enumerate() {
                let [z, y, x] = [i / (ny * nx), i / nx % ny, i % nx];
                *v = ((r.lo[0] + z) * 10000 + (r.lo[1] + y) * 100 + r.lo[2] + x) as f32;
            }
            Ok(())
        }
    }

    #[test]
    fn rows_and_boxes_agree_with_the_source_and_each_tile_is_read_once() {
        let n = [9, 20, 30];
        let mut field = TiledField::new(n, [4, 7, 8], Counting(AtomicUsize::new(0))).unwrap();
        field.tile = [4, 7, 8];
        field.cache.lock().unwrap().capacity = 13;
        let mut row = [0.0; 30];
        for z in 0..9 {
            for y in 0..20 {
                field.read_row(z, y, 0, &mut row).unwrap();
                assert!(row.iter().enumerate().all(|(x, v)| *v == (z * 10000 + y * 100 + x) as f32));
            }
        }
        assert_eq!(field.reader.0.load(Ordering::Relaxed), 3 * 3 * 4);
        let region = Region { lo: [3, 6, 7], hi: [9, 15, 25] };
        let mut out = vec![0.0; region.len()];
        field.read_region(&region, &mut out).unwrap();
        let mut expected = vec![0.0; region.len()];
        Counting(AtomicUsize::new(0)).read_box(&region, &mut expected).unwrap();
        assert_eq!(out, expected);
    }

    #[test]
    fn tiles_are_whole_chunks_of_a_bounded_size() {
        assert_eq!(tile_shape([1000, 1000, 1000], [1, 1, 1], 4), [1, 1000, 1000]);
        assert_eq!(tile_shape([5, 6, 7], [1, 1, 1], 4), [5, 6, 7]);
        let t = tile_shape([1 << 20, 1 << 20, 1 << 20], [64, 64, 64], 8);
        assert_eq!(t, [64, 64, 128]);
        assert_eq!(tile_shape([10, 10, 10], [usize::MAX; 3], 8), [10; 3]);
    }
}
