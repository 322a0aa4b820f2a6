//! What the kernels of the hybrid mode take, laid out as in `kernels/hybrid.cuh` and `kernels/huffman.cuh`. Pointers
//! are device addresses.

use super::super::device_struct::device_struct;

device_struct! {
    pub struct Step<T> {
        pub step: T,
        pub inverse: T,
        pub check: T,
    }
    pub struct Cell {
        pub symbol: u64,
        pub lo: [u32; 3],
        pub shape: [u32; 3],
        pub name: u32,
        pub unused: u32,
    }
    pub struct FoundList {
        pub keys: u64,
        pub values: u64,
        pub count: u64,
        pub capacity: u32,
        pub unused: u32,
    }
    pub struct HybridState {
        pub refused: u32,
        pub coarsest_stored: u32,
        pub stored_count: u32,
        pub missed_count: u32,
        pub redo_count: u32,
        pub unused: u32,
    }
    pub struct LocalArguments {
        pub fine: u64,
        pub coarse: u64,
        pub rebuilt: u64,
        pub result: u64,
        pub symbols: u64,
        pub wide: u64,
        pub tiers: u64,
        pub steps: u64,
        pub projection: u64,
        pub cells: u64,
        pub state: u64,
        pub redo: u64,
        pub stored_counts: u64,
        pub stored: FoundList,
        pub missed: FoundList,
        pub cell_count: u32,
        pub cell_blocks: u32,
        pub n: [u32; 3],
        pub blocks: [u32; 3],
        pub coarse_n: [u32; 3],
        pub lo: [u32; 3],
        pub hi: [u32; 3],
        pub rank: u32,
        pub only_redo: u32,
        pub unused: u32,
    }
    pub struct GlobalArguments {
        pub fine: u64,
        pub coarse: u64,
        pub result: u64,
        pub details: u64,
        pub symbols: u64,
        pub wide: u64,
        pub step: u64,
        pub state: u64,
        pub n: [u32; 3],
        pub coarse_n: [u32; 3],
        pub sampled_n: [u32; 3],
        pub unused: u32,
    }
    pub struct TwoLevelsArguments {
        pub finest: LocalArguments,
        pub behind: GlobalArguments,
    }
    pub struct AxisArguments {
        pub from: u64,
        pub to: u64,
        pub rows: u64,
        pub outer: u32,
        pub n: u32,
        pub inner: u32,
        pub m: u32,
    }
    pub struct JoinArguments {
        pub coarse: u64,
        pub correction: u64,
        pub result: u64,
        pub count: u32,
        pub subtract: u32,
    }
    pub struct MissedArguments {
        pub fine: u64,
        pub rebuilt: u64,
        pub tiers: u64,
        pub steps: u64,
        pub missed: FoundList,
        pub n: [u32; 3],
        pub blocks: [u32; 3],
        pub side: [u32; 3],
        pub chunks: [u32; 3],
    }
    pub struct ScatterArguments {
        pub result: u64,
        pub places: u64,
        pub values: u64,
        pub count: u32,
        pub unused: u32,
    }
    pub struct BoxArguments {
        pub values: u64,
        pub result: u64,
        pub from_n: [u32; 3],
        pub skip: [u32; 3],
        pub count: [u32; 3],
        pub at: [u32; 3],
        pub to_n: [u32; 3],
        pub unused: u32,
    }
    pub struct Segment {
        pub symbol: u64,
        pub count: u32,
        pub part: u32,
    }
    pub struct HuffmanPart {
        pub segment: u32,
        pub segment_end: u32,
        pub unit: u32,
        pub book: u32,
        pub chunk: u32,
        pub bytes: u32,
        pub nonzero: u32,
        pub error: u32,
        pub offset: u64,
    }
    pub struct HuffmanArguments {
        pub symbols: u64,
        pub wide: u64,
        pub segments: u64,
        pub parts: u64,
        pub histograms: u64,
        pub counts: u64,
        pub lengths: u64,
        pub codes: u64,
        pub table: u64,
        pub single: u64,
        pub bytes: u64,
        pub offsets: u64,
        pub tasks: u64,
        pub data: u64,
        pub total: u64,
        pub capacity: u64,
        pub segment_count: u32,
        pub part_count: u32,
        pub book_count: u32,
        pub task_count: u32,
    }
}
