//! Geometric shapes as rows of voxels.

use blockmgard::Region;
use std::cell::Cell;
use std::ops::Range;

/// A set of voxels handed out as intervals along axis 2.
pub trait Shape {
    /// A box that holds every voxel of the shape.
    fn bounds(&self) -> Region;
    /// Calls `emit` with the voxel intervals of row `(z, y)`; they may pass the volume's edges.
    fn row(&self, z: usize, y: usize, emit: &mut dyn FnMut(Range<usize>));
}

/// Voxels whose centre lies within an axis-aligned ellipsoid (all in voxels).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ball {
    pub center: [f64; 3],
    pub radius: [f64; 3],
}

fn span(center: f64, half: f64) -> Range<usize> {
    let lo = (center - half).ceil().max(0.0) as usize;
    let hi = (center + half).floor();
    if hi < 0.0 { 0..0 } else { lo..hi as usize + 1 }
}

impl Shape for Ball {
    fn bounds(&self) -> Region {
        let ranges: [Range<usize>; 3] = std::array::from_fn(|a| span(self.center[a], self.radius[a]));
        Region { lo: ranges.clone().map(|r| r.start), hi: ranges.map(|r| r.end.max(r.start)) }
    }
    fn row(&self, z: usize, y: usize, emit: &mut dyn FnMut(Range<usize>)) {
        let part = |a: usize, v: usize| {
            let d = v as f64 - self.center[a];
            if self.radius[a] > 0.0 {
                (d / self.radius[a]).powi(2)
            } else if d == 0.0 {
                0.0
            } else {
                f64::INFINITY
            }
        };
        let left = 1.0 - part(0, z) - part(1, y);
        // Voxels on the surface count as inside, whatever the rounding.
        if left >= -1e-12 {
            emit(span(self.center[2], self.radius[2] * left.max(0.0).sqrt() + 1e-9));
        }
    }
}

/// All voxels of a box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoxShape(pub Region);

impl Shape for BoxShape {
    fn bounds(&self) -> Region {
        self.0
    }
    fn row(&self, z: usize, y: usize, emit: &mut dyn FnMut(Range<usize>)) {
        if (self.0.lo[0]..self.0.hi[0]).contains(&z) && (self.0.lo[1]..self.0.hi[1]).contains(&y) {
            emit(self.0.lo[2]..self.0.hi[2]);
        }
    }
}

/// A flat disc: one layer of an axis, round in the other two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disc {
    pub ball: Ball,
    /// Axis across the disc.
    pub axis: usize,
}

impl Shape for Disc {
    fn bounds(&self) -> Region {
        self.flat().bounds()
    }
    fn row(&self, z: usize, y: usize, emit: &mut dyn FnMut(Range<usize>)) {
        self.flat().row(z, y, emit);
    }
}

impl Disc {
    fn flat(&self) -> Ball {
        let mut ball = self.ball;
        ball.center[self.axis] = ball.center[self.axis].round();
        ball.radius[self.axis] = 0.0;
        ball
    }
}

/// A convex shape grown to whole 8^3 blocks.
pub struct Snapped<S> {
    shape: S,
    /// Interval of the block column asked last: its 64 rows share one answer.
    memo: Cell<Option<([usize; 2], usize, usize)>>,
}

impl<S: Shape> Snapped<S> {
    pub fn new(shape: S) -> Self {
        Self { shape, memo: Cell::new(None) }
    }

    fn column(&self, column: [usize; 2]) -> (usize, usize) {
        if let Some((at, lo, hi)) = self.memo.get()
            && at == column
        {
            return (lo, hi);
        }
        let b = self.shape.bounds();
        let (mut lo, mut hi) = (usize::MAX, 0);
        for z in (column[0] * 8).max(b.lo[0])..(column[0] * 8 + 8).min(b.hi[0]) {
            for y in (column[1] * 8).max(b.lo[1])..(column[1] * 8 + 8).min(b.hi[1]) {
                self.shape.row(z, y, &mut |r| {
                    if !r.is_empty() {
                        (lo, hi) = (lo.min(r.start), hi.max(r.end));
                    }
                });
            }
        }
        self.memo.set(Some((column, lo, hi)));
        (lo, hi)
    }
}

impl<S: Shape> Shape for Snapped<S> {
    fn bounds(&self) -> Region {
        let b = self.shape.bounds();
        Region { lo: b.lo.map(|v| v / 8 * 8), hi: b.hi.map(|v| v.div_ceil(8) * 8) }
    }
    fn row(&self, z: usize, y: usize, emit: &mut dyn FnMut(Range<usize>)) {
        let (lo, hi) = self.column([z / 8, y / 8]);
        if lo < hi {
            emit(lo / 8 * 8..hi.div_ceil(8) * 8);
        }
    }
}

/// A polygon drawn on the slices of `axis` and extruded over `layers` of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Extruded {
    pub axis: usize,
    /// Corners (v, u) in voxels: v along the slower, u along the faster in-plane axis.
    pub points: Vec<[f64; 2]>,
    pub layers: Range<usize>,
}

impl Extruded {
    fn plane_bounds(&self, i: usize) -> Range<usize> {
        let lo = self.points.iter().map(|p| p[i]).fold(f64::INFINITY, f64::min);
        let hi = self.points.iter().map(|p| p[i]).fold(f64::NEG_INFINITY, f64::max);
        if lo > hi { 0..0 } else { lo.floor().max(0.0) as usize..hi.ceil().max(0.0) as usize + 1 }
    }
    /// Intervals of the faster in-plane axis where the line at `v` is inside (even-odd rule).
    fn crossings(&self, v: f64) -> Vec<f64> {
        let mut u: Vec<f64> = self
            .points
            .iter()
            .zip(self.points.iter().cycle().skip(1))
            .filter(|(a, b)| (a[0] <= v) != (b[0] <= v))
            .map(|(a, b)| a[1] + (v - a[0]) / (b[0] - a[0]) * (b[1] - a[1]))
            .collect();
        u.sort_by(f64::total_cmp);
        u
    }
    fn inside(&self, v: f64, u: f64) -> bool {
        self.crossings(v).iter().filter(|&&c| c <= u).count() % 2 == 1
    }
}

impl Shape for Extruded {
    fn bounds(&self) -> Region {
        let (v, u) = (self.plane_bounds(0), self.plane_bounds(1));
        let mut ranges = [v.clone(), v.clone(), u.clone()];
        ranges[self.axis] = self.layers.clone();
        match self.axis {
            0 => (ranges[1], ranges[2]) = (v, u),
            1 => (ranges[0], ranges[2]) = (v, u),
            _ => (ranges[0], ranges[1]) = (v, u),
        }
        Region { lo: ranges.clone().map(|r| r.start), hi: ranges.map(|r| r.end.max(r.start)) }
    }
    fn row(&self, z: usize, y: usize, emit: &mut dyn FnMut(Range<usize>)) {
        if self.axis == 2 {
            if self.inside(z as f64, y as f64) {
                emit(self.layers.clone());
            }
            return;
        }
        let (layer, v) = if self.axis == 0 { (z, y) } else { (y, z) };
        if self.layers.contains(&layer) {
            for pair in self.crossings(v as f64).chunks_exact(2) {
                let start = pair[0].ceil().max(0.0) as usize;
                let end = pair[1].floor();
                if end >= start as f64 {
                    emit(start..end as usize + 1);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn voxels(shape: &dyn Shape) -> Vec<[usize; 3]> {
        let b = shape.bounds();
        let mut all = vec![];
        for z in b.lo[0]..b.hi[0] {
            for y in b.lo[1]..b.hi[1] {
                shape.row(z, y, &mut |r| all.extend(r.map(|x| [z, y, x])));
            }
        }
        all
    }

    #[test]
    fn a_square_polygon_covers_the_same_voxels_on_every_axis() {
        for axis in 0..3 {
            let points = vec![[1.5, 2.5], [1.5, 6.5], [4.5, 6.5], [4.5, 2.5]];
            let got = voxels(&Extruded { axis, points, layers: 3..5 });
            assert_eq!(got.len(), 3 * 4 * 2, "axis {axis}");
        }
    }

    #[test]
    fn a_disc_is_one_layer_thick() {
        let ball = Ball { center: [4.2, 5.0, 6.0], radius: [3.0; 3] };
        for axis in 0..3 {
            let got = voxels(&Disc { ball, axis });
            let layer = ball.center[axis].round() as usize;
            assert!(got.iter().all(|v| v[axis] == layer) && !got.is_empty());
        }
    }
}
