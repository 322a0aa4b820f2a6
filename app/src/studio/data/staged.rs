//! A hybrid stream's values: its coarse nodes at first, all values once they are decoded.

use super::nearest::nearest_of;
use blockmgard::backend::{self, Device};
use blockmgard::job::{self, CoarseVolume, Coded};
use blockmgard::stream::Archive;
use blockmgard::volume::Field;
use blockmgard::{Control, Result, with_values};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The volume of a stream whose boxes all need the global levels of the whole.
pub struct Staged<T> {
    archive: Arc<Archive>,
    n: [usize; 3],
    coarse: Coarse<T>,
    whole: OnceLock<Vec<T>>,
    /// Held by the thread that decodes.
    busy: Mutex<()>,
}

/// Every node shows the kept node that is nearest to it.
struct Coarse<T> {
    n: [usize; 3],
    /// By axis: which kept node stands for a node.
    nearest: [Vec<u32>; 3],
    values: Vec<T>,
}

impl<T: Coded> Staged<T> {
    /// Decodes the coarse nodes.
    ///
    /// # Errors
    /// Those of [`job::coarse_look`].
    pub fn new(archive: Arc<Archive>, control: &Control) -> Result<Self> {
        let n = archive.header().shape.n;
        let CoarseVolume { volume, coordinates } = job::coarse_look(&archive, control)?;
        let nearest = std::array::from_fn(|a| nearest_of(&coordinates[a], n[a]));
        let coarse_n = volume.shape.n;
        let mut values = vec![T::ZERO; coarse_n.iter().product()];
        with_values!(&volume.values, field => {
            let row = coarse_n[2];
            for (i, out) in values.chunks_exact_mut(row).enumerate() {
                let mut read = vec![Default::default(); row];
                field.read_row(i / coarse_n[1], i % coarse_n[1], 0, &mut read)?;
                out.iter_mut().zip(read).for_each(|(o, v)| *o = T::from_f64(blockmgard::Element::to_f64(v)));
            }
        });
        let coarse = Coarse { n: coarse_n, nearest, values };
        Ok(Self { archive, n, coarse, whole: OnceLock::new(), busy: Mutex::new(()) })
    }

    /// Decodes all values, unless that has been done.
    pub fn load(&self, control: &Control) -> Result<()> {
        let _turn = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        if self.whole.get().is_some() {
            return Ok(());
        }
        let opened = backend::open(&Device::Auto)?;
        let region = self.archive.header().shape.region();
        let values = job::decompress_region(&self.archive, &region, &*opened.backend, control)?;
        // Only the holder of the lock sets it.
        let _ = self.whole.set(values);
        Ok(())
    }
}

impl<T: Coded> Field<T> for Staged<T> {
    fn extents(&self) -> [usize; 3] {
        self.n
    }
    fn read_row(&self, z: usize, y: usize, x0: usize, out: &mut [T]) -> Result<()> {
        if let Some(whole) = self.whole.get() {
            let start = (z * self.n[1] + y) * self.n[2] + x0;
            out.copy_from_slice(&whole[start..start + out.len()]);
            return Ok(());
        }
        let Coarse { n, nearest, values } = &self.coarse;
        let row = (nearest[0][z] as usize * n[1] + nearest[1][y] as usize) * n[2];
        let columns = &nearest[2][x0..x0 + out.len()];
        out.iter_mut().zip(columns).for_each(|(o, &x)| *o = values[row + x as usize]);
        Ok(())
    }
    fn as_slice(&self) -> Option<&[T]> {
        self.whole.get().map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmgard::backend::Cpu;
    use blockmgard::stream::Provenance;
    use blockmgard::volume::{Metadata, Values, VecField, Volume};
    use blockmgard::{Mode, Params, Shape, ToleranceMap};

    #[test]
    fn coarse_nodes_stand_for_all_until_everything_is_decoded() {
        let shape = Shape::new(&[21, 30, 37]).unwrap();
        let at = |i: usize| [i / (30 * 37), i / 37 % 30, i % 37];
        let data: Vec<f32> = (0..shape.len()).map(|i| at(i).iter().sum::<usize>() as f32).collect();
        let values = Values::F32(Arc::new(VecField::new(data.clone(), shape.n)));
        let volume = Volume { shape, values, meta: Metadata::default(), missing: Default::default() };
        let map = ToleranceMap::uniform(&shape, 1e-3).unwrap();
        let params = Params { mode: Mode::Hybrid, ..Params::default() };
        let control = Control::default();
        let (stream, _) = job::compress_to_vec(&volume, &map, &params, &Cpu, &Provenance::default(), &control).unwrap();
        let archive = Arc::new(Archive::from_bytes(stream).unwrap());
        let staged = Staged::<f32>::new(archive.clone(), &control).unwrap();
        let read = || {
            let mut all = vec![0.0f32; shape.len()];
            staged.read_region(&shape.region(), &mut all).unwrap();
            all
        };
        // A node is at most one away from a kept one along each axis, and the ramp rises by one a node.
        let far = read().iter().zip(&data).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(far <= 3.01, "{far}");
        staged.load(&control).unwrap();
        let whole: Vec<f32> = job::decompress_region(&archive, &shape.region(), &Cpu, &control).unwrap();
        assert_eq!(read(), whole);
    }
}
