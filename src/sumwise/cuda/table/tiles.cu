// Columns of bins into tiles of 32 lanes, see kernels/table/tiles.py.
#include "layout.cuh"
#include "runtime/grid.cuh"

// Write rows [0, n_rows) of all tiles from the columns of their lanes; a lane without a feature
// (-1) gets zeros. A thread writes one row of one tile: the loads of a warp are contiguous.
extern "C" __global__ void fill_tiles(const uint8* columns, int64 n_rows, const int32* lane_feature,
                                      int64 n_tiles, uint8* tiles) {
    __shared__ int32 features[LANES];
    for (int64 tile = blockIdx.y; tile < n_tiles; tile += gridDim.y) {
        __syncthreads();
        for (int64 lane = threadIdx.x; lane < LANES; lane += blockDim.x)
            features[lane] = lane_feature[tile * LANES + lane];
        __syncthreads();
        uint64* out = (uint64*)(tiles + tile * n_rows * LANES);
        for (int64 row = first_item(); row < n_rows; row += item_step()) {
            uint64 words[LANES / 8];
#pragma unroll
            for (int word = 0; word < LANES / 8; ++word) {
                words[word] = 0;
#pragma unroll
                for (int byte = 0; byte < 8; ++byte) {
                    int64 feature = features[8 * word + byte];
                    uint64 bin = feature >= 0 ? columns[feature * n_rows + row] : 0;
                    words[word] |= bin << (8 * byte);
                }
            }
#pragma unroll
            for (int word = 0; word < LANES / 8; ++word)
                out[row * (LANES / 8) + word] = words[word];
        }
    }
}

// Copy columns of some rows, which follow one another, to rows [first, first + n_part) of the
// table.
extern "C" __global__ void place_columns(const uint8* part, int64 n_part, int64 n_features,
                                         int64 first, uint8* columns, int64 n_rows) {
    for (int64 feature = blockIdx.y; feature < n_features; feature += gridDim.y) {
        const uint8* own = part + feature * n_part;
        uint8* out = columns + feature * n_rows + first;
        for (int64 i = first_item(); i < n_part; i += item_step())
            out[i] = own[i];
    }
}
