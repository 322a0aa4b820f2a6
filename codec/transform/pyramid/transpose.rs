//! Between C order or coding order and the lanes of the kernel, eight by eight.

use super::lanes::{Lanes, Real, W};
use super::plan::{TilePlan, TileSpot};
use super::square::{Square, transpose};
use crate::Region;

/// Copies tiles out of a box of extents `dims`.
pub fn load<T: Real>(tile: &TilePlan<T>, spots: &[TileSpot; W], values: &[T], dims: [usize; 3], v: &mut [Lanes<T, W>]) {
    let [_, my, mx] = tile.dims;
    for (row, out) in v.chunks_exact_mut(mx).enumerate() {
        let (z, y) = (row / my, row % my);
        let mut rows = [&values[..0]; W];
        for l in 0..W {
            let lo = spots[l].lo;
            rows[l] = &values[((lo[0] + z) * dims[1] + lo[1] + y) * dims[2] + lo[2]..][..mx];
        }
        let mut squares = out.chunks_exact_mut(W);
        for (i, out) in (&mut squares).enumerate() {
            let mut square: Square<T> = [[T::ZERO; W]; W];
            for l in 0..W {
                square[l].copy_from_slice(&rows[l][W * i..][..W]);
            }
            let square = T::transpose(square);
            for (out, column) in out.iter_mut().zip(square) {
                out.0 = column;
            }
        }
        let done = mx / W * W;
        for (x, out) in squares.into_remainder().iter_mut().enumerate() {
            for l in 0..W {
                out[l] = rows[l][done + x];
            }
        }
    }
}

/// Copies the parts of tiles that lie in the box `part` into `out`, which holds that box.
pub fn store<T: Real>(tile: &TilePlan<T>, v: &[Lanes<T, W>], spots: &[TileSpot], out: &mut [T], part: &Region) {
    if spots.iter().all(|spot| tile.place(spot).intersect(part) == tile.place(spot)) {
        return store_whole(tile, v, spots, out, part);
    }
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

/// As [`store`], for tiles that lie in the box as a whole.
fn store_whole<T: Real>(tile: &TilePlan<T>, v: &[Lanes<T, W>], spots: &[TileSpot], out: &mut [T], part: &Region) {
    let ([_, my, mx], [_, ny, nx]) = (tile.dims, part.shape());
    for (row, v) in v.chunks_exact(mx).enumerate() {
        let (z, y) = (row / my, row % my);
        let place = |spot: &TileSpot| {
            ((spot.lo[0] + z - part.lo[0]) * ny + spot.lo[1] + y - part.lo[1]) * nx + spot.lo[2] - part.lo[2]
        };
        let squares = v.chunks_exact(W);
        let (done, rest) = (mx / W * W, squares.remainder());
        for (i, v) in squares.enumerate() {
            let mut square: Square<T> = [[T::ZERO; W]; W];
            for (column, lanes) in square.iter_mut().zip(v) {
                *column = lanes.0;
            }
            let square = T::transpose(square);
            for (spot, row) in spots.iter().zip(&square) {
                out[place(spot) + W * i..][..W].copy_from_slice(row);
            }
        }
        for (l, spot) in spots.iter().enumerate() {
            let to = place(spot) + done;
            for (out, lanes) in out[to..to + rest.len()].iter_mut().zip(rest) {
                *out = lanes[l];
            }
        }
    }
}

/// Symbols from raster order and lanes to those of each tile in the order of the raster positions `order`.
pub fn scatter_q(order: &[u32], from: &[[i16; W]], starts: &[usize], to: &mut [i16]) {
    let squares = order.chunks_exact(W);
    let (done, rest) = (order.len() / W * W, squares.remainder());
    for (i, positions) in squares.enumerate() {
        let mut square = [[0; W]; W];
        for (row, &position) in square.iter_mut().zip(positions) {
            *row = from[position as usize];
        }
        let square = transpose(square);
        for (&start, row) in starts.iter().zip(&square) {
            to[start + W * i..][..W].copy_from_slice(row);
        }
    }
    for (i, &position) in rest.iter().enumerate() {
        for (&start, &q) in starts.iter().zip(&from[position as usize]) {
            to[start + done + i] = q;
        }
    }
}

/// Symbols of each tile in the order of the raster positions `order` to raster order and lanes.
pub fn gather_q(order: &[u32], from: &[i16], starts: &[usize; W], to: &mut [[i16; W]]) {
    let mut tiles = [&from[..0]; W];
    for l in 0..W {
        tiles[l] = &from[starts[l]..][..order.len()];
    }
    let squares = order.chunks_exact(W);
    let (done, rest) = (order.len() / W * W, squares.remainder());
    for (i, positions) in squares.enumerate() {
        let mut square = [[0; W]; W];
        for l in 0..W {
            square[l].copy_from_slice(&tiles[l][W * i..][..W]);
        }
        let square = transpose(square);
        for (row, &position) in square.iter().zip(positions) {
            to[position as usize] = *row;
        }
    }
    for (i, &position) in rest.iter().enumerate() {
        for l in 0..W {
            to[position as usize][l] = tiles[l][done + i];
        }
    }
}

/// As [`scatter_q`], deltas.
pub fn scatter_delta(order: &[u32], from: &[[u64; W]], starts: &[usize], to: &mut [u64]) {
    for (l, &start) in starts.iter().enumerate() {
        for (to, &position) in to[start..].iter_mut().zip(order) {
            *to = from[position as usize][l];
        }
    }
}

/// As [`gather_q`], deltas.
pub fn gather_delta(order: &[u32], from: &[u64], starts: &[usize; W], to: &mut [[u64; W]]) {
    for (l, &start) in starts.iter().enumerate() {
        for (&from, &position) in from[start..].iter().zip(order) {
            to[position as usize][l] = from;
        }
    }
}
