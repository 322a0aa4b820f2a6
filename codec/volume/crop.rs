//! A box of a volume as a volume of its own, read from where the whole one lives.

use super::{Element, Field, Metadata, Region, Shape, Values, Volume};
use crate::{Error, Result};
use std::sync::Arc;

/// A box of a field; nothing is copied.
struct Crop<T> {
    whole: Arc<dyn Field<T>>,
    region: Region,
}

impl<T: Element> Field<T> for Crop<T> {
    fn extents(&self) -> [usize; 3] {
        self.region.shape()
    }
    fn read_row(&self, z: usize, y: usize, x0: usize, out: &mut [T]) -> Result<()> {
        let [lz, ly, lx] = self.region.lo;
        self.whole.read_row(lz + z, ly + y, lx + x0, out)
    }
    fn check(&self) -> Result<()> {
        self.whole.check()
    }
}

impl Volume {
    /// The box `region` of it, with origin and coordinates moved there. Only rows of the box are ever read.
    ///
    /// # Errors
    /// When the box is empty or reaches beyond the volume.
    pub fn cropped(&self, region: &Region) -> Result<Volume> {
        if region.is_empty() || (0..3).any(|a| region.hi[a] > self.shape.n[a]) {
            let message = format!("box {:?}..{:?} is not inside {}", region.lo, region.hi, self.shape);
            return Err(Error::invalid(message));
        }
        let first = 3 - usize::from(self.shape.rank);
        let values = match &self.values {
            Values::F32(whole) => Values::F32(Arc::new(Crop { whole: whole.clone(), region: *region })),
            Values::F64(whole) => Values::F64(Arc::new(Crop { whole: whole.clone(), region: *region })),
        };
        let mut meta = self.meta.clone();
        meta.move_to_box(&region.lo[first..], &region.hi[first..]);
        let shape = Shape::new(&region.shape()[first..])?;
        Ok(Volume { shape, values, meta, missing: self.missing.clone() })
    }
}

impl Metadata {
    /// Moves origin and coordinates of a whole volume to the nodes `lo..hi` of its axes.
    pub(crate) fn move_to_box(&mut self, lo: &[usize], hi: &[usize]) {
        if let (Some(origin), Some(spacing)) = (&mut self.origin, &self.spacing) {
            let steps = lo.iter().zip(spacing);
            origin.iter_mut().zip(steps).for_each(|(o, (&lo, step))| *o += lo as f64 * step);
        }
        for ((nodes, &lo), &hi) in self.coordinates.iter_mut().zip(lo).zip(hi) {
            // Metadata are not bound to the shape: coordinates of another length are dropped.
            *nodes = nodes.get(lo..hi).unwrap_or_default().to_vec();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::VecField;
    use super::*;

    #[test]
    fn a_box_has_its_own_values_origin_and_coordinates() {
        let n = [4, 5, 6];
        let values = Values::F32(Arc::new(VecField::new((0..120).map(|i| i as f32).collect(), n)));
        let meta = Metadata {
            spacing: Some(vec![2.0, 1.0, 0.5]),
            origin: Some(vec![10.0, 0.0, -1.0]),
            coordinates: vec![vec![], vec![], vec![0.0, 1.0, 3.0, 6.0, 10.0, 15.0]],
            ..Metadata::default()
        };
        let whole = Volume { shape: Shape::new(&n).unwrap(), values, meta, missing: Default::default() };
        let part = whole.cropped(&Region { lo: [1, 2, 3], hi: [3, 3, 6] }).unwrap();
        assert_eq!(part.shape.n, [2, 1, 3]);
        let Values::F32(field) = &part.values else { panic!("another type") };
        let mut read = [0.0; 6];
        field.read_region(&part.shape.region(), &mut read).unwrap();
        assert_eq!(read, [45.0, 46.0, 47.0, 75.0, 76.0, 77.0]);
        assert_eq!(part.meta.origin, Some(vec![12.0, 2.0, 0.5]));
        assert_eq!(part.meta.coordinates[2], [6.0, 10.0, 15.0]);
        assert!(whole.cropped(&Region { lo: [0; 3], hi: [4, 5, 7] }).is_err());
        assert!(whole.cropped(&Region { lo: [2; 3], hi: [2, 3, 3] }).is_err());
    }
}
