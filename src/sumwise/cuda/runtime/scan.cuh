// Running sums over the threads of a block.
#pragma once
#include "runtime/grid.cuh"

struct ScanMemory {
    int64 by_warp[MOST_WARPS];
};

struct Scanned {
    int64 before;  // sum of the threads before
    int64 total;
};

// All threads take part.
__device__ inline Scanned scan_block(int64 value, ScanMemory& shared) {
    const int32 lane = own_lane(), warp = own_warp(), n_warps = blockDim.x / 32;
    int64 up_to = value;
    for (int32 distance = 1; distance < 32; distance *= 2) {
        const int64 before = __shfl_up_sync(ALL_LANES, up_to, distance);
        if (lane >= distance) up_to += before;
    }
    __syncthreads();  // the memory may still be in use
    if (lane == 31) shared.by_warp[warp] = up_to;
    __syncthreads();
    int64 before = 0, total = 0;
    for (int32 other = 0; other < n_warps; other++) {
        if (other == warp) before = total;
        total += shared.by_warp[other];
    }
    return {before + up_to - value, total};
}
