//! The groups coder's tables of tile shapes.

use super::arguments::{GroupShape, RunLane, ShapeStream};
use crate::entropy::groups::geometry::{GROUP, NO_NODE, RUN, TileGroups};

/// Bits of a group at most: its size, and eight magnitudes with signs. A run has one more.
const GROUP_BITS: u32 = 10 + 8 * 17;
/// Slots start at multiples of so many words.
const SLOT_WORDS: u32 = 4;

/// The shapes of all arrays, by the numbers that the worklist gives them.
#[derive(Default)]
pub struct Tables {
    pub shapes: Vec<GroupShape>,
    pub streams: Vec<ShapeStream>,
    pub runs: Vec<RunLane>,
    /// Words of the slots of each shape.
    pub slot_words: Vec<u32>,
}

impl Tables {
    /// `streams`: by walk. `places`: of its nodes among its symbols.
    pub fn add(&mut self, places: &[u16], streams: [&TileGroups; 2]) {
        let mut shape = GroupShape { first_stream: [0; 2], streams: streams.map(|groups| groups.streams() as u32) };
        let mut words = 0;
        for (first, groups) in shape.first_stream.iter_mut().zip(streams) {
            *first = self.streams.len() as u32;
            words = words.max(self.add_streams(groups, places));
        }
        self.shapes.push(shape);
        self.slot_words.push(words);
    }

    /// The streams of a shape; `places` are those of its nodes among its symbols. Returns the words of their slots.
    fn add_streams(&mut self, groups: &TileGroups, places: &[u16]) -> u32 {
        let (mut slot, mut exact) = (0, 0);
        for stream in 0..groups.streams() {
            let (runs, first_run) = (groups.runs_of(stream), self.runs.len() / RUN);
            let (mut live, mut nodes) = (0, 0);
            if stream == 0 {
                nodes = groups.places_of_stream(0).filter(|&&node| node != NO_NODE).count() as u32;
                live = nodes.div_ceil(GROUP as u32);
                // the first of the tile, without gaps
                debug_assert!((0..nodes).all(|node| places[node as usize] as u32 == node));
            }
            for run in runs.clone().filter(|_| stream > 0) {
                let first = self.runs.len();
                self.runs.resize(first + RUN, RunLane { place: [NO_NODE; GROUP] });
                for (lane, group) in self.runs[first..].iter_mut().zip(groups.groups_of(run)) {
                    for (place, &node) in lane.place.iter_mut().zip(groups.places_of(group)) {
                        // none for no node
                        *place = places.get(node as usize).copied().unwrap_or(NO_NODE);
                        nodes += (*place != NO_NODE) as u32;
                    }
                    live += !groups.places_of(group).is_empty() as u32;
                }
            }
            let (first, runs) = (if stream == 0 { nodes } else { first_run as u32 }, runs.len() as u32);
            self.streams.push(ShapeStream { first, runs, slot, exact });
            slot += (runs + GROUP_BITS * live).div_ceil(32).next_multiple_of(SLOT_WORDS);
            exact += nodes;
        }
        slot
    }
}
