//! Shapes in index space, as spans of voxels along rows. Used by regions and by the brushes of a painter alike.

use super::spec::{BoxShape, EllipsoidShape, PolygonShape};
use crate::{Error, Region, Result, Shape};

/// A shape in the three index axes of a volume (axis 0 slowest).
#[derive(Clone, Debug, PartialEq)]
pub enum Geometry {
    Box(Region),
    /// Voxels whose centre is inside, the surface included.
    Ellipsoid {
        center: [f64; 3],
        radii: [f64; 3],
    },
    /// Corners on the two other axes, slower one first; slices `from .. to` of `axis`. Even-odd rule, the outline included.
    Polygon {
        axis: usize,
        points: Vec<[f64; 2]>,
        from: usize,
        to: usize,
    },
}

/// Keeps voxels on the surface of an ellipsoid in, whatever the rounding of the division by the radii.
const ROUNDING: f64 = 1e-12;

impl Geometry {
    /// A ball; the radius in voxels.
    pub fn ball(center: [f64; 3], radius: f64) -> Self {
        Self::Ellipsoid { center, radii: [radius; 3] }
    }
    /// A disc in the slice `index` across `axis`.
    pub fn disc(axis: usize, index: usize, mut center: [f64; 3], radius: f64) -> Self {
        let mut radii = [radius; 3];
        (center[axis], radii[axis]) = (index as f64, 0.5);
        Self::Ellipsoid { center, radii }
    }
    /// The voxels that the shape may hold, clipped to a volume of extents `n`.
    pub fn bounds(&self, n: [usize; 3]) -> Region {
        let whole = Region { lo: [0; 3], hi: n };
        let own = match self {
            Self::Box(b) => *b,
            Self::Ellipsoid { center, radii } => Region {
                lo: std::array::from_fn(|a| (center[a] - radii[a] * (1.0 + ROUNDING)).ceil().max(0.0) as usize),
                hi: std::array::from_fn(|a| {
                    ((center[a] + radii[a] * (1.0 + ROUNDING)).floor() + 1.0).max(0.0) as usize
                }),
            },
            Self::Polygon { axis, points, from, to } => {
                let mut own = Region { lo: [*from; 3], hi: [*to; 3] };
                for (k, a) in (0..3).filter(|a| a != axis).enumerate() {
                    let ends = points.iter().map(|p| p[k]);
                    let (lo, hi) = ends.fold((f64::INFINITY, -f64::INFINITY), |(l, h), v| (l.min(v), h.max(v)));
                    (own.lo[a], own.hi[a]) = (lo.ceil().max(0.0) as usize, (hi.floor() + 1.0).max(0.0) as usize);
                }
                own
            }
        };
        let mut r = own.intersect(&whole);
        // `intersect` keeps a start beyond the end of the volume: bring it back inside.
        (0..3).for_each(|a| (r.lo[a], r.hi[a]) = (r.lo[a].min(n[a]), r.hi[a].min(n[a])));
        r
    }
    /// Calls `span(x0, x1)` for the voxels `x0 .. x1` of row `(z, y)` inside the shape, clipped to `0 .. nx`. Spans may
    /// touch or overlap.
    pub fn spans(&self, z: usize, y: usize, nx: usize, span: &mut dyn FnMut(usize, usize)) {
        let mut closed = |lo: f64, hi: f64| {
            let (x0, x1) = (lo.ceil().max(0.0), (hi.floor() + 1.0).min(nx as f64));
            if x0 < x1 {
                span(x0 as usize, x1 as usize);
            }
        };
        match self {
            Self::Box(b) => {
                let inside = (b.lo[0]..b.hi[0]).contains(&z) && (b.lo[1]..b.hi[1]).contains(&y);
                if inside && b.lo[2] < b.hi[2].min(nx) {
                    span(b.lo[2], b.hi[2].min(nx));
                }
            }
            Self::Ellipsoid { center, radii } => {
                let square = |at: usize, a: usize| ((at as f64 - center[a]) / radii[a]).powi(2);
                let rest = 1.0 + ROUNDING - square(z, 0) - square(y, 1);
                if rest >= 0.0 {
                    let half = radii[2] * rest.sqrt();
                    closed(center[2] - half, center[2] + half);
                }
            }
            Self::Polygon { axis: 0, points, from, to } if (*from..*to).contains(&z) => {
                crossings(points, y as f64, &mut closed);
            }
            Self::Polygon { axis: 1, points, from, to } if (*from..*to).contains(&y) => {
                crossings(points, z as f64, &mut closed);
            }
            Self::Polygon { axis: 2, points, from, to } => {
                let mut inside = false;
                crossings(points, z as f64, &mut |lo, hi| inside |= (lo..=hi).contains(&(y as f64)));
                if inside && *from < (*to).min(nx) {
                    span(*from, (*to).min(nx));
                }
            }
            Self::Polygon { .. } => {}
        }
    }
}

/// Where the line `p[0] = at` runs inside a polygon, as closed intervals of `p[1]`. A line through corners or along
/// an edge takes the inside of both its sides, so that the outline belongs to the polygon.
fn crossings(points: &[[f64; 2]], at: f64, interval: &mut dyn FnMut(f64, f64)) {
    let edges = || (0..points.len()).map(|i| (points[i], points[(i + 1) % points.len()]));
    let mut cuts = Vec::new();
    for side in [|p: f64, at: f64| p <= at, |p: f64, at: f64| p < at] {
        cuts.clear();
        for (a, b) in edges().filter(|(a, b)| side(a[0], at) != side(b[0], at)) {
            cuts.push(a[1] + (at - a[0]) / (b[0] - a[0]) * (b[1] - a[1]));
        }
        cuts.sort_by(f64::total_cmp);
        cuts.chunks_exact(2).for_each(|pair| interval(pair[0], pair[1]));
    }
    for (a, b) in edges().filter(|(a, b)| a[0] == at && b[0] == at) {
        interval(a[1].min(b[1]), a[1].max(b[1]));
    }
}

/// Entries for the 1 to 3 axes of a volume as entries for three, with `pad` for the axes it lacks.
fn on_three_axes<T: Copy>(given: &[T], shape: &Shape, pad: T, what: &str) -> Result<[T; 3]> {
    if given.len() != shape.rank as usize {
        return Err(Error::invalid(format!("{what} has {} entries for a volume of {} axes", given.len(), shape.rank))
            .remedy("give one entry per axis, slowest first"));
    }
    let mut all = [pad; 3];
    all[3 - given.len()..].copy_from_slice(given);
    Ok(all)
}

impl BoxShape {
    pub fn geometry(&self, shape: &Shape) -> Result<Geometry> {
        let lo = on_three_axes(&self.lo, shape, 0, "lo")?;
        let hi = on_three_axes(&self.hi, shape, 1, "hi")?;
        Ok(Geometry::Box(Region { lo, hi }))
    }
}

impl EllipsoidShape {
    pub fn geometry(&self, shape: &Shape) -> Result<Geometry> {
        let center = on_three_axes(&self.center, shape, 0.0, "center")?;
        let radii = on_three_axes(&self.radii, shape, 1.0, "radii")?;
        Ok(Geometry::Ellipsoid { center, radii })
    }
}

impl PolygonShape {
    pub fn geometry(&self, shape: &Shape) -> Result<Geometry> {
        let (points, pad) = (self.points.clone(), 3 - shape.rank as usize);
        let (axis, from, to) = match shape.rank {
            // The only slice of a 2-D volume has no axis to name.
            2 => (0, 0, 1),
            _ => (self.axis + pad, self.from, self.to),
        };
        if axis > 2 || shape.rank < 2 {
            return Err(Error::invalid(format!(
                "a polygon across axis {} does not fit {} axes",
                self.axis, shape.rank
            )));
        }
        Ok(Geometry::Polygon { axis, points, from, to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn voxels(g: &Geometry, n: [usize; 3]) -> Vec<[usize; 3]> {
        let mut out = Vec::new();
        for (z, y) in (0..n[0]).flat_map(|z| (0..n[1]).map(move |y| (z, y))) {
            g.spans(z, y, n[2], &mut |a, b| out.extend((a..b).map(|x| [z, y, x])));
        }
        out.sort();
        out.dedup();
        let bounds = g.bounds(n);
        assert!(out.iter().all(|v| (0..3).all(|a| (bounds.lo[a]..bounds.hi[a]).contains(&v[a]))), "{bounds:?}");
        out
    }

    #[test]
    fn a_ball_holds_the_voxels_within_its_radius() {
        let n = [9, 8, 7];
        let found = voxels(&Geometry::ball([4.0, 3.5, 3.0], 2.5), n);
        let mut expected = Vec::new();
        for (z, y, x) in (0..9).flat_map(|z| (0..8).flat_map(move |y| (0..7).map(move |x| (z, y, x)))) {
            let d = (z as f64 - 4.0).powi(2) + (y as f64 - 3.5).powi(2) + (x as f64 - 3.0).powi(2);
            if d <= 2.5 * 2.5 {
                expected.push([z, y, x]);
            }
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn a_disc_stays_in_its_slice() {
        for axis in 0..3 {
            let found = voxels(&Geometry::disc(axis, 2, [3.0; 3], 2.0), [7; 3]);
            assert_eq!(found.len(), 13);
            assert!(found.iter().all(|v| v[axis] == 2));
        }
    }

    #[test]
    fn a_rectangular_polygon_equals_the_closed_box_on_every_axis() {
        for axis in 0..3 {
            let points = vec![[1.0, 2.0], [1.0, 5.0], [4.0, 5.0], [4.0, 2.0]];
            let polygon = Geometry::Polygon { axis, points, from: 3, to: 5 };
            let (mut lo, mut hi) = ([3; 3], [5; 3]);
            for (k, a) in (0..3).filter(|a| *a != axis).enumerate() {
                (lo[a], hi[a]) = ([1, 2][k], [5, 6][k]);
            }
            assert_eq!(voxels(&polygon, [8; 3]), voxels(&Geometry::Box(Region { lo, hi }), [8; 3]));
        }
    }

    #[test]
    fn a_crossing_polygon_leaves_its_even_part_out() {
        // Two nested squares joined by one path: the inner one is a hole.
        let ring = [
            [0., 0.],
            [0., 8.],
            [8., 8.],
            [8., 0.],
            [0., 0.],
            [2.5, 2.5],
            [5.5, 2.5],
            [5.5, 5.5],
            [2.5, 5.5],
            [2.5, 2.5],
        ];
        let found = voxels(&Geometry::Polygon { axis: 0, points: ring.to_vec(), from: 0, to: 1 }, [1, 9, 9]);
        assert!(!found.contains(&[0, 4, 4]) && found.contains(&[0, 2, 4]) && found.contains(&[0, 8, 8]));
    }

    #[test]
    fn shapes_outside_the_volume_are_empty() {
        let n = [4; 3];
        for g in [
            Geometry::ball([-9.0, 2.0, 2.0], 3.0),
            Geometry::Box(Region { lo: [5; 3], hi: [9; 3] }),
            Geometry::ball([1e300; 3], 1.0),
        ] {
            assert!(voxels(&g, n).is_empty() && g.bounds(n).is_empty());
        }
    }
}
