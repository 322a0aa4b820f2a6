//! The arrays of the pyramid: the frame, the corners of its tiles, the corners of their tiles, and so on.

use crate::{Error, Region, Result};

/// Coordinates of the nodes of one axis of an array, in nodes of the frame.
#[derive(Clone, Debug)]
enum Axis {
    /// 0, 1, .. n-1
    Frame(usize),
    Corners(Vec<u64>),
}

impl Axis {
    fn len(&self) -> usize {
        match self {
            Axis::Frame(n) => *n,
            Axis::Corners(x) => x.len(),
        }
    }
    fn at(&self, i: usize) -> u64 {
        match self {
            Axis::Frame(_) => i as u64,
            Axis::Corners(x) => x[i],
        }
    }
    /// The first and last node of every tile.
    fn corners(&self, tile: usize) -> impl Iterator<Item = usize> {
        let n = self.len();
        (0..n).step_by(tile).flat_map(move |lo| {
            let hi = (lo + tile).min(n) - 1;
            std::iter::once(lo).chain((hi > lo).then_some(hi))
        })
    }
}

/// Sides of tiles, units and chunks; they depend on the number of axes with more than one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sides {
    pub tile: usize,
    pub unit: usize,
    pub chunk: usize,
}

impl Sides {
    /// `tile` is [`crate::Params::tile`].
    pub fn new(n: [usize; 3], tile: u8) -> Result<Self> {
        let power = match tile {
            8 => 0,
            16 => 1,
            32 => 2,
            _ => return Err(Error::invalid(format!("tile side {tile} is not 8, 16 or 32"))),
        };
        Ok(match n.iter().filter(|&&n| n > 1).count() {
            3 => Self { tile: 8 << power, unit: 8, chunk: 64 },
            2 => Self { tile: 32 << power, unit: 16, chunk: 512 },
            _ => Self { tile: 512 << (3 * power), unit: 256, chunk: 1 << 18 },
        })
    }
}

/// One array of the pyramid.
#[derive(Clone, Debug)]
pub struct Array {
    /// Extents in nodes.
    pub n: [usize; 3],
    axes: [Axis; 3],
    sides: Sides,
}

impl Array {
    /// The frame itself.
    pub fn frame(n: [usize; 3], sides: Sides) -> Self {
        Self { n, axes: n.map(Axis::Frame), sides }
    }
    /// Number of chunks of a frame; none when it is its own last array.
    pub fn chunk_count(n: [usize; 3], tile: u8) -> Result<usize> {
        let frame = Self::frame(n, Sides::new(n, tile)?);
        Ok(if frame.is_last() { 0 } else { frame.chunks().iter().product() })
    }
    /// The corners of all tiles of this array.
    pub fn corners(&self) -> Self {
        let axes = self.axes.each_ref().map(|a| Axis::Corners(a.corners(self.sides.tile).map(|i| a.at(i)).collect()));
        Self { n: axes.each_ref().map(Axis::len), axes, sides: self.sides }
    }
    /// Indices of the corners' nodes on one axis.
    pub fn corner_indices(&self, axis: usize) -> Vec<usize> {
        self.axes[axis].corners(self.sides.tile).collect()
    }
    /// Whether this is the frame itself and no corner array.
    pub fn is_frame(&self) -> bool {
        self.axes.iter().all(|a| matches!(a, Axis::Frame(_)))
    }
    /// Whether this is the last array: at most two nodes an axis, coded without prediction.
    pub fn is_last(&self) -> bool {
        self.n.iter().all(|&n| n <= 2)
    }
    pub fn len(&self) -> usize {
        self.n.iter().product()
    }
    /// Frame coordinate of node `i` of `axis`.
    pub fn coordinate(&self, axis: usize, i: usize) -> usize {
        self.axes[axis].at(i) as usize
    }
    /// Frame coordinates of a node.
    pub fn coordinates(&self, node: [usize; 3]) -> [usize; 3] {
        std::array::from_fn(|a| self.coordinate(a, node[a]))
    }
    /// Chunks per axis.
    pub fn chunks(&self) -> [usize; 3] {
        self.n.map(|n| n.div_ceil(self.sides.chunk))
    }
    /// The nodes of chunk `index` (raster order).
    pub fn chunk_box(&self, index: usize) -> Region {
        let [_, cy, cx] = self.chunks();
        let at = [index / (cy * cx), index / cx % cy, index % cx];
        let lo = at.map(|i| i * self.sides.chunk);
        Region { lo, hi: std::array::from_fn(|a| (lo[a] + self.sides.chunk).min(self.n[a])) }
    }
    /// Coordinates of the nodes of a tile on `axis`, from its first node: of the last tile, or of any other.
    pub fn tile_axis(&self, axis: usize, last: bool) -> Vec<f64> {
        let (n, tile) = (self.n[axis], self.sides.tile);
        let lo = if last { (n - 1) / tile * tile } else { 0 };
        let first = self.axes[axis].at(lo);
        (lo..(lo + tile).min(n)).map(|i| (self.axes[axis].at(i) - first) as f64).collect()
    }
    pub fn sides(&self) -> Sides {
        self.sides
    }
}

/// All arrays: the frame first, the last array at the end.
pub fn arrays(n: [usize; 3], tile: u8) -> Result<Vec<Array>> {
    let mut arrays = vec![Array::frame(n, Sides::new(n, tile)?)];
    while !arrays[arrays.len() - 1].is_last() {
        arrays.push(arrays[arrays.len() - 1].corners());
    }
    Ok(arrays)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_keep_their_coordinates_down_to_two_nodes() {
        let a = arrays([1, 20, 500], 8).unwrap();
        assert_eq!(a[0].sides(), Sides { tile: 32, unit: 16, chunk: 512 });
        assert_eq!(a[1].n, [1, 2, 32]);
        assert_eq!((a[1].coordinate(2, 30), a[1].coordinate(2, 31), a[1].coordinate(1, 1)), (480, 499, 19));
        assert_eq!(a[2].n, [1, 2, 2]);
        assert_eq!(a[2].coordinate(2, 1), 499);
        assert!(arrays([4, 4, 4], 12).is_err());
        assert_eq!(arrays([2, 1, 2], 16).unwrap().len(), 1);
        assert_eq!(arrays([17, 17, 17], 16).unwrap()[1].n, [3, 3, 3]);
    }
}
