//! How far the nodes of a volume lie apart, for differences along its axes.

use super::Metadata;
use std::sync::Arc;

/// Distances between neighbouring nodes of three axes, slowest first: by coordinates where an axis is uneven, else by its spacing.
#[derive(Clone, Debug)]
pub struct NodeSteps {
    spacing: [f64; 3],
    /// Empty where the axis is even.
    nodes: [Arc<[f64]>; 3],
}

impl NodeSteps {
    /// Axes with these distances between all their nodes.
    pub fn even(spacing: [f64; 3]) -> Self {
        let spacing = spacing.map(|s| if s.is_finite() && s != 0.0 { s.abs() } else { 1.0 });
        Self { spacing, nodes: std::array::from_fn(|_| Arc::from([])) }
    }
    /// Those of a volume of extents `n`; an axis of which nothing is known counts its nodes.
    pub fn of(meta: &Metadata, n: [usize; 3]) -> Self {
        let mut spacing = [1.0; 3];
        if let Some(given) = meta.spacing.as_ref().filter(|s| s.len() <= 3) {
            spacing[3 - given.len()..].copy_from_slice(given);
        }
        let mut steps = Self::even(spacing);
        let lead = 3usize.saturating_sub(meta.coordinates.len());
        for (axis, nodes) in (lead..3).zip(&meta.coordinates) {
            // Metadata are not bound to the shape.
            if nodes.len() == n[axis] {
                steps.nodes[axis] = nodes.as_slice().into();
            }
        }
        steps
    }
    /// What a difference at node `at` of an axis is multiplied by to make a slope: that to the node before, that between both
    /// neighbours, and that to the node after. 0 where two nodes lie at the same place or there is no neighbour.
    pub fn per_step(&self, axis: usize, at: usize) -> [f64; 3] {
        let nodes = &self.nodes[axis];
        if nodes.is_empty() {
            let per_step = 1.0 / self.spacing[axis];
            return [per_step, 0.5 * per_step, per_step];
        }
        let between =
            |from: Option<usize>, to: usize| match from.and_then(|from| Some((nodes.get(from)?, nodes.get(to)?))) {
                Some((from, to)) if from != to => 1.0 / (to - from).abs(),
                _ => 0.0,
            };
        [between(at.checked_sub(1), at), between(at.checked_sub(1), at + 1), between(Some(at), at + 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_follow_the_coordinates_of_uneven_axes() {
        let meta = Metadata {
            spacing: Some(vec![1.0, 2.0]),
            coordinates: vec![vec![0.0, 1.0, 5.0], vec![]],
            ..Metadata::default()
        };
        let steps = NodeSteps::of(&meta, [1, 3, 9]);
        assert_eq!(steps.per_step(1, 1), [1.0, 0.2, 0.25]);
        assert_eq!((steps.per_step(1, 0), steps.per_step(1, 2)), ([0.0, 0.0, 1.0], [0.25, 0.0, 0.0]));
        assert_eq!((steps.per_step(0, 7), steps.per_step(2, 0)), ([1.0, 0.5, 1.0], [0.5, 0.25, 0.5]));
        // coordinates of another length are none
        assert_eq!(NodeSteps::of(&meta, [1, 4, 9]).per_step(1, 1), [1.0, 0.5, 1.0]);
    }
}
