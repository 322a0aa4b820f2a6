//! Fields read as one long array in C order, piece by piece, whatever their shape.

use crate::volume::Field;
use crate::{Control, Element, Result};
use rayon::prelude::*;
use std::borrow::Cow;

/// Values in one piece: small enough to stay in cache, a multiple of 64 so that pieces of a bit mask are whole words.
pub const PIECE: usize = 1 << 16;

/// Number of values of a field.
pub fn length<T: Element>(field: &dyn Field<T>) -> usize {
    field.extents().iter().product()
}

/// Values `start .. start + count` in C order: a slice where the field has one, else a copy.
pub fn read<'a, T: Element>(field: &'a dyn Field<T>, start: usize, count: usize) -> Result<Cow<'a, [T]>> {
    if let Some(all) = field.as_slice() {
        return Ok(Cow::Borrowed(&all[start..start + count]));
    }
    let [_, ny, nx] = field.extents();
    let mut out = vec![T::ZERO; count];
    let mut filled = 0;
    while filled < count {
        let (row, x0) = ((start + filled) / nx, (start + filled) % nx);
        let take = (nx - x0).min(count - filled);
        field.read_row(row / ny, row % ny, x0, &mut out[filled..filled + take])?;
        filled += take;
    }
    Ok(Cow::Owned(out))
}

/// Runs `work(start, values)` on every piece in parallel and folds the results.
pub fn fold<T: Element, R: Send>(
    field: &dyn Field<T>,
    control: &Control,
    identity: impl Fn() -> R + Sync + Send,
    work: impl Fn(usize, &[T]) -> R + Sync,
    merge: impl Fn(R, R) -> R + Sync + Send,
) -> Result<R> {
    let total = length(field);
    (0..total.div_ceil(PIECE))
        .into_par_iter()
        .map(|piece| {
            control.check()?;
            let start = piece * PIECE;
            Ok(work(start, &read(field, start, PIECE.min(total - start))?))
        })
        .try_reduce(identity, |a, b| Ok(merge(a, b)))
}
