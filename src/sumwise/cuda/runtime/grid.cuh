// Who a thread is in its launch and in its warp, and what the lanes of a warp find together.
#pragma once
#include "runtime/types.cuh"

// The dynamic shared memory of a block.
extern __shared__ uint64 shared_memory[];

constexpr uint32 ALL_LANES = 0xffffffff;
constexpr int32 MOST_WARPS = 32;  // of a block

// for (int64 i = first_item(); i < n; i += item_step()): every item once, neighbors side by side.
__device__ inline int64 first_item() { return (int64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline int64 item_step() { return (int64)gridDim.x * blockDim.x; }

__device__ inline int32 own_lane() { return threadIdx.x & 31; }
__device__ inline int32 own_warp() { return threadIdx.x >> 5; }
__device__ inline bool is_first_lane() { return own_lane() == 0; }

// How many of the lanes before this one are marked.
__device__ inline int32 count_lanes_before(uint32 marks) {
    return __popc(marks & ((1u << own_lane()) - 1u));
}

// All lanes of a warp must call this, and get the sum.
template <class Number>
__device__ inline Number add_lanes(Number value) {
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_xor_sync(ALL_LANES, value, distance);
    return value;
}

// All lanes of a warp must call these; the first one gets the result.

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
