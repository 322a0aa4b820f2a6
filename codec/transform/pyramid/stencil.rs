//! One axis of a tile: nested node sets and the Lagrange stencils between them.

use crate::Element;

/// The choices for the number of points, indexed by a chunk's choice.
pub const POINTS: [usize; 3] = [2, 4, 6];

/// One-dimensional Lagrange interpolation of one node.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stencil<T> {
    /// Number of nodes used, 2 to 6.
    pub len: usize,
    /// How many of them lie before the new node, 1 to 3.
    pub before: usize,
    /// Positions along the axis inside the tile, ascending.
    pub node: [u32; 6],
    pub weight: [T; 6],
}

/// Step s of an axis: how the nodes of S(s) that are not in S(s+1) are predicted from S(s+1).
#[derive(Clone, Debug)]
pub struct AxisStep<T> {
    /// Positions of S(s+1).
    pub old: Vec<u32>,
    /// Positions of the new nodes; empty when the axis is already at its last set.
    pub new: Vec<u32>,
    /// One stencil a new node, for each entry of [`POINTS`].
    pub stencils: [Vec<Stencil<T>>; 3],
}

/// All steps of one tile axis.
#[derive(Clone, Debug)]
pub struct AxisPlan<T> {
    /// Nodes of the tile on this axis.
    pub len: usize,
    /// Positions of the last set: the nodes that belong to the corner array.
    pub ends: Vec<u32>,
    /// Finest first; as many as the axis needs.
    pub steps: Vec<AxisStep<T>>,
}

impl<T: Element> AxisPlan<T> {
    /// From the coordinates of the tile's nodes on this axis.
    pub fn new(coordinates: &[f64]) -> Self {
        let sets = nested(coordinates.len());
        let steps = sets.windows(2).map(|pair| AxisStep::new(&pair[0], &pair[1], coordinates)).collect();
        Self { len: coordinates.len(), ends: sets[sets.len() - 1].clone(), steps }
    }
    /// The positions of S(set), the last set from there on.
    pub fn set(&self, set: usize) -> impl Iterator<Item = u32> {
        let all = 0..if set == 0 { self.len as u32 } else { 0 };
        let later: &[u32] = match set.checked_sub(1) {
            Some(step) => self.steps.get(step).map_or(&self.ends, |s| &s.old),
            None => &[],
        };
        all.chain(later.iter().copied())
    }
}

impl<T: Element> AxisStep<T> {
    fn new(fine: &[u32], coarse: &[u32], x: &[f64]) -> Self {
        let new: Vec<u32> = fine.iter().copied().filter(|p| coarse.binary_search(p).is_err()).collect();
        let stencils = POINTS.map(|points| new.iter().map(|&p| lagrange(p, coarse, x, points)).collect());
        Self { old: coarse.to_vec(), new, stencils }
    }
}

/// S(0) = {0..m-1}; S(s+1) = every other node of S(s) plus the last, until at most two are left.
fn nested(m: usize) -> Vec<Vec<u32>> {
    let mut sets = vec![(0..m as u32).collect::<Vec<_>>()];
    while sets[sets.len() - 1].len() > 2 {
        let fine = &sets[sets.len() - 1];
        let mut coarse: Vec<u32> = fine.iter().copied().step_by(2).collect();
        if coarse.last() != fine.last() {
            coarse.extend(fine.last());
        }
        sets.push(coarse);
    }
    sets
}

/// The interpolant at `p` through the `points / 2` nearest nodes on each side, cut off at the ends.
fn lagrange<T: Element>(p: u32, coarse: &[u32], x: &[f64], points: usize) -> Stencil<T> {
    let right = coarse.partition_point(|&c| c < p);
    let near = &coarse[right.saturating_sub(points / 2)..(right + points / 2).min(coarse.len())];
    let right = near.partition_point(|&c| c < p);
    let mut stencil = Stencil { len: near.len(), before: right, ..Stencil::default() };
    for (k, &node) in near.iter().enumerate() {
        let mut w = 1.0;
        for &other in near.iter().filter(|&&o| o != node) {
            w *= (x[p as usize] - x[other as usize]) / (x[node as usize] - x[other as usize]);
        }
        stencil.node[k] = node;
        stencil.weight[k] = T::from_f64(w);
    }
    stencil
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_sets_nest_as_in_the_oracle() {
        let sets: Vec<Vec<u32>> = nested(8);
        assert_eq!(sets[1..], [vec![0, 2, 4, 6, 7], vec![0, 4, 7], vec![0, 7]]);
        assert_eq!(nested(1), [vec![0]]);
        assert_eq!(nested(2), [vec![0, 1]]);
        assert_eq!(nested(3), [vec![0, 1, 2], vec![0, 2]]);
    }

    #[test]
    fn stencils_reproduce_polynomials_of_their_degree() {
        let x: Vec<f64> = [0., 1., 2., 5., 6., 9., 10., 13., 14., 17., 18., 20.].to_vec();
        let plan = AxisPlan::<f64>::new(&x);
        for step in &plan.steps {
            for (row, points) in step.stencils.iter().zip(POINTS) {
                for (st, &new) in row.iter().zip(&step.new) {
                    assert!(st.len >= 2.min(step.old.len()) && st.len <= points);
                    let f = |v: f64| (0..st.len).fold(0.0, |a, k| a * (v / 7.0) + k as f64 + 1.0);
                    let p: f64 = (0..st.len).map(|k| st.weight[k] * f(x[st.node[k] as usize])).sum();
                    assert!((p - f(x[new as usize])).abs() < 1e-9, "{p}");
                }
            }
        }
    }
}
