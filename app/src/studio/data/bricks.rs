//! A stream's values, decoded brick by brick when they are first looked at, and kept.

use blockmgard::backend::Cpu;
use blockmgard::job::{Coded, decompress_region};
use blockmgard::stream::Archive;
use blockmgard::volume::Field;
use blockmgard::{Control, Region, Result};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Nodes of a brick along each axis: large beside what decoding a box costs at least (the frame's coarse nodes and its
/// tolerance map), small beside a volume.
const SIDE: usize = 64;

struct Brick<T> {
    values: OnceLock<Vec<T>>,
    /// Held by the thread that decodes the brick.
    busy: Mutex<()>,
}

/// The volume of a pyramid stream. Held bytes grow to those of the values, no further.
pub struct Bricks<T> {
    archive: Arc<Archive>,
    n: [usize; 3],
    counts: [usize; 3],
    bricks: Vec<Brick<T>>,
}

impl<T: Coded> Bricks<T> {
    pub fn new(archive: Arc<Archive>) -> Self {
        let n = archive.header().shape.n;
        let counts = n.map(|n| n.div_ceil(SIDE));
        let brick = |_| Brick { values: OnceLock::new(), busy: Mutex::new(()) };
        Self { archive, n, counts, bricks: (0..counts.iter().product()).map(brick).collect() }
    }

    /// Decodes what is missing. For a thread of its own, before anything reads the values on many threads.
    pub fn load_all(&self, control: &Control) -> Result<()> {
        control.begin(self.bricks.len() as u64);
        for index in 0..self.bricks.len() {
            control.check()?;
            self.brick(index)?;
            control.advance(1);
        }
        Ok(())
    }

    fn region(&self, index: usize) -> Region {
        let [_, by, bx] = self.counts;
        let lo = [index / (by * bx), index / bx % by, index % bx].map(|b| b * SIDE);
        Region { lo, hi: std::array::from_fn(|a| (lo[a] + SIDE).min(self.n[a])) }
    }

    fn brick(&self, index: usize) -> Result<&[T]> {
        let brick = &self.bricks[index];
        if let Some(values) = brick.values.get() {
            return Ok(values);
        }
        // A thread of the pool that waits here could wait for work that it has itself put aside.
        let pooled = rayon::current_thread_index().is_some();
        let _turn = (!pooled).then(|| brick.busy.lock().unwrap_or_else(PoisonError::into_inner));
        if brick.values.get().is_none() {
            let values = decompress_region(&self.archive, &self.region(index), &Cpu, &Control::default())?;
            // Another thread may have been faster, with the same values.
            let _ = brick.values.set(values);
        }
        Ok(brick.values.get().map_or(&[], Vec::as_slice))
    }
}

impl<T: Coded> Field<T> for Bricks<T> {
    fn extents(&self) -> [usize; 3] {
        self.n
    }
    fn read_row(&self, z: usize, y: usize, x0: usize, out: &mut [T]) -> Result<()> {
        let first = (z / SIDE * self.counts[1] + y / SIDE) * self.counts[2];
        let mut x = x0;
        while x < x0 + out.len() {
            let index = first + x / SIDE;
            let Region { lo, hi } = self.region(index);
            let end = hi[2].min(x0 + out.len());
            let row = ((z - lo[0]) * (hi[1] - lo[1]) + (y - lo[1])) * (hi[2] - lo[2]);
            let values = &self.brick(index)?[row + x - lo[2]..row + end - lo[2]];
            out[x - x0..end - x0].copy_from_slice(values);
            x = end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmgard::stream::Provenance;
    use blockmgard::volume::{Metadata, Values, VecField, Volume};
    use blockmgard::{Params, Shape, ToleranceMap, job};

    #[test]
    fn rows_read_through_bricks_are_those_of_the_whole_decode() {
        let shape = Shape::new(&[70, 9, 133]).unwrap();
        let data: Vec<f32> = (0..shape.len()).map(|i| (i as f32 * 0.01).sin()).collect();
        let values = Values::F32(Arc::new(VecField::new(data, shape.n)));
        let volume = Volume { shape, values, meta: Metadata::default(), missing: Default::default() };
        let map = ToleranceMap::uniform(&shape, 1e-3).unwrap();
        let control = Control::default();
        let (stream, _) =
            job::compress_to_vec(&volume, &map, &Params::default(), &Cpu, &Provenance::default(), &control).unwrap();
        let archive = Arc::new(Archive::from_bytes(stream).unwrap());
        let whole: Vec<f32> = decompress_region(&archive, &shape.region(), &Cpu, &control).unwrap();
        let bricks = Bricks::<f32>::new(archive);
        for (z, y, x0, x1) in [(0, 0, 0, 133), (69, 8, 60, 70), (63, 4, 127, 129), (64, 3, 128, 133)] {
            let mut row = vec![0.0; x1 - x0];
            bricks.read_row(z, y, x0, &mut row).unwrap();
            let start = (z * 9 + y) * 133;
            assert_eq!(row, whole[start + x0..start + x1]);
        }
        bricks.load_all(&control).unwrap();
        let mut all = vec![0.0; shape.len()];
        bricks.read_region(&shape.region(), &mut all).unwrap();
        assert_eq!(all, whole);
    }
}
