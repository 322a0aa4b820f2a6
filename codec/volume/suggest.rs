//! Shapes that a raw file of a given size may have.

use super::StoredType;

/// Shapes of well-known sets (SDRBench), slowest first: offered before anything that is computed.
const KNOWN: &[&[usize]] = &[
    &[512, 512, 512],
    &[100, 500, 500],
    &[98, 1200, 1200],
    &[256, 384, 384],
    &[500, 500, 500],
    &[288, 115, 69, 69],
    &[1800, 3600],
    &[26, 1800, 3600],
    &[449, 449, 235],
    &[1008, 1008, 352],
];

/// Longest axis over shortest, beyond which a shape is not worth offering.
const MAX_ASPECT: f64 = 40.0;

/// Up to 12 shapes (slowest first) whose size is exactly `bytes`, the likeliest first: known sets, cubes, stacks of
/// square slices, other near-cubic boxes, square and plain 2-D, and the 1-D shape last. Empty when `bytes` is no multiple of
/// the type's size.
pub fn suggest_shapes(bytes: u64, stored: StoredType) -> Vec<Vec<usize>> {
    let size = stored.bytes() as u64;
    if bytes == 0 || !bytes.is_multiple_of(size) || bytes / size > 1 << 48 {
        return Vec::new();
    }
    let count = (bytes / size) as usize;
    let mut shapes: Vec<Vec<usize>> =
        KNOWN.iter().filter(|s| s.iter().product::<usize>() == count).map(|s| s.to_vec()).collect();
    let mut computed = boxes(count);
    computed.sort_by(|a, b| unlikeliness(a).total_cmp(&unlikeliness(b)));
    shapes.extend(computed.into_iter().take(10));
    shapes.extend(widest_plane(count));
    shapes.push(vec![count]);
    let mut seen = Vec::new();
    shapes.retain(|s| {
        !seen.contains(s) && {
            seen.push(s.clone());
            true
        }
    });
    shapes.truncate(12);
    shapes
}

/// Boxes of three axes, each at least 4 nodes long, the slowest axis alone free to differ in order.
fn boxes(count: usize) -> Vec<Vec<usize>> {
    let side = (count as f64).cbrt();
    let small: Vec<usize> = divisors(count, (side * MAX_ASPECT.sqrt()) as usize + 1);
    let mut out = Vec::new();
    for &a in small.iter().filter(|&&a| a >= 4 && a as f64 >= side / MAX_ASPECT) {
        let plane = count / a;
        for &b in small.iter().filter(|&&b| b >= 4 && b <= plane / b && plane.is_multiple_of(b)) {
            let shape = vec![a, b, plane / b];
            if unlikeliness(&shape).is_finite() {
                out.push(shape);
            }
        }
    }
    out
}

/// Lower is likelier: near-cubic, square slices, slices no smaller than the stack is deep.
fn unlikeliness(s: &[usize]) -> f64 {
    let longest = s.iter().copied().max().unwrap_or(1) as f64;
    let shortest = s.iter().copied().min().unwrap_or(1) as f64;
    let aspect = longest / shortest;
    if aspect > MAX_ASPECT {
        return f64::INFINITY;
    }
    let slice = s[2] as f64 / s[1] as f64;
    let deep = if s[0] > s[1] { 1.5 } else { 1.0 };
    aspect * slice.powi(3) * deep
}

/// The 2-D shape nearest to a square.
fn widest_plane(count: usize) -> Option<Vec<usize>> {
    let side = count.isqrt();
    let a = *divisors(count, side).last()?;
    (a > 1).then(|| vec![a, count / a])
}

/// Divisors up to `limit`, ascending (trial division: the limit is below 2^24 for sizes below 2^48).
fn divisors(count: usize, limit: usize) -> Vec<usize> {
    (1..=limit.min(count)).filter(|d| count.is_multiple_of(*d)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suggestion_fits_and_known_sets_come_first() {
        let isabel = suggest_shapes(100 * 500 * 500 * 4, StoredType::F32);
        assert_eq!(isabel[0], [100, 500, 500]);
        let les = suggest_shapes(91 * 91 * 91 * 4, StoredType::F32);
        assert_eq!(les[0], [91, 91, 91]);
        for (s, bytes) in isabel.iter().map(|s| (s, 100_000_000)).chain(les.iter().map(|s| (s, 3_014_284))) {
            assert_eq!(s.iter().product::<usize>() * 4, bytes);
        }
    }

    #[test]
    fn odd_sizes_give_little_and_never_hang() {
        assert!(suggest_shapes(7, StoredType::F32).is_empty());
        assert!(suggest_shapes(0, StoredType::F32).is_empty());
        assert_eq!(suggest_shapes(4 * 1_000_003, StoredType::F32), [vec![1_000_003]]);
        assert_eq!(suggest_shapes(u64::MAX, StoredType::U8), Vec::<Vec<usize>>::new());
        let largest = suggest_shapes(1 << 48, StoredType::U8);
        assert_eq!(largest[0], [1 << 16; 3]);
    }
}
