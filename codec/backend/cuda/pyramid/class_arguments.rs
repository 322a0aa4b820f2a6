//! What the class coder's kernels take, and the chunks of all coders, laid out as in `kernels/class.cuh`. Pointers are device addresses.

use super::super::device_struct::device_struct;

device_struct! {
    pub struct Unit {
        pub start: u32,
        pub len: u32,
        pub slot: u32,
        pub parent: u32,
        pub step_begin: u32,
        pub step_end: u32,
    }
    pub struct UnitRecord {
        pub eighth: u32,
        pub sizes: u32,
        pub form: u32,
        pub round: u32,
    }
    pub struct Stream {
        pub chunk: u32,
        pub index: u32,
        pub words: u32,
        pub escapes: u32,
        pub exact: u32,
        pub raw: u32,
        pub first_word: u64,
        pub first_escape: u64,
    }
    pub struct Chunk {
        pub tile: u32,
        pub tile_end: u32,
        pub nodes: u32,
        pub stream: u32,
        pub cost: u64,
        pub offset: u64,
        pub bytes: u32,
        pub code: u32,
        pub flags: u32,
        pub error: u32,
        pub coded: u32,
        pub unused: u32,
    }
    pub struct CoderTables {
        pub encode: u64,
        pub entries: u64,
        pub tokens: u64,
        pub slots: u64,
        pub ranks: u64,
        pub class_starts: u64,
        pub class_tokens: u64,
        pub first: u64,
        pub costs: u64,
        pub classes: u64,
        pub groups: u64,
        pub class_count: u32,
        pub symbol_tables: u32,
        pub entry_count: u32,
        pub unused: u32,
    }
    pub struct CoderArguments {
        pub tables: CoderTables,
        pub tiles: u64,
        pub units: u64,
        pub unit_first: u64,
        pub chunks: u64,
        pub streams: u64,
        pub q: u64,
        pub delta: u64,
        pub forms: u64,
        pub counts: u64,
        pub records: u64,
        pub words: u64,
        pub escapes: u64,
        pub states: u64,
        pub output: u64,
        pub totals: u64,
        pub capacity: u64,
        pub choices: u64,
        pub order: u64,
        pub tile_count: u32,
        pub chunk_count: u32,
        pub slots: u32,
        pub bits: u32,
        pub units_in_tile: u32,
        pub bits_per_lane: u32,
        pub nodes_per_lane: [u32; 2],
        pub least_bits_per_lane: [u32; 2],
        pub tables_by_slots: u32,
        pub warps_of_tile: u32,
    }
}
