//! Every kind of region against its definition, and specs as people write them.

mod regions;
mod specs;

use crate::volume::{Field, Metadata, Stats, Values, Volume};
use crate::{Control, Element, Result, Shape};
use std::sync::Arc;

/// Values held by the field itself.
struct Owned<T>(Vec<T>, [usize; 3]);

impl<T: Element> Field<T> for Owned<T> {
    fn extents(&self) -> [usize; 3] {
        self.1
    }
    fn read_row(&self, z: usize, y: usize, x0: usize, out: &mut [T]) -> Result<()> {
        let start = (z * self.1[1] + y) * self.1[2] + x0;
        out.copy_from_slice(&self.0[start..start + out.len()]);
        Ok(())
    }
}

fn volume(extents: &[usize], value: impl Fn([usize; 3]) -> f32) -> (Volume, Stats) {
    let shape = Shape::new(extents).unwrap();
    let data = voxels(&shape).map(value).collect();
    let values = Values::F32(Arc::new(Owned(data, shape.n)));
    let volume = Volume { shape, values, meta: Metadata::default(), missing: vec![(-999f32).to_bits() as u64] };
    let stats = Stats::of(&volume, &Control::default()).unwrap();
    (volume, stats)
}

fn voxels(shape: &Shape) -> impl Iterator<Item = [usize; 3]> + use<> {
    let n = shape.n;
    (0..n[0]).flat_map(move |z| (0..n[1]).flat_map(move |y| (0..n[2]).map(move |x| [z, y, x])))
}
