//! Every kind of region against its definition, and specs as people write them.

mod regions;
mod specs;

use crate::volume::{Metadata, Stats, Values, VecField, Volume};
use crate::{Control, Shape};
use std::sync::Arc;

fn volume(extents: &[usize], value: impl Fn([usize; 3]) -> f32) -> (Volume, Stats) {
    let shape = Shape::new(extents).unwrap();
    let data = voxels(&shape).map(value).collect();
    let values = Values::F32(Arc::new(VecField::new(data, shape.n)));
    let volume = Volume { shape, values, meta: Metadata::default(), missing: vec![(-999f32).to_bits() as u64].into() };
    let stats = Stats::of(&volume, &Control::default()).unwrap();
    (volume, stats)
}

fn voxels(shape: &Shape) -> impl Iterator<Item = [usize; 3]> + use<> {
    let n = shape.n;
    (0..n[0]).flat_map(move |z| (0..n[1]).flat_map(move |y| (0..n[2]).map(move |x| [z, y, x])))
}
