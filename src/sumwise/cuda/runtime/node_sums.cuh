// Exact 64-bit sums by node in shared memory, which the hardware adds to by 32-bit words: a sum is
// two of them, and the carry of the lower one goes to the upper one.
#pragma once
#include "runtime/grid.cuh"

__device__ inline void add_wide(uint32* low, uint32* high, uint64 value) {
    const uint32 own = (uint32)value, old = atomicAdd(low, own);
    atomicAdd(high, (uint32)(value >> 32) + (old + own < own));
}

// `[node][word][copy]`: a power of two of copies, so that lanes rarely meet.
template <uint32 N_WORDS>
struct NodeSums {
    uint32* words;
    uint32 n_copies;

    // All threads; a barrier must follow.
    __device__ void clear(int64 n_nodes) const {
        const int64 n_words = n_nodes * N_WORDS * n_copies;
        for (int64 i = threadIdx.x; i < n_words; i += blockDim.x) words[i] = 0;
    }

    // The first word of a node that this thread adds to; words are n_copies apart.
    __device__ uint32* find(uint32 node) const {
        return words + node * N_WORDS * n_copies + (threadIdx.x & (n_copies - 1));
    }

    __device__ void add(uint32* low, uint64 value) const { add_wide(low, low + n_copies, value); }

    __device__ uint64 sum_word(uint32 node, uint32 word) const {
        const uint32* own = words + (node * N_WORDS + word) * n_copies;
        uint64 sum = 0;
        for (uint32 copy = 0; copy < n_copies; ++copy)
            sum += own[(copy + threadIdx.x) & (n_copies - 1)];
        return sum;
    }

    __device__ uint64 sum(uint32 node, uint32 low) const {
        return sum_word(node, low) + (sum_word(node, low + 1) << 32);
    }
};
