//! Geometric shapes as rows of voxels.

use blockmgard::Region;
use blockmgard::roi::Geometry;
use std::cell::Cell;
use std::ops::Range;

/// A set of voxels handed out as intervals along axis 2.
pub trait Shape {
    /// A box that holds every voxel of the shape.
    fn bounds(&self) -> Region;
    /// Calls `emit` with the voxel intervals of row `(z, y)`; they may pass the volume's edges.
    fn row(&self, z: usize, y: usize, emit: &mut dyn FnMut(Range<usize>));
}

/// Extents that no volume reaches: shapes are clipped to the volume where they are used.
const ENDLESS: usize = 1 << 48;

impl Shape for Geometry {
    fn bounds(&self) -> Region {
        Geometry::bounds(self, [ENDLESS; 3])
    }
    fn row(&self, z: usize, y: usize, emit: &mut dyn FnMut(Range<usize>)) {
        if !matches!(self, Geometry::Polygon { .. }) {
            return self.spans(z, y, ENDLESS, &mut |a, b| emit(a..b));
        }
        // Spans of a polygon may overlap, where its outline runs through voxel centres.
        let mut spans = vec![];
        self.spans(z, y, ENDLESS, &mut |a, b| spans.push(a..b));
        spans.sort_unstable_by_key(|r| r.start);
        let mut open: Option<Range<usize>> = None;
        for span in spans {
            match &mut open {
                Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
                _ => open.replace(span).into_iter().for_each(&mut *emit),
            }
        }
        open.into_iter().for_each(emit);
    }
}

/// Voxels whose centre lies within an axis-aligned ellipsoid (all in voxels).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ball {
    pub center: [f64; 3],
    pub radius: [f64; 3],
}

impl Ball {
    pub fn geometry(&self) -> Geometry {
        Geometry::Ellipsoid { center: self.center, radii: self.radius }
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
    pub fn geometry(&self) -> Geometry {
        let (points, Range { start, end }) = (self.points.clone(), self.layers.clone());
        Geometry::Polygon { axis: self.axis, points, from: start, to: end }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_polygon_through_voxel_centres_hands_out_each_voxel_once() {
        let points = vec![[1.0, 2.0], [1.0, 6.0], [4.0, 6.0], [4.0, 2.0]];
        let polygon = Extruded { axis: 0, points, layers: 3..5 }.geometry();
        let mut voxels = 0;
        for (z, y) in (3..5).flat_map(|z| (0..8).map(move |y| (z, y))) {
            let mut end = 0;
            polygon.row(z, y, &mut |r| {
                assert!(r.start >= end && r.start < r.end, "{r:?} after {end}");
                end = r.end;
                voxels += r.len();
            });
        }
        assert_eq!(voxels, 2 * 4 * 5, "the outline belongs to the polygon");
    }

    #[test]
    fn a_snapped_ball_covers_whole_blocks() {
        let ball = Snapped::new(Geometry::ball([8.0, 12.0, 20.0], 1.0));
        assert_eq!(ball.bounds(), Region { lo: [0, 8, 16], hi: [16, 16, 24] });
        ball.row(0, 8, &mut |r| assert_eq!(r, 16..24));
    }
}
