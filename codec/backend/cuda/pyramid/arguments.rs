//! What the kernels of the pyramid and of the class coder take, laid out as in `kernels/pyramid.cuh` and `kernels/class.cuh`.
//! Pointers are device addresses.

use bytemuck::{Pod, Zeroable};
use cudarc::driver::DeviceRepr;

/// Declares a plain struct that is copied to the device as it is.
macro_rules! device_struct {
    ($($(#[$doc:meta])* pub struct $name:ident$(<$t:ident>)? { $(pub $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            #[repr(C)]
            pub struct $name$(<$t>)? { $(pub $field: $type,)* }
            // SAFETY: repr(C), plain numbers, ordered so that there is no padding.
            unsafe impl$(<$t: Pod>)? Zeroable for $name$(<$t>)? {}
            // SAFETY: as above.
            unsafe impl$(<$t: Pod>)? Pod for $name$(<$t>)? {}
            // SAFETY: as above.
            unsafe impl$(<$t: Pod>)? DeviceRepr for $name$(<$t>)? {}
        )*
    };
}

device_struct! {
    pub struct Tile {
        pub at: [u32; 3],
        pub shape: u32,
        pub start: u64,
        pub chunk: u32,
        pub units_before: u32,
    }
    pub struct StepAxis {
        pub old_first: u32,
        pub old_count: u32,
        pub old_magic: u32,
        pub new_first: u32,
        pub new_count: u32,
        pub new_magic: u32,
        pub stencils: u32,
        pub segments: u32,
    }
    pub struct TileShape {
        pub dims: [u32; 3],
        pub steps: u32,
        pub nodes: u32,
        pub first_step: u32,
        pub order: u32,
        pub coded_at: u32,
        pub offsets: [u32; 3],
        pub ends: [u32; 3],
        pub places: u32,
        pub regular: u32,
    }
    pub struct Quantizer<T> {
        pub step: T,
        pub inverse: T,
        pub check: T,
    }
    pub struct TileArguments {
        pub values: u64,
        pub result: u64,
        pub corners: u64,
        pub tiers: u64,
        pub quantizers: u64,
        pub tiles: u64,
        pub shapes: u64,
        pub steps: u64,
        pub nodes: u64,
        pub stencils: [u64; 3],
        pub order: u64,
        pub coded_at: u64,
        pub offsets: u64,
        pub choices: u64,
        pub q: u64,
        pub delta: u64,
        pub spill: u64,
        pub n: [u32; 3],
        pub corner_n: [u32; 3],
        pub blocks: [u32; 3],
        pub lo: [u32; 3],
        pub hi: [u32; 3],
        pub shift: u32,
        pub side: u32,
        pub tile_count: u32,
        pub tier_count: u32,
        pub tile_bytes: u32,
        pub is_corners: u32,
        pub unused: u32,
    }
    pub struct DeviceProbe<T> {
        pub weight: [[T; 6]; 3],
        pub gain: [T; 3],
        pub offset: [i32; 6],
        pub at: u32,
        pub second: [u32; 2],
        pub unused: u32,
    }
    pub struct ChooseArguments {
        pub values: u64,
        pub tiers: u64,
        pub quantizers: u64,
        pub probes: u64,
        pub choices: u64,
        pub first: [[u32; 2]; 3],
        pub count: [[u32; 2]; 3],
        pub n: [u32; 3],
        pub blocks: [u32; 3],
        pub chunks: [u32; 3],
        pub side: u32,
        pub active: [u32; 2],
        pub candidates: [u32; 3],
        pub candidate_count: u32,
        pub unused: [u32; 2],
    }
    pub struct CornerArguments {
        pub values: u64,
        pub tiers: u64,
        pub corners: u64,
        pub corner_tiers: u64,
        pub n: [u32; 3],
        pub corner_n: [u32; 3],
        pub blocks: [u32; 3],
        pub shift: u32,
        pub side: u32,
        pub unused: u32,
    }
    pub struct LastArguments {
        pub values: u64,
        pub tiers: u64,
        pub quantizers: u64,
        pub q: u64,
        pub delta: u64,
        pub count: u32,
        pub shift: u32,
    }
    pub struct Unit {
        pub start: u32,
        pub len: u32,
        pub slot: u32,
        pub parent: u32,
        pub step_begin: u32,
        pub step_end: u32,
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
        pub frequencies: u64,
        pub tokens: u64,
        pub slots: u64,
        pub first: u64,
        pub costs: u64,
        pub classes: u64,
        pub groups: u64,
        pub class_count: u32,
        pub symbol_tables: u32,
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
        pub words: u64,
        pub escapes: u64,
        pub states: u64,
        pub output: u64,
        pub totals: u64,
        pub capacity: u64,
        pub choices: u64,
        pub tile_count: u32,
        pub chunk_count: u32,
        pub slots: u32,
        pub bits: u32,
        pub units_in_tile: u32,
        pub bits_per_lane: u32,
        pub nodes_per_lane: u32,
        pub least_bits_per_lane: u32,
        pub tables_by_slots: u32,
        pub unused: u32,
    }
}
