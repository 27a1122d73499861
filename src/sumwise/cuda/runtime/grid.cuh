// Loops over all threads of a launch, and sums over the threads of a warp.
#pragma once
#include "runtime/types.cuh"

constexpr unsigned int ALL_LANES = 0xffffffffu;

// for (int64 i = first_item(); i < n; i += item_step()): every item once, neighbors side by side.
__device__ inline int64 first_item() { return (int64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline int64 item_step() { return (int64)gridDim.x * blockDim.x; }

// All lanes of a warp must call these; the first one gets the result.
__device__ inline uint64 add_lanes(uint64 value) {
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_down_sync(ALL_LANES, value, distance);
    return value;
}

__device__ inline uint64 highest_lane(uint64 value) {
    for (int distance = 16; distance > 0; distance /= 2) {
        const uint64 other = __shfl_down_sync(ALL_LANES, value, distance);
        value = other > value ? other : value;
    }
    return value;
}

__device__ inline uint64 lowest_lane(uint64 value) {
    for (int distance = 16; distance > 0; distance /= 2) {
        const uint64 other = __shfl_down_sync(ALL_LANES, value, distance);
        value = other < value ? other : value;
    }
    return value;
}

__device__ inline bool is_first_lane() { return (threadIdx.x & 31) == 0; }
