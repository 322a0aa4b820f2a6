//! One row of a painted mask: sorted, disjoint runs that never touch.

/// The voxels `run[0] .. run[1]` of a row.
pub type Run = [u32; 2];

/// A row's runs; most rows of a stroke hold one, which needs no allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Row {
    #[default]
    Empty,
    One(Run),
    #[expect(clippy::box_collection, reason = "keeps a row at 16 bytes: most have one run")]
    Many(Box<Vec<Run>>),
}

impl Row {
    pub fn runs(&self) -> &[Run] {
        match self {
            Row::Empty => &[],
            Row::One(run) => std::slice::from_ref(run),
            Row::Many(runs) => runs,
        }
    }
    pub fn from_runs(runs: Vec<Run>) -> Self {
        match runs[..] {
            [] => Row::Empty,
            [run] => Row::One(run),
            _ => Row::Many(Box::new(runs)),
        }
    }
    pub fn count(&self) -> u64 {
        self.runs().iter().map(|r| (r[1] - r[0]) as u64).sum()
    }
    /// With `other` added; `None` when nothing changes. `other` is sorted; its runs may touch or overlap.
    pub fn with(&self, other: &[Run]) -> Option<Row> {
        let own = self.runs();
        if let [new] = other {
            match own {
                [] => return Some(Row::One(*new)),
                [old] if old[0] <= new[0] && new[1] <= old[1] => return None,
                [old] if new[0] <= old[1] && old[0] <= new[1] => {
                    return Some(Row::One([old[0].min(new[0]), old[1].max(new[1])]));
                }
                _ => {}
            }
        }
        let mut out: Vec<Run> = Vec::with_capacity(own.len() + other.len());
        let (mut i, mut j) = (0, 0);
        while i < own.len() || j < other.len() {
            let take_own = j == other.len() || (i < own.len() && own[i][0] <= other[j][0]);
            let next = if take_own { own[i] } else { other[j] };
            if take_own {
                i += 1
            } else {
                j += 1
            };
            match out.last_mut() {
                Some(last) if next[0] <= last[1] => last[1] = last[1].max(next[1]),
                _ => out.push(next),
            }
        }
        (out != own).then(|| Row::from_runs(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bits(runs: &[Run]) -> u64 {
        runs.iter().flat_map(|r| r[0]..r[1]).fold(0, |b, x| b | 1 << x)
    }
    fn row(bits: u64) -> Row {
        let mut runs: Vec<Run> = Vec::new();
        for x in (0..64).filter(|x| bits >> x & 1 == 1) {
            match runs.last_mut() {
                Some(last) if last[1] == x => last[1] = x + 1,
                _ => runs.push([x, x + 1]),
            }
        }
        Row::from_runs(runs)
    }

    proptest! {
        #[test]
        fn a_union_agrees_with_bits(a in any::<u64>(), b in any::<u64>(), c in any::<u64>()) {
            let (a, b) = (a & c, b & (c.rotate_left(7) | 0xff00));
            let (ra, rb) = (row(a), row(b));
            let got = ra.with(rb.runs());
            prop_assert_eq!(got.is_none(), a | b == a);
            let got = got.unwrap_or(ra);
            prop_assert_eq!(bits(got.runs()), a | b);
            prop_assert_eq!(&got, &row(a | b));
        }
    }
}
