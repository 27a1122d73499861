// How blocks divide rows, and how the threads of a block add up what they have found.
#pragma once
#include "layout.cuh"
#include "runtime/grid.cuh"

struct Span {
    int64 begin;
    int64 end;
};

// How many of some blocks work on a sequence, if each is to get `least` items.
__device__ inline int64 count_sharers(int64 total, int64 least, int64 n_blocks) {
    const int64 most = (total + least - 1) / least;
    return n_blocks < most ? n_blocks : most;
}

// The part of a sequence that one of them gets; some may have none.
__device__ inline Span share_sequence(int64 total, int64 least, int64 block, int64 n_blocks) {
    n_blocks = count_sharers(total, least, n_blocks);
    if (block >= n_blocks) return {0, 0};
    return {block * total / n_blocks, (block + 1) * total / n_blocks};
}

// The last of n places whose first item is not behind `at`: an item's place, if first[n] > at.
__device__ inline int64 find_place(const int64* first, int64 n, int64 at) {
    int64 low = 0, high = n;
    while (high - low > 1) {
        const int64 middle = (low + high) / 2;
        if (first[middle] <= at) low = middle; else high = middle;
    }
    return low;
}

// The records of nodes of a depth.
__device__ inline uint64* node_records(const Job& job, int64 depth) {
    return job.records + (depth & 1) * job.records_length;
}

// Where the histogram of family k is built.
__device__ inline int64* built_histogram(const Job& job, int64 k) {
    if (job.n_peers > 1) return job.exchange + job.exchange_built + k * job.histogram_length;
    return job.histograms + job.families[k].small_slot * job.histogram_length;
}

__device__ inline uint32 request_row(const Request& request, int64 i) {
    return request.rows ? request.rows[i] : (uint32)(request.first_row + i);
}

__device__ inline void add_to(int64* target, int64 value) {
    atomicAdd((uint64*)target, (uint64)value);
}

struct Add {
    static __device__ int64 join(int64 a, int64 b) { return a + b; }
};
struct Larger {
    static __device__ int64 join(int64 a, int64 b) { return b > a ? b : a; }
};

// Join N values of all threads of the block; the first thread has the results. Of 0 and any value,
// the value must be the result.
template <class Operation, int N>
__device__ inline void join_in_block(int64 (&values)[N]) {
    __shared__ int64 joined[N][MOST_WARPS];
    const int32 warp = own_warp(), n_warps = blockDim.x / 32;
#pragma unroll
    for (int32 s = 0; s < N; ++s) {
        for (int32 by = 16; by > 0; by /= 2)
            values[s] = Operation::join(values[s], __shfl_xor_sync(ALL_LANES, values[s], by));
        if (is_first_lane()) joined[s][warp] = values[s];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
#pragma unroll
        for (int32 s = 0; s < N; ++s)
            for (int32 other = 1; other < n_warps; ++other)
                values[s] = Operation::join(values[s], joined[s][other]);
    }
}
