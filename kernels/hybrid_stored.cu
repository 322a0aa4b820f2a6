// Details that are stored exactly: which they are, and their values.
#include "hybrid.cuh"

// Lists the details of the finest level that are stored exactly: their values are in the chunks.
extern "C" __global__ void __launch_bounds__(256) hybrid_list_stored(const LocalArguments a) {
    for (u32 c = blockIdx.x; c < a.cell_count; c += gridDim.x) {
        const Cell cell = a.cells[c];
        const u32 details = a.rank == 3 ? 387 : a.rank == 2 ? 39 : 3;
        const u32 count = cell.shape[0] * cell.shape[1] * cell.shape[2] * details;
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            if (a.symbols.narrow[cell.symbol + i] != EXACT || a.symbols.get_wide(cell.symbol + i) != STORED) continue;
            const u32 at = atomicAdd(a.stored.count, 1u);
            if (at < a.stored.capacity) a.stored.keys[at] = (u64)c << 32 | i;
        }
    }
}
template <class T> __device__ __forceinline__ void scatter_add(const ScatterArguments &a) {
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += gridDim.x * blockDim.x) {
        T *to = (T *)a.result + a.places[i];
        *to = Real<T>::add(*to, ((const T *)a.values)[i]);
    }
}
extern "C" __global__ void hybrid_scatter_add_f32(const ScatterArguments a) { scatter_add<float>(a); }
extern "C" __global__ void hybrid_scatter_add_f64(const ScatterArguments a) { scatter_add<double>(a); }
