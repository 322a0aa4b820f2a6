//! The exact error gain of a level: the largest absolute row sum of the recomposition on its details.

use super::mass::projection_rows;
use super::plan::BLOCK;

/// What a row of |I P| of one axis adds to the row sum of the tensor product.
#[derive(Clone, Copy, PartialEq)]
struct Row {
    /// Sum over all columns.
    all: f64,
    /// Sum over the columns of coarse nodes.
    coarse: f64,
    /// The entry on the diagonal, with its sign.
    diagonal: f64,
    /// Whether the row's node is coarse.
    is_coarse: bool,
}

/// An axis longer than this has the rows of one this long: what the ends do to the projection decays by
/// 2 - sqrt(3) a coarse node and is below the rounding of f64 after 32.
const LONG: usize = 128;

/// B of a projection level over an array of `n` nodes: |fine error| <= |coarse error| + B |detail error|.
/// `n` counts the padding of a local level, whose blocks are alike.
pub fn gain(n: [usize; 3], local: bool) -> f64 {
    let axes = n.map(|n| {
        axis_rows(if local {
            n.min(BLOCK)
        } else if n > LONG + 1 {
            LONG + n % 2
        } else {
            n
        })
    });
    let mut largest = 0.0f64;
    for a in &axes[0] {
        for b in &axes[1] {
            for c in &axes[2] {
                let sum = a.all * b.all * c.all - a.coarse * b.coarse * c.coarse;
                let diagonal = a.diagonal * b.diagonal * c.diagonal;
                let is_detail = !(a.is_coarse && b.is_coarse && c.is_coarse);
                let row = if is_detail { sum - diagonal.abs() + (1.0 - diagonal).abs() } else { sum };
                largest = largest.max(row);
            }
        }
    }
    largest
}

/// The distinct rows of I P of an axis of `n` nodes.
fn axis_rows(n: usize) -> Vec<Row> {
    if n == 1 {
        return vec![Row { all: 1.0, coarse: 1.0, diagonal: 1.0, is_coarse: true }];
    }
    let is_coarse = |i: usize| i.is_multiple_of(2) || i == n - 1;
    let p = projection_rows(n);
    let mut rows: Vec<Row> = Vec::new();
    for i in 0..n {
        let entry = |j: usize| {
            if i % 2 == 0 {
                p[i / 2][j]
            } else if i == n - 1 {
                p[n / 2][j]
            } else {
                0.5 * p[i / 2][j] + 0.5 * p[i / 2 + 1][j]
            }
        };
        let all = (0..n).map(|j| entry(j).abs()).sum();
        let coarse = (0..n).filter(|&j| is_coarse(j)).map(|j| entry(j).abs()).sum();
        let row = Row { all, coarse, diagonal: entry(i), is_coarse: is_coarse(i) };
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows
}
