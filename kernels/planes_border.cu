// The planes coder: tiles at the border of the frame, between values and planes.
#include "planes_border.cuh"

// Warps of a block.
constexpr u32 BORDER_WARPS = 2;

template <class T> struct BorderArguments {
    // Encoding: the frame's values (in a slab: where they would start). C order.
    const T *values;
    // Decoding: the box lo..hi.
    T *result;
    // Reconstructed corner array.
    const T *corners;
    // Of the frame's blocks; not read where there is one tier.
    const u8 *tiers;
    // Of the level of quantization.
    const Quantizer<T> *quantizers;
    // Tiles of an entry have the same shape.
    const BorderEntry *list;
    const BorderShape<T> *shapes;
    u32 list_count, tier_count;
    u32 n[3], corner_n[3], blocks[3], lo[3], hi[3], unused;
    PlanesArguments planes;
};

// A warp an entry.
template <class T, bool ENCODE> __device__ __forceinline__ void border_tiles(const BorderArguments<T> &a) {
    typedef BorderTile<T, ENCODE, 4> Border;
    static_assert(Border::PLACES * sizeof(T) >= 4 * sizeof(u32) * TILE_WORDS, "planes wait where nodes will be");
    __shared__ __align__(16) T values[BORDER_WARPS][Border::PLACES];
    __shared__ __align__(16) char symbol_bytes[BORDER_WARPS][WARP_BYTES];
    __shared__ BorderShape<T> shapes[BORDER_WARPS];
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, number = blockIdx.x * BORDER_WARPS + warp;
    if (number >= a.list_count) return;
    const BorderEntry &entry = a.list[number];
    T *v = values[warp];
    char *symbols = symbol_bytes[warp];
    const u32 own = entry.number(Border::tile());
    const Tile &tile = a.planes.tiles[own];
    load_shape(shapes[warp], a.shapes[tile.shape]);
    bool exists = entry.tiles[Border::tile()] != NO_TILE;
    if (!ENCODE) {
        const TileRecord none = {0, 0, 0}, record = entry.exist() >> (lane % 4) & 1 ? a.planes.records[entry.number(lane % 4)] : none;
        // those with exact nodes are listed for other kernels
        exists = exists && !(a.planes.records[own].mask & NOT_ALL_QUANTIZED);
        const u32 *from = (const u32 *)a.planes.output + record.planes;
        u32 *planes = (u32 *)v + lane % 4 * TILE_WORDS;
        for (u32 i = lane / 4; i < record.words(); i += 8) copy_ahead<4>(planes + i, from + i);
        copies_arrived();
        __syncwarp();
        take_planes((const u32 *)v, record, symbols);
    }
    __syncwarp();
    const u64 block = ((u64)(tile.at[0] / SIDE) * a.blocks[1] + tile.at[1] / SIDE) * a.blocks[2] + tile.at[2] / SIDE;
    Border work(shapes[warp], a.quantizers[a.tier_count == 1 ? 0 : a.tiers[block]], exists, (typename Real<T>::Bits *)a.planes.delta + tile.start, v, symbols);
    if (ENCODE) {
        const T *from = a.values + ((u64)tile.at[0] * a.n[1] + tile.at[1]) * a.n[2] + tile.at[2];
        work.each([&](u32 place, u32 z, u32 y, u32 x) { copy_ahead<sizeof(T)>(work.v + place, from + ((u64)z * a.n[1] + y) * a.n[2] + x); });
        Border::fill_up(symbols);
    }
    u32 corner[3] = {tile.at[0], tile.at[1], tile.at[2]};
    const u32 place = work.corner(corner);
    T value = 0;
    if (place < Border::PLACES) value = a.corners[((u64)corner[0] * a.corner_n[1] + corner[1]) * a.corner_n[2] + corner[2]];
    copies_arrived();
    __syncwarp();
    if (place < Border::PLACES) work.v[place] = value;
    __syncwarp();
    work.run();
    if (ENCODE) {
        if (work.exact > 0) atomicAdd(&a.planes.chunks[tile.chunk].coded, work.exact);
        const Four tiles = four_of(a.planes, entry);
        store_planes(a.planes, tiles, tile.chunk, symbols, ~tiles.exist);
        return;
    }
    const u32 ny = a.hi[1] - a.lo[1], nx = a.hi[2] - a.lo[2];
    work.each([&](u32 place, u32 z, u32 y, u32 x) {
        const u32 at[3] = {tile.at[0] + z, tile.at[1] + y, tile.at[2] + x};
        if (at[0] < a.lo[0] || at[0] >= a.hi[0] || at[1] < a.lo[1] || at[1] >= a.hi[1] || at[2] < a.lo[2] || at[2] >= a.hi[2]) return;
        a.result[((u64)(at[0] - a.lo[0]) * ny + (at[1] - a.lo[1])) * nx + (at[2] - a.lo[2])] = work.v[place];
    });
}

extern "C" __global__ void __launch_bounds__(64, 8) encode_border_f32(const BorderArguments<float> a) { border_tiles<float, true>(a); }
extern "C" __global__ void __launch_bounds__(64, 4) encode_border_f64(const BorderArguments<double> a) { border_tiles<double, true>(a); }
extern "C" __global__ void __launch_bounds__(64, 8) decode_border_f32(const BorderArguments<float> a) { border_tiles<float, false>(a); }
extern "C" __global__ void __launch_bounds__(64, 4) decode_border_f64(const BorderArguments<double> a) { border_tiles<double, false>(a); }
