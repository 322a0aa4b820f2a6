//! Grow, shrink, islands, fill between slices and flood fill on painted masks.

use super::block_mask::{BlockMask, Cell};
use blockmgard::{Control, Result};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// Offsets of the 26 neighbours of a block, and of itself.
fn around([z, y, x]: [usize; 3], n: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    let range = |v: usize, n: usize| v.saturating_sub(1)..(v + 2).min(n);
    let (zr, yr, xr) = (range(z, n[0]), range(y, n[1]), range(x, n[2]));
    zr.flat_map(move |z| {
        let xr = xr.clone();
        yr.clone().flat_map(move |y| xr.clone().map(move |x| [z, y, x]))
    })
}

fn occupied(mask: &BlockMask) -> FxHashSet<[usize; 3]> {
    mask.cells().map(|(key, _)| mask.block_of(key)).collect()
}

/// Every block next to an occupied one becomes fully painted, and so do the occupied ones.
pub fn grow_by_block(mask: &BlockMask) -> BlockMask {
    let n = mask.shape().blocks();
    let mut out = mask.clone();
    for block in occupied(mask) {
        for b in around(block, n) {
            out.set_cell(b, mask.full_cell(b));
        }
    }
    out
}

/// Clears blocks that have an unoccupied block next to them.
pub fn shrink_by_block(mask: &BlockMask) -> BlockMask {
    let n = mask.shape().blocks();
    let full = occupied(mask);
    let mut out = mask.clone();
    for &block in &full {
        if around(block, n).any(|b| !full.contains(&b)) {
            out.set_cell(block, [0; 8]);
        }
    }
    out
}

/// Groups of blocks that touch by a face, edge or corner, largest first.
fn islands(mask: &BlockMask) -> Vec<Vec<[usize; 3]>> {
    let n = mask.shape().blocks();
    let mut left = occupied(mask);
    let mut groups = vec![];
    while let Some(&start) = left.iter().next() {
        left.remove(&start);
        let (mut group, mut queue) = (vec![start], VecDeque::from([start]));
        while let Some(block) = queue.pop_front() {
            for b in around(block, n) {
                if left.remove(&b) {
                    group.push(b);
                    queue.push_back(b);
                }
            }
        }
        groups.push(group);
    }
    groups.sort_by_key(|g| std::cmp::Reverse(g.len()));
    groups
}

/// Keeps the largest island only.
pub fn keep_largest_island(mask: &BlockMask) -> BlockMask {
    let mut out = mask.clone();
    for block in islands(mask).into_iter().skip(1).flatten() {
        out.set_cell(block, [0; 8]);
    }
    out
}

/// Drops islands of fewer than `least` blocks.
pub fn remove_small_islands(mask: &BlockMask, least: usize) -> BlockMask {
    let mut out = mask.clone();
    for block in islands(mask).into_iter().filter(|g| g.len() < least).flatten() {
        out.set_cell(block, [0; 8]);
    }
    out
}

/// Fills the gap between painted slices of `axis` along each line of voxels, from the first painted
/// voxel to the last.
pub fn fill_between_slices(mask: &BlockMask, axis: usize) -> BlockMask {
    let mut ends: FxHashMap<[usize; 2], (usize, usize)> = FxHashMap::default();
    for (key, cell) in mask.cells() {
        let b = mask.block_of(key);
        for_each_voxel(cell, |v| {
            let p: [usize; 3] = std::array::from_fn(|a| b[a] * 8 + v[a]);
            let line = match axis {
                0 => [p[1], p[2]],
                1 => [p[0], p[2]],
                _ => [p[0], p[1]],
            };
            let e = ends.entry(line).or_insert((p[axis], p[axis]));
            *e = (e.0.min(p[axis]), e.1.max(p[axis]));
        });
    }
    let mut cells: FxHashMap<[usize; 3], Cell> = FxHashMap::default();
    for (line, (first, last)) in ends {
        for t in first..=last {
            let p = match axis {
                0 => [t, line[0], line[1]],
                1 => [line[0], t, line[1]],
                _ => [line[0], line[1], t],
            };
            set_voxel(&mut cells, p);
        }
    }
    with_cells(mask, cells)
}

fn for_each_voxel(cell: &Cell, mut f: impl FnMut([usize; 3])) {
    for (z, &word) in cell.iter().enumerate() {
        let mut rest = word;
        while rest != 0 {
            let bit = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            f([z, bit / 8, bit % 8]);
        }
    }
}

fn set_voxel(cells: &mut FxHashMap<[usize; 3], Cell>, p: [usize; 3]) {
    cells.entry(p.map(|v| v / 8)).or_default()[p[0] % 8] |= 1 << (p[1] % 8 * 8 + p[2] % 8);
}

fn with_cells(mask: &BlockMask, cells: FxHashMap<[usize; 3], Cell>) -> BlockMask {
    let mut out = BlockMask::new(mask.shape());
    for (block, cell) in cells {
        out.set_cell(block, cell);
    }
    out
}

/// Voxels reachable from `seed` over faces where `inside` holds. Fails when cancelled.
pub fn flood_fill(
    shape: blockmgard::Shape,
    seed: [usize; 3],
    mut inside: impl FnMut([usize; 3]) -> Result<bool>,
    control: &Control,
) -> Result<BlockMask> {
    let mut cells: FxHashMap<[usize; 3], Cell> = FxHashMap::default();
    let mut queue = VecDeque::new();
    if inside(seed)? {
        set_voxel(&mut cells, seed);
        queue.push_back(seed);
    }
    let mut steps = 0u64;
    while let Some(p) = queue.pop_front() {
        steps += 1;
        if steps.is_multiple_of(65536) {
            control.check()?;
        }
        for axis in 0..3 {
            for up in [false, true] {
                let mut q = p;
                if if up { p[axis] + 1 >= shape.n[axis] } else { p[axis] == 0 } {
                    continue;
                }
                q[axis] = if up { p[axis] + 1 } else { p[axis] - 1 };
                let seen =
                    cells.get(&q.map(|v| v / 8)).is_some_and(|c| c[q[0] % 8] >> (q[1] % 8 * 8 + q[2] % 8) & 1 == 1);
                if !seen && inside(q)? {
                    set_voxel(&mut cells, q);
                    queue.push_back(q);
                }
            }
        }
    }
    Ok(with_cells(&BlockMask::new(shape), cells))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studio::roi::block_mask::Delta;
    use blockmgard::roi::Geometry;
    use blockmgard::{Region, Shape};

    fn mask(boxes: &[([usize; 3], [usize; 3])]) -> BlockMask {
        let mut mask = BlockMask::new(Shape::new(&[60, 60, 60]).unwrap());
        for &(lo, hi) in boxes {
            mask.paint(&Geometry::Box(Region { lo, hi }), true, &mut Delta::default());
        }
        mask
    }

    #[test]
    fn growing_then_shrinking_by_a_block_returns_to_the_block() {
        let one = mask(&[([24; 3], [32; 3])]);
        let grown = grow_by_block(&one);
        assert_eq!(grown.count(), 24 * 24 * 24);
        assert_eq!(shrink_by_block(&grown).count(), 512);
    }

    #[test]
    fn islands_are_told_apart() {
        let two = mask(&[([0; 3], [16; 3]), ([40; 3], [41; 3])]);
        assert_eq!(keep_largest_island(&two).count(), 4096);
        assert_eq!(remove_small_islands(&two, 2).count(), 4096);
        assert_eq!(remove_small_islands(&two, 1).count(), 4097);
    }

    #[test]
    fn filling_between_slices_joins_two_painted_slices() {
        for axis in 0..3 {
            let (mut lo, mut hi) = ([10; 3], [20; 3]);
            (lo[axis], hi[axis]) = (3, 4);
            let first = (lo, hi);
            (lo[axis], hi[axis]) = (13, 14);
            assert_eq!(fill_between_slices(&mask(&[first, (lo, hi)]), axis).count(), 11 * 100, "axis {axis}");
        }
    }

    #[test]
    fn a_flood_stops_at_the_wall() {
        let shape = Shape::new(&[9, 10, 11]).unwrap();
        let filled = flood_fill(shape, [0, 0, 0], |p| Ok(p[2] < 5), &Control::default()).unwrap();
        assert_eq!(filled.count(), 9 * 10 * 5);
    }
}
