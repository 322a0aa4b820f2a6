//! Where the symbols of a frame stand on the device, and how they are cut into payloads and segments.

use super::super::pyramid::FlatPart;
use super::arguments::{Cell, HuffmanPart, Segment};
use super::narrow;
use crate::entropy::huffman::SEGMENT_UNITS;
use crate::transform::hybrid::coarse::unit_of;
use crate::transform::hybrid::grid::ChunkGrid;
use crate::transform::hybrid::local::block_details;
use crate::transform::hybrid::plan::Plan;
use crate::transform::hybrid::symbols::{CLASS_PART, GLOBAL_UNIT, local_unit};

/// Symbols of a payload start at a multiple of this, for wide accesses; the class coder's kernels want the same.
const ALIGNMENT: u64 = 8;
/// Segments that a block of threads encodes or decodes, a warp each, as in huffman_encode.cu and huffman_warps.cu: three such
/// blocks take the 32 segments of a chunk.
pub const TASK_SEGMENTS: u32 = 11;
/// Segments that a warp of huffman_decode.cu decodes, a lane each; whole chunks mostly.
const WARP_SEGMENTS: u32 = 32;

/// The symbols of some chunks and of the coarse part, one after the other.
#[derive(Default)]
pub struct Layout {
    /// The blocks of each local level of the coarse part, then those of each chunk.
    pub cells: Vec<Cell>,
    /// The first cell that is a chunk.
    pub first_chunk: usize,
    /// Number of chunks; they come first among the parts.
    pub chunks: usize,
    /// Largest number of blocks of a chunk.
    pub chunk_blocks: u32,
    /// First symbol of each level of the coarse part, and of the coarsest array.
    pub levels: Vec<u64>,
    pub symbols: u64,
    /// Chunks, levels, the coarsest array.
    pub parts: Vec<HuffmanPart>,
    /// The same cut into payloads of the class coder.
    pub flat: Vec<FlatPart>,
    /// One past the last payload of each part.
    flat_end: Vec<usize>,
    pub segments: Vec<Segment>,
    /// First segment of each block of threads of the Huffman encoder, and of the decoder with a warp a segment.
    pub tasks: Vec<u32>,
    /// First segment of each warp of the Huffman decoder with a lane a segment, whose segments have one codebook; behind the
    /// last one the number of segments.
    pub warps: Vec<u32>,
}

impl Layout {
    /// Of the chunks `wanted` and the coarse part. Book 0 is that of the chunks.
    pub fn new(plan: &Plan, grid: &ChunkGrid, wanted: impl Iterator<Item = usize>) -> Self {
        let mut this = Self::default();
        let rank = plan.rank();
        let mut chunks = Vec::new();
        for chunk in wanted.filter(|_| plan.chunked()) {
            let blocks = grid.blocks(chunk);
            let symbol = this.add_part(blocks.len() * block_details(rank), local_unit(rank), 0, true);
            let (lo, shape) = (narrow(blocks.lo), narrow(blocks.shape()));
            chunks.push(Cell { symbol, lo, shape, name: chunk as u32, unused: 0 });
            this.chunk_blocks = this.chunk_blocks.max(blocks.len() as u32);
        }
        for level in &plan.levels[plan.chunked() as usize..] {
            let book = this.levels.len() as u32 + 1;
            let symbol = this.add_part(level.details, unit_of(level, rank), book, false);
            this.levels.push(symbol);
            if level.local {
                this.cells.push(Cell { symbol, lo: [0; 3], shape: narrow(level.blocks()), name: 0, unused: 0 });
            }
        }
        let book = this.levels.len() as u32 + 1;
        let symbol = this.add_part(plan.coarsest.iter().product(), GLOBAL_UNIT, book, false);
        this.levels.push(symbol);
        (this.first_chunk, this.chunks) = (this.cells.len(), chunks.len());
        this.cells.append(&mut chunks);
        for of_book in this.parts.chunk_by(|a, b| a.book == b.book) {
            let segments = of_book[0].segment..of_book[of_book.len() - 1].segment_end;
            this.warps.extend(segments.step_by(WARP_SEGMENTS as usize));
        }
        this.warps.push(this.segments.len() as u32);
        this
    }

    /// Payloads of the class coder of part `index`.
    pub fn flat_of(&self, index: usize) -> std::ops::Range<usize> {
        index.checked_sub(1).map_or(0, |before| self.flat_end[before])..self.flat_end[index]
    }

    /// Number of codebooks, that of the chunks included.
    pub fn books(&self) -> usize {
        self.levels.len() + 1
    }

    /// Appends `count` symbols as one payload and returns the place of the first.
    fn add_part(&mut self, count: usize, unit: usize, book: u32, chunk: bool) -> u64 {
        let first = self.symbols;
        let (part, segment) = (self.parts.len() as u32, self.segments.len() as u32);
        for at in (0..count).step_by(CLASS_PART) {
            self.flat.push(FlatPart { symbol: first + at as u64, count: CLASS_PART.min(count - at) });
        }
        self.flat_end.push(self.flat.len());
        let length = unit * SEGMENT_UNITS;
        for at in (0..count).step_by(length) {
            let count = length.min(count - at) as u32;
            self.segments.push(Segment { symbol: first + at as u64, count, part });
        }
        let segment_end = self.segments.len() as u32;
        self.tasks.extend((segment..segment_end).step_by(TASK_SEGMENTS as usize));
        let (unit, chunk) = (unit as u32, chunk as u32);
        let [bytes, nonzero, error] = [0; 3];
        let offset = 0;
        self.parts.push(HuffmanPart { segment, segment_end, unit, book, chunk, bytes, nonzero, error, offset });
        self.symbols = (first + count as u64).next_multiple_of(ALIGNMENT);
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mode, Params};

    #[test]
    fn segments_cover_all_symbols_once_and_parts_do_not_overlap() {
        for n in [[70, 41, 133], [1, 300, 70], [1, 1, 5000], [3, 3, 3]] {
            let params = Params { mode: Mode::Hybrid, local_levels: 2, global_levels: 1, ..Params::default() };
            let plan = Plan::new(n, &params);
            let grid = ChunkGrid::new(plan.n);
            let layout = Layout::new(&plan, &grid, 0..grid.len());
            let details: usize = plan.levels.iter().map(|l| l.details).sum();
            let total = details + plan.coarsest.iter().product::<usize>();
            assert_eq!(layout.segments.iter().map(|s| s.count as usize).sum::<usize>(), total);
            for pair in layout.segments.windows(2) {
                let end = pair[0].symbol + pair[0].count as u64;
                assert!(end == pair[1].symbol || (pair[0].part < pair[1].part && end < pair[1].symbol));
            }
        }
    }
}
