// The best split of every feature for the children of the families; see kernels/grow/split.py.
#pragma once
#include "grow/bins.cuh"
#include "grow/columns.cuh"

// Which bins of a lane have rows of a child: random splits lie between them.
struct Spans {
    int32 lowest[MOST_GROUP], highest[MOST_GROUP];
};

__device__ inline void find_spans(
    const Sums& sums, const BinPlace& own, int64 n_value_bins, Spans& shared) {
    if (threadIdx.x < own.group) {
        shared.lowest[threadIdx.x] = 0x7FFFFFFF;
        shared.highest[threadIdx.x] = 0;
    }
    __syncthreads();
    if (own.bin >= 1 && own.bin <= n_value_bins && sums.n > 0) {
        atomicMin(&shared.lowest[own.in_group], (int32)own.bin);
        atomicMax(&shared.highest[own.in_group], (int32)own.bin);
    }
    __syncthreads();
}

// What the threads of a block share.
struct ScoreMemory {
    WarpSums warp_sums;
    WarpFinds warp_finds;
    Spans spans;
    Sums missing[MOST_GROUP];
};

// The best split of each of the block's lanes for a child of family k, which may be split.
__device__ inline void score_child(
    const Job& job, double unit_g, double unit_h, const BinPlace& own, int64 f, int64 n_value_bins,
    int64 k, int64 child, ScoreMemory& shared) {
    const Family family = job.families[k];
    const Sums totals = load_sums(job.families[k].totals[child]);
    const int64 node = family.left + child;
    bool is_candidate = f >= 0 && own.bin >= 1 && own.bin <= n_value_bins;
    if (is_candidate) is_candidate = is_allowed(job, 2 * k + child, f);
    const Sums sums = complete_child(job, k, family, own, child);
    // This does not depend on the sums, so it need not wait for them.
    const Limits limits = find_limits(job, unit_g, unit_h, node, f);
    const double parent = node_score(limits, totals);
    Sums prefix[1] = {sums};
    if (own.bin == 0) {
        shared.missing[own.in_group] = sums;
        prefix[0] = {0, 0, 0};
    }
    prefix_bins(prefix, own.group, shared.warp_sums);
    const Sums missing = shared.missing[own.in_group];
    const bool both_ways = missing.n > 0;
    int64 last = both_ways ? n_value_bins : n_value_bins - 1;
    if (job.random_splits) {
        find_spans(sums, own, n_value_bins, shared.spans);
        const int64 lowest = shared.spans.lowest[own.in_group];
        const int64 highest = shared.spans.highest[own.in_group];
        last = draw_bin(job.request->key, node, f, lowest, highest, both_ways, n_value_bins);
        is_candidate = is_candidate && own.bin == last;
    }
    Found found[1] = {find_nothing()};
    if (is_candidate && own.bin <= last) {
        const bool is_last = own.bin == n_value_bins;
        Gains gains = score_bin(limits, parent, prefix[0], missing, totals, is_last);
        if (job.random_splits) {
            gains.right = add_gain(gains.right, -infinity());
            gains.left = add_gain(gains.left, -infinity());
        }
        const int32 index = 2 * (int32)own.bin;
        found[0] = better_of(found[0], Found{order_of(gains.right), index});
        if (both_ways)
            found[0] = better_of(found[0], Found{order_of(gains.left), index + 1});
    }
    choose_bins(found, own.group, shared.warp_finds);
    Candidate* row = job.candidates + (2 * k + child) * job.n_tiles * LANES;
    note_candidate(found[0], f, own.bin, prefix[0], missing, row + own.lane);
}

// The best split of each of the block's lanes for all children, or for some of them. What is not
// splittable needs no histogram either.
__device__ inline void score_children(const Job& job, int64 group) {
    __shared__ ScoreMemory shared;
    const int64 n_children = 2 * job.state->n_families;
    const double unit_g = job.state->unit_g, unit_h = job.state->unit_h;
    const BinPlace own = find_bin(job, group);
    const int64 f = job.lane_feature[own.lane], n_value_bins = f < 0 ? 0 : job.n_value_bins[f];
    for (int64 number = blockIdx.y; number < n_children; number += gridDim.y) {
        const int64 k = number / 2, child = number % 2;
        if (!(job.families[k].splittable >> child & 1)) continue;
        score_child(job, unit_g, unit_h, own, f, n_value_bins, k, child, shared);
        __syncthreads();  // the next child uses the same memory
    }
}
