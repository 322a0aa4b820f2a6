//! What the pyramid's kernels take but for those of the class coder, laid out as in `kernels/pyramid.cuh`, `kernels/planes.cuh`,
//! `kernels/groups_streams.cuh` and `kernels/bands_memory.cuh`. Pointers are device addresses.

use super::super::device_struct::device_struct;

device_struct! {
    pub struct Tile {
        pub at: [u32; 3],
        pub shape: u32,
        pub start: u64,
        pub chunk: u32,
        pub units_before: u32,
    }
    pub struct Node {
        pub place: u16,
        pub coded: u16,
        pub tier: u16,
        pub axes: u16,
        pub stencil: [u16; 3],
        pub unused: u16,
    }
    pub struct Line {
        pub first: [u16; 4],
        pub place: u16,
        pub tile: u8,
        pub tier: u8,
        pub distance: u8,
        pub across: [u8; 2],
        pub second: u8,
    }
    pub struct Step {
        pub first: u32,
        pub count: u32,
        pub stencils: u32,
    }
    pub struct TileShape {
        pub dims: [u32; 3],
        pub steps: u32,
        pub nodes: u32,
        pub first_step: u32,
        pub first_stencil: u32,
        pub coded_at: u32,
        pub offsets: [u32; 3],
        pub by_place: u32,
        pub ends: [u32; 3],
        pub places: u32,
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
        pub list: u64,
        pub coarse: u64,
        pub shapes: u64,
        pub steps: u64,
        pub nodes: u64,
        pub stencils: [u64; 3],
        pub coded_at: u64,
        pub offsets: u64,
        pub lines: u64,
        pub columns: u64,
        pub choices: u64,
        pub q: u64,
        pub delta: u64,
        pub spill: u64,
        pub device_count: u64,
        pub n: [u32; 3],
        pub corner_n: [u32; 3],
        pub blocks: [u32; 3],
        pub lo: [u32; 3],
        pub hi: [u32; 3],
        pub shift: u32,
        pub side: u32,
        pub list_count: u32,
        pub tier_count: u32,
        pub tile_bytes: u32,
        pub is_corners: u32,
        pub whole_shape: u32,
        pub coarse_shape: u32,
        pub slabs: u32,
        pub coarse_row: u32,
    }
    pub struct AxisWeights<T> {
        pub step0: [[T; 4]; 3],
        pub step1: [[T; 3]; 2],
        pub step2: [T; 2],
    }
    pub struct Quad {
        pub tiles: u32,
        pub at: [u32; 3],
    }
    pub struct WholeArguments<T> {
        pub values: u64,
        pub result: u64,
        pub corners: u64,
        pub tiers: u64,
        pub quantizers: u64,
        pub list: u64,
        pub list_count: u32,
        pub tier_count: u32,
        pub n: [u32; 3],
        pub corner_n: [u32; 3],
        pub blocks: [u32; 3],
        pub lo: [u32; 3],
        pub hi: [u32; 3],
        pub stage: u32,
        pub rounds: u32,
        pub long_blocks: u32,
        pub weights: AxisWeights<T>,
        pub planes: PlanesArguments,
    }
    pub struct BorderShape<T> {
        pub dims: [u32; 3],
        pub unused: u32,
        pub weights: [[[T; 4]; 6]; 3],
    }
    pub struct BorderEntry {
        pub tiles: [u32; 4],
    }
    pub struct BorderArguments {
        pub values: u64,
        pub result: u64,
        pub corners: u64,
        pub tiers: u64,
        pub quantizers: u64,
        pub list: u64,
        pub shapes: u64,
        pub list_count: u32,
        pub tier_count: u32,
        pub n: [u32; 3],
        pub corner_n: [u32; 3],
        pub blocks: [u32; 3],
        pub lo: [u32; 3],
        pub hi: [u32; 3],
        pub unused: u32,
        pub planes: PlanesArguments,
    }
    pub struct CornerLevel {
        pub values: u64,
        pub result: u64,
        pub corners: u64,
        pub list: u64,
        pub borders: u64,
        pub end: u32,
        pub border_count: u32,
        pub n: [u32; 3],
        pub corner_n: [u32; 3],
        pub stage: u32,
        pub unused: u32,
    }
    pub struct CornerChain {
        pub last: u64,
        pub frame: u64,
        pub fresh: u64,
        pub counts: u64,
        pub n: [u32; 3],
        pub chunk_words: u32,
        pub corner_words: u32,
        pub count_words: u32,
        pub choice: u32,
        pub last_tile: u32,
        pub is_whole: u32,
        pub unused: u32,
    }
    pub struct CornerTilesArguments<T> {
        pub quantizers: u64,
        pub turns: u64,
        pub loaded: u64,
        pub done: u64,
        pub rebuilt: u64,
        pub shapes: u64,
        pub level_count: u32,
        pub unused: u32,
        pub chain: CornerChain,
        pub planes: PlanesArguments,
        pub levels: [CornerLevel; 8],
        pub weights: [AxisWeights<T>; 8],
    }
    pub struct PlanesArguments {
        pub tiles: u64,
        pub chunks: u64,
        pub shape_nodes: u64,
        pub q: u64,
        pub delta: u64,
        pub widths: u64,
        pub slots: u64,
        pub sources: u64,
        pub records: u64,
        pub exact_at: u64,
        pub list: u64,
        pub slow: u64,
        pub slow_count: u64,
        pub slow_first: u64,
        pub choices: u64,
        pub output: u64,
        pub totals: u64,
        pub capacity: u64,
        pub list_count: u32,
        pub stage_count: u32,
        pub chunk_count: u32,
        pub value_bytes: u32,
    }
    pub struct ShapeStream {
        pub first: u32,
        pub runs: u32,
        pub slot: u32,
        pub exact: u32,
    }
    pub struct RunLane {
        pub place: [u16; 8],
    }
    pub struct GroupShape {
        pub first_stream: [u32; 2],
        pub streams: [u32; 2],
    }
    pub struct GroupTile {
        pub first: [u32; 2],
        pub slot: u64,
    }
    pub struct GroupChunk {
        pub first: u32,
        pub streams: [u32; 2],
        pub unused: u32,
    }
    pub struct GroupsArguments {
        pub tiles: u64,
        pub chunks: u64,
        pub group_tiles: u64,
        pub group_chunks: u64,
        pub shapes: u64,
        pub shape_streams: u64,
        pub runs: u64,
        pub q: u64,
        pub delta: u64,
        pub slots: u64,
        pub exact: u64,
        pub lengths: u64,
        pub exact_counts: u64,
        pub places: u64,
        pub exact_places: u64,
        pub list: u64,
        pub banded: u64,
        pub left_out: u64,
        pub left_out_count: u64,
        pub choices: u64,
        pub output: u64,
        pub totals: u64,
        pub capacity: u64,
        pub list_count: u32,
        pub banded_count: u32,
        pub tile_streams: u32,
        pub chunk_count: u32,
        pub value_bytes: u32,
        pub banded_shape: u32,
    }
    pub struct BandTile {
        pub number: u32,
        pub at: [u32; 3],
    }
    pub struct BandArguments {
        pub values: u64,
        pub result: u64,
        pub coarse: u64,
        pub tiers: u64,
        pub quantizers: u64,
        pub list: u64,
        pub weights: u64,
        pub list_count: u32,
        pub tier_count: u32,
        pub n: [u32; 3],
        pub blocks: [u32; 3],
        pub lo: [u32; 3],
        pub hi: [u32; 3],
        pub part: u32,
        pub unused: u32,
        pub groups: GroupsArguments,
    }
    pub struct AssembleArguments {
        pub groups: GroupsArguments,
        pub first: u32,
        pub shares: u32,
    }
    pub struct CoarsePackArguments {
        pub tiles: TileArguments,
        pub groups: GroupsArguments,
        pub part: u32,
        pub unused: u32,
    }
    pub struct DeviceProbe<T> {
        pub weight: [[T; 6]; 3],
        pub gain: [T; 3],
        pub offset: [i32; 6],
        pub at: u32,
        pub alone: u32,
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
        pub tier_count: u32,
        pub unused: u32,
    }
    pub struct CornerArray {
        pub n: [u32; 3],
        pub pieces_end: u32,
        pub values: u64,
        pub tiers: u64,
    }
    pub struct CornersArguments {
        pub tiers: u64,
        pub values: u64,
        pub n: [u32; 3],
        pub blocks: [u32; 3],
        pub from: u32,
        pub array_count: u32,
        pub side: u32,
        pub with_last: u32,
        pub quantizers: u64,
        pub q: u64,
        pub delta: u64,
        pub arrays: [CornerArray; 16],
    }
    pub struct ResetArguments {
        pub fresh: u64,
        pub chunks: u64,
        pub choices: u64,
        pub counts: u64,
        pub chunk_words: u32,
        pub chunk_count: u32,
        pub choice: u32,
        pub count_words: u32,
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
}
