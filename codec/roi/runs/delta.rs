//! What a change to a painted mask replaced: rows as they were.

use super::row::Row;
use super::{MaskRuns, Run};
use crate::Region;

/// The former rows of a [`MaskRuns`], enough to undo one change or a whole stroke.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowDelta {
    /// Row numbers in C order, ascending, with what they held before.
    pub(super) rows: Vec<(u64, Row)>,
}

impl RowDelta {
    /// Whether nothing changed: such a step is no undo step.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
    /// Memory held, for an undo budget.
    pub fn bytes(&self) -> usize {
        self.rows.capacity() * size_of::<(u64, Row)>() + self.rows.iter().map(|(_, r)| r.heap_bytes()).sum::<usize>()
    }
    /// Takes in a later change of the same mask, so that one undo takes back both.
    pub fn absorb(&mut self, later: RowDelta) {
        if self.rows.last().is_none_or(|(last, _)| later.rows.first().is_none_or(|(first, _)| last < first)) {
            self.rows.extend(later.rows);
            return;
        }
        let mut merged = Vec::with_capacity(self.rows.len() + later.rows.len());
        let mut own = std::mem::take(&mut self.rows).into_iter().peekable();
        for (index, row) in later.rows {
            while let Some(earlier) = own.next_if(|(i, _)| *i < index) {
                merged.push(earlier);
            }
            // Of a row changed twice, the earlier state is the one to come back to.
            merged.push(own.next_if(|(i, _)| *i == index).unwrap_or((index, row)));
        }
        merged.extend(own);
        self.rows = merged;
    }
    /// The box of voxels that differ between the rows kept here and those in `mask` now; `None` when there are none.
    pub fn bounds(&self, mask: &MaskRuns) -> Option<Region> {
        let ny = mask.shape().n[1];
        let mut found: Option<Region> = None;
        for (index, row) in &self.rows {
            let (z, y) = (*index as usize / ny, *index as usize % ny);
            let Some([x0, x1]) = difference(row.runs(), mask.row(z, y)) else { continue };
            let b = found.get_or_insert(Region { lo: [z, y, x0], hi: [z + 1, y + 1, x1] });
            b.lo = [b.lo[0], b.lo[1].min(y), b.lo[2].min(x0)];
            b.hi = [z + 1, b.hi[1].max(y + 1), b.hi[2].max(x1)];
        }
        found
    }
}

/// The span outside of which two rows agree.
fn difference(a: &[Run], b: &[Run]) -> Option<[usize; 2]> {
    let ends = |runs: &[Run]| runs.iter().flatten().copied().collect::<Vec<u32>>();
    let (a, b) = (ends(a), ends(b));
    let same_front = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    if same_front == a.len() && same_front == b.len() {
        return None;
    }
    let same_back = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let first = a.get(same_front).into_iter().chain(b.get(same_front)).min()?;
    let last = |v: &[u32]| v.len().checked_sub(same_back + 1).map(|i| v[i]);
    let end = last(&a).into_iter().chain(last(&b)).max()?;
    Some([*first as usize, end as usize])
}
