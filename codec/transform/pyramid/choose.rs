//! The choice of a chunk: what would cost least on a sample of its tiles, quantized as they would be.
//!
//! Only the encoder needs this, but every backend must choose alike. Costs are integers, so all do.

use super::choice::Choice;
use super::chunk::{Batch, Chunk, Scratch};
use super::lanes::{Real, W};
use super::plan::ChunkPlan;
use crate::entropy::class::symbols::ChunkSymbols;
use crate::entropy::class::unit_cost;
use crate::params::Points;

/// The sample: at least W tiles, and one in so many of the tiles that a chunk has most of.
const TILES_PER_SAMPLE: usize = 16;

/// The choice for a chunk with these values.
pub fn choose<T: Real>(chunk: &Chunk<T>, values: &mut [T], points: Points, scratch: &mut Scratch<T>) -> Choice {
    let mut trial = Trial { sample: batches(chunk), chunk, values, scratch, symbols: ChunkSymbols::default() };
    let candidates = point_candidates(points);
    let mut best = (Choice { points: candidates[0], ..Choice::default() }, u64::MAX);
    trial.improve(&mut best, Choice { points: candidates[0], ..Choice::default() });
    let smoothest = trial.smoothest();
    for &points in &candidates[1..] {
        // More points will not do where fewer are better.
        if best.1 > 0 && (points < best.0.points || best.0.points == candidates[0]) {
            trial.improve(&mut best, Choice { points, ..Choice::default() });
        }
    }
    if best.1 == 0 {
        return best.0;
    }
    if let Some(axis) = smoothest {
        let favoured = Choice { axis: 1 + axis as u8, ..best.0 };
        trial.improve(&mut best, favoured);
    }
    if chunk.plan.array.is_frame() {
        let fine = Choice { fine: true, ..best.0 };
        trial.improve(&mut best, fine);
    }
    best.0
}

/// The indices of points to try, in turn.
pub fn point_candidates(points: Points) -> &'static [u8] {
    match points {
        Points::Auto => &[1, 0, 2],
        Points::Two => &[0],
        Points::Four => &[1],
        Points::Six => &[2],
    }
}

/// Evenly spread tiles of the most frequent shape, as indices into the chunk's spots.
pub fn sample(chunk: &ChunkPlan) -> Vec<usize> {
    let mut kinds = [0; 8];
    chunk.spots.iter().for_each(|s| kinds[s.plan] += 1);
    let most = (0..8).rev().max_by_key(|&k| kinds[k]).unwrap_or(0);
    let tiles: Vec<usize> = (0..chunk.spots.len()).filter(|&i| chunk.spots[i].plan == most).collect();
    let count = (tiles.len() / TILES_PER_SAMPLE).max(W).min(tiles.len());
    (0..count).map(|i| tiles[i * (tiles.len() - 1) / (count - 1).max(1)]).collect()
}

fn batches<'a, T: Real>(chunk: &Chunk<'a, T>) -> Vec<Batch<'a, T>> {
    let batch = |m: &[usize]| Batch { tile: chunk.plan.tile(&chunk.shape().spots[m[0]]), members: m.to_vec() };
    sample(chunk.shape()).chunks(W).map(batch).collect()
}

struct Trial<'a, 'b, T> {
    sample: Vec<Batch<'a, T>>,
    chunk: &'b Chunk<'a, T>,
    values: &'b [T],
    scratch: &'b mut Scratch<T>,
    symbols: ChunkSymbols,
}

impl<T: Real> Trial<'_, '_, T> {
    /// Takes a choice if it costs less than the best so far.
    fn improve(&mut self, best: &mut (Choice, u64), choice: Choice) {
        let cost = self.cost(choice);
        if cost < best.1 {
            *best = (choice, cost);
        }
    }

    /// Estimated size of the sample.
    fn cost(&mut self, choice: Choice) -> u64 {
        let mut cost = 0;
        for batch in &self.sample {
            let layout = &batch.tile.layout;
            let starts: Vec<usize> = (0..batch.members.len()).map(|i| i * layout.nodes).collect();
            self.symbols.q.resize(batch.members.len() * layout.nodes, 0);
            self.symbols.delta.clear();
            self.chunk.encode_batch(choice, batch, self.values, &starts, &mut self.symbols, self.scratch);
            for start in starts {
                for unit in &layout.units {
                    let nodes = start + unit.start as usize..start + (unit.start + unit.len) as usize;
                    let delta = self.symbols.delta.get(nodes.clone()).unwrap_or_default();
                    cost += unit_cost(&self.symbols.q[nodes], delta, 8 * T::BYTES as u32);
                }
            }
        }
        cost
    }

    /// The axis along which the lone new nodes of step 0 have the smallest residuals, by the mean bit length in the
    /// last batch tried; None where only one axis has such nodes.
    fn smoothest(&self) -> Option<usize> {
        let batch = self.sample.last()?;
        let mut best: Option<(usize, u64, u64)> = None;
        let mut axes = 0;
        for (axis, places) in batch.tile.lone.iter().enumerate().filter(|(_, places)| !places.is_empty()) {
            let tiles = self.symbols.q.chunks_exact(batch.tile.layout.nodes.max(1));
            let length = |q: i16| 16 - q.unsigned_abs().leading_zeros() as u64;
            let sum = tiles.map(|q| places.iter().map(|&p| length(q[p as usize])).sum::<u64>()).sum::<u64>();
            let count = places.len() as u64;
            if best.is_none_or(|(_, s, n)| sum * n < s * count) {
                best = Some((axis, sum, count));
            }
            axes += 1;
        }
        best.filter(|_| axes > 1).map(|(axis, ..)| axis)
    }
}
