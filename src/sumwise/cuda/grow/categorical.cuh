// Splits by sets of categories: what becomes of the chosen ones; see
// kernels/grow/storage/categorical.py.
#pragma once
#include "grow/dividing.cuh"
#include "grow/gain.cuh"

// The best set of a feature for a child.
__device__ inline uint32* candidate_set(const Job& job, int64 child, int64 f) {
    return job.candidate_sets + (child * job.n_categorical + job.category_place[f]) * SET_WORDS;
}

__device__ inline bool is_member(const uint32* set, int64 bin) {
    return set[bin / 32] >> (bin % 32) & 1;
}

// Give a node the best set of a feature for a child.
__device__ inline void keep_set(
    const Job& job, int64 node, int64 child, int64 f, bool missing_left) {
    const uint32* best = candidate_set(job, child, f);
    uint32* own = job.node_sets + node * SET_WORDS;
    for (int64 word = 0; word < SET_WORDS; word++) own[word] = best[word];
    if (missing_left) own[0] |= 1;
}

// Sets of more than one bin have a larger penalty.
__device__ inline Limits with_set_l2(const Job& job, int64 f, Limits limits) {
    limits.l2 += job.one_hot[job.category_place[f]] ? 0.0 : job.set_l2;
    return limits;
}
