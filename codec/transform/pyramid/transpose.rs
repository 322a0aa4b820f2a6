//! Between C order or coding order and the lanes of the kernel.

use super::lanes::{Lanes, Real, W};
use super::plan::{TilePlan, TileSpot};
use crate::Region;

/// Copies tiles out of a box of extents `dims`.
pub fn load<T: Real>(tile: &TilePlan<T>, spots: &[TileSpot; W], values: &[T], dims: [usize; 3], v: &mut [Lanes<T, W>]) {
    let [_, my, mx] = tile.dims;
    for (row, out) in v.chunks_exact_mut(mx).enumerate() {
        let (z, y) = (row / my, row % my);
        let rows = spots.map(|s| &values[((s.lo[0] + z) * dims[1] + s.lo[1] + y) * dims[2] + s.lo[2]..][..mx]);
        for (x, out) in out.iter_mut().enumerate() {
            for l in 0..W {
                out[l] = rows[l][x];
            }
        }
    }
}

/// Copies the parts of tiles that lie in the box `part` into `out`, which holds that box.
pub fn store<T: Real>(tile: &TilePlan<T>, v: &[Lanes<T, W>], spots: &[TileSpot], out: &mut [T], part: &Region) {
    let [_, ny, nx] = part.shape();
    let strides = tile.strides();
    for (l, spot) in spots.iter().enumerate() {
        let common = tile.place(spot).intersect(part);
        for z in common.lo[0]..common.hi[0] {
            for y in common.lo[1]..common.hi[1] {
                let from = (z - spot.lo[0]) * strides[0] + (y - spot.lo[1]) * strides[1] + common.lo[2] - spot.lo[2];
                let to = ((z - part.lo[0]) * ny + y - part.lo[1]) * nx + common.lo[2] - part.lo[2];
                let width = common.hi[2] - common.lo[2];
                for (out, lanes) in out[to..][..width].iter_mut().zip(&v[from..][..width]) {
                    *out = lanes[l];
                }
            }
        }
    }
}

/// From raster order and lanes to the coding order of each tile.
pub fn scatter<T: Real, S: Copy>(tile: &TilePlan<T>, from: &[[S; W]], starts: &[usize], to: &mut [S]) {
    const BATCH: usize = 32;
    for (batch, positions) in tile.order.chunks(BATCH).enumerate() {
        for (l, &start) in starts.iter().enumerate() {
            let to = &mut to[start + batch * BATCH..][..positions.len()];
            for (to, &position) in to.iter_mut().zip(positions) {
                *to = from[position as usize][l];
            }
        }
    }
}

/// From the coding order of each tile to raster order and lanes.
pub fn gather<T: Real, S: Copy>(tile: &TilePlan<T>, from: &[S], starts: &[usize; W], to: &mut [[S; W]]) {
    let from = starts.map(|start| &from[start..][..tile.order.len()]);
    for (i, &position) in tile.order.iter().enumerate() {
        let to = &mut to[position as usize];
        for l in 0..W {
            to[l] = from[l][i];
        }
    }
}
