//! How long the axes are drawn: by the distance of their nodes, or a voxel square.

use super::State;
use super::document::Document;
use serde::{Deserialize, Serialize};

/// How the views are stretched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aspect {
    /// Physical where the axes of a view can be compared and none is a thin line beside another, else by index.
    #[default]
    Auto,
    /// By the distance of the nodes.
    Physical,
    /// Every voxel square.
    Index,
}

impl Aspect {
    pub const ALL: [(Aspect, &str, &str); 3] = [
        (
            Aspect::Auto,
            "Automatic",
            "Physical where the axes of a view have spacings in the same unit and lengths within 10 to 1, else by index",
        ),
        (Aspect::Physical, "Physical", "By the distance of the nodes; uneven axes by their mean"),
        (Aspect::Index, "Index voxels square", "Every voxel is a square"),
    ];
}

/// Ratio of lengths up to which the views are physical by themselves.
const MOST: f64 = 10.0;

impl Document {
    /// Mean distance of the nodes along an axis; `None` where the file does not say.
    fn mean_spacing(&self, axis: usize) -> Option<f64> {
        let (meta, n) = (&self.volume.meta, self.volume.shape.n[axis]);
        let at = |count: usize| (axis + count).checked_sub(3);
        let uneven = at(meta.coordinates.len()).and_then(|a| meta.coordinates.get(a)).filter(|c| c.len() == n && n > 1);
        let mean = match uneven {
            Some(c) => (c[n - 1] - c[0]).abs() / (n - 1) as f64,
            None => meta.spacing.as_ref().and_then(|s| s.get(at(s.len())?)).copied()?.abs(),
        };
        (mean.is_finite() && mean > 0.0).then_some(mean)
    }

    /// Unit of an axis, one word for all kinds of degrees.
    fn axis_unit(&self, axis: usize) -> &str {
        let units = &self.volume.meta.axis_units;
        let unit = (axis + units.len()).checked_sub(3).and_then(|a| units.get(a)).map_or("", String::as_str);
        if unit.starts_with("degree") { "degrees" } else { unit }
    }

    /// Whether `axes` are drawn by their spacings unless the user says otherwise.
    fn is_physical(&self, axes: &[usize]) -> bool {
        let lengths = axes.iter().map(|&a| Some(self.mean_spacing(a)? * self.volume.shape.n[a] as f64));
        let Some(lengths) = lengths.collect::<Option<Vec<f64>>>() else { return false };
        let longest = lengths.iter().copied().fold(0.0, f64::max);
        let shortest = lengths.iter().copied().fold(f64::INFINITY, f64::min);
        let alike = axes.windows(2).all(|w| self.axis_unit(w[0]) == self.axis_unit(w[1]));
        alike && longest <= MOST * shortest
    }

    /// Length of a voxel along each axis in a view of `axes`. An axis of one node has no length of its own, and takes the least
    /// of the others.
    pub fn voxel_size(&self, axes: &[usize], aspect: Aspect) -> [f64; 3] {
        let long: Vec<usize> = axes.iter().copied().filter(|&a| self.volume.shape.n[a] > 1).collect();
        let physical = match aspect {
            Aspect::Auto => self.is_physical(&long),
            Aspect::Physical => true,
            Aspect::Index => false,
        };
        if !physical || long.is_empty() {
            return [1.0; 3];
        }
        let size = |a: usize| self.mean_spacing(a).unwrap_or(1.0);
        let least = long.iter().map(|&a| size(a)).fold(f64::INFINITY, f64::min);
        std::array::from_fn(|a| if long.contains(&a) { size(a) } else { least })
    }
}

impl State {
    /// Length of a voxel along each axis in a view of `axes`, as the user wants it drawn.
    pub fn voxel_size(&self, axes: &[usize]) -> [f64; 3] {
        self.document.as_ref().map_or([1.0; 3], |d| d.voxel_size(axes, self.display.aspect))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studio::data::memory::MemoryDataset;
    use blockmgard::Shape;
    use blockmgard::volume::{Metadata, OpenHints, Values, VecField, Volume};
    use std::sync::Arc;

    fn document(n: [usize; 3], meta: Metadata) -> Document {
        let shape = Shape::new(&n).unwrap();
        let values = Values::F32(Arc::new(VecField::new(vec![0.0f32; shape.len()], n)));
        let volume = Volume { shape, values, meta, missing: Default::default() };
        let dataset = Arc::new(MemoryDataset::new(volume, "test"));
        Document::of_dataset("test.f32".into(), OpenHints::default(), dataset, 0, 0).unwrap()
    }

    fn words(units: [&str; 3]) -> Vec<String> {
        units.map(String::from).to_vec()
    }

    #[test]
    fn levels_beside_degrees_are_drawn_by_index_and_degrees_by_their_spacing() {
        let meta = Metadata {
            spacing: Some(vec![1.0, 0.0009, 0.0018]),
            axis_units: words(["1", "degrees_north", "degrees_east"]),
            ..Metadata::default()
        };
        let d = document([15, 20, 20], meta);
        assert_eq!(d.voxel_size(&[1, 2], Aspect::Auto)[1..], [0.0009, 0.0018]);
        assert_eq!(d.voxel_size(&[0, 2], Aspect::Auto), [1.0; 3]);
        assert_eq!(d.voxel_size(&[0, 1, 2], Aspect::Auto), [1.0; 3]);
        assert_eq!(d.voxel_size(&[0, 1, 2], Aspect::Physical), [1.0, 0.0009, 0.0018]);
        assert_eq!(d.voxel_size(&[1, 2], Aspect::Index), [1.0; 3]);
    }

    #[test]
    fn an_uneven_axis_counts_with_its_mean_and_lengths_beyond_ten_to_one_by_index() {
        let uneven: Vec<f64> = (0..5).map(|i| -((i * i) as f64)).collect();
        let meta = |x: f64| Metadata {
            spacing: Some(vec![4.0, 1.0, x]),
            coordinates: vec![vec![], uneven.clone(), vec![]],
            ..Metadata::default()
        };
        assert_eq!(document([5, 5, 5], meta(2.0)).voxel_size(&[1, 2], Aspect::Auto), [2.0, 4.0, 2.0]);
        assert_eq!(document([5, 5, 5], meta(0.3)).voxel_size(&[1, 2], Aspect::Auto), [1.0; 3]);
    }

    #[test]
    fn a_plane_stays_a_plane_and_unknown_spacings_are_square() {
        let meta = Metadata { spacing: Some(vec![0.05, 0.1]), ..Metadata::default() };
        assert_eq!(document([1, 30, 20], meta).voxel_size(&[0, 1, 2], Aspect::Auto), [0.05, 0.05, 0.1]);
        assert_eq!(document([4, 30, 20], Metadata::default()).voxel_size(&[0, 1, 2], Aspect::Auto), [1.0; 3]);
    }
}
