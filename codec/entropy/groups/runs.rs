//! The runs of a tile whose symbols lie at the places of its groups.

use super::geometry::{GROUP, NO_NODE, TileGroups};
use std::ops::Range;

/// The streams of one shape of tile: runs of live groups. Symbols lie group after group, [`GROUP`] places each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TileRuns {
    /// Ends of the streams in `runs`.
    streams: Vec<u32>,
    /// Ends of the runs in `present`. Runs without a live group are left out.
    runs: Vec<u32>,
    /// For each live group, bit k: its place k has a node.
    present: Vec<u8>,
}

impl TileRuns {
    pub fn new(groups: &TileGroups) -> Self {
        let mut runs = Self::default();
        for stream in 0..groups.streams() {
            for run in groups.runs_of(stream) {
                let live = groups.groups_of(run).map(|g| groups.places_of(g)).filter(|places| !places.is_empty());
                let present = |node: (usize, &u16)| ((*node.1 != NO_NODE) as u8) << node.0;
                runs.present.extend(live.map(|places| places.iter().enumerate().map(present).sum::<u8>()));
                if runs.present.len() > runs.runs.last().map_or(0, |end| *end as usize) {
                    runs.runs.push(runs.present.len() as u32);
                }
            }
            runs.streams.push(runs.runs.len() as u32);
        }
        runs
    }
    /// Places of a tile.
    pub fn places(&self) -> usize {
        GROUP * self.present.len()
    }
    /// Number of streams.
    pub(super) fn streams(&self) -> usize {
        self.streams.len()
    }
    /// The runs of a stream.
    #[inline(always)]
    pub(super) fn runs_of(&self, stream: usize) -> Range<usize> {
        part(&self.streams, stream)
    }
    /// The groups of a run.
    #[inline(always)]
    pub(super) fn groups_of(&self, run: usize) -> Range<usize> {
        part(&self.runs, run)
    }
    /// The groups of a stream.
    pub(super) fn groups_of_stream(&self, stream: usize) -> Range<usize> {
        let end = |run: usize| if run == 0 { 0 } else { self.runs[run - 1] as usize };
        let runs = self.runs_of(stream);
        end(runs.start)..end(runs.end)
    }
    /// Which places of some groups have nodes.
    #[inline(always)]
    pub(super) fn present(&self, groups: Range<usize>) -> &[u8] {
        &self.present[groups]
    }
}

/// Part `i` of a list of ends.
#[inline(always)]
fn part(ends: &[u32], i: usize) -> Range<usize> {
    let start = if i == 0 { 0 } else { ends[i - 1] };
    start as usize..ends[i] as usize
}
