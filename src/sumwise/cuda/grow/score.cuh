// The best split of every feature for the children of the families.
#pragma once
#include "grow/bins.cuh"
#include "grow/columns.cuh"

// Which bins of a lane have rows of a child: random splits lie between them.
struct Spans {
    int32 lowest[2][MOST_GROUP], highest[2][MOST_GROUP];
};

__device__ inline void find_spans(
    const Sums (&sums)[2], const BinPlace& own, int64 n_value_bins, Spans& shared) {
    if (threadIdx.x < 2 * own.group) {
        shared.lowest[threadIdx.x / own.group][own.in_group] = 0x7FFFFFFF;
        shared.highest[threadIdx.x / own.group][own.in_group] = 0;
    }
    __syncthreads();
#pragma unroll
    for (int child = 0; child < 2; child++) {
        if (own.bin >= 1 && own.bin <= n_value_bins && sums[child].n > 0) {
            atomicMin(&shared.lowest[child][own.in_group], (int32)own.bin);
            atomicMax(&shared.highest[child][own.in_group], (int32)own.bin);
        }
    }
    __syncthreads();
}

// The best split of each of the block's lanes for all families, or for some of them.
__device__ inline void score_families(const Job& job, int64 group) {
    __shared__ WarpSums warp_sums;
    __shared__ WarpFinds warp_finds;
    __shared__ Spans spans;
    __shared__ Sums missing[2][MOST_GROUP];
    const int64 n_families = job.state->n_families;
    const double unit_g = job.state->unit_g, unit_h = job.state->unit_h;
    const uint64 key = job.request->key;
    const BinPlace own = find_bin(job, group);
    const int64 f = job.lane_feature[own.lane], n_value_bins = f < 0 ? 0 : job.n_value_bins[f];
    for (int64 k = blockIdx.y; k < n_families; k += gridDim.y) {
        const Family family = job.families[k];
        Sums small, large;
        complete_bin(job, k, family, own, small, large);
        const bool left_is_small = family.small == family.left;
        const Sums sums[2] = {left_is_small ? small : large, left_is_small ? large : small};
        Sums prefix[2] = {sums[0], sums[1]};
        if (own.bin == 0) {
            missing[0][own.in_group] = sums[0];
            missing[1][own.in_group] = sums[1];
            prefix[0] = prefix[1] = {0, 0, 0};
        }
        prefix_bins(prefix, group, warp_sums);
        if (job.random_splits) find_spans(sums, own, n_value_bins, spans);
        Found found[2];
#pragma unroll
        for (int child = 0; child < 2; child++) {
            found[child] = find_nothing();
            if (f < 0 || own.bin < 1 || own.bin > n_value_bins) continue;
            if (!(family.splittable >> child & 1) || !is_allowed(job, 2 * k + child, f)) continue;
            const Sums none = missing[child][own.in_group];
            const bool both_ways = none.n > 0;
            bool is_candidate = both_ways || own.bin < n_value_bins;
            const int64 node = family.left + child;
            if (job.random_splits) {
                const int64 lowest = spans.lowest[child][own.in_group];
                const int64 highest = spans.highest[child][own.in_group];
                is_candidate = own.bin ==
                    draw_bin(key, node, f, lowest, highest, both_ways, n_value_bins);
            }
            if (!is_candidate) continue;
            const Limits limits = find_limits(job, unit_g, unit_h, node, f);
            const Sums totals = load_sums(family.totals[child]);
            const bool is_last = own.bin == n_value_bins;
            const double parent = node_score(limits, totals);
            Gains gains = score_bin(limits, parent, prefix[child], none, totals, is_last);
            if (job.random_splits) {
                gains.right = add_gain(gains.right, -infinity());
                gains.left = add_gain(gains.left, -infinity());
            }
            const int32 index = 2 * (int32)own.bin;
            found[child] = better_of(found[child], Found{order_of(gains.right), index});
            if (both_ways)
                found[child] = better_of(found[child], Found{order_of(gains.left), index + 1});
        }
        choose_bins(found, group, warp_finds);
#pragma unroll
        for (int child = 0; child < 2; child++) {
            Candidate* row = job.candidates + (2 * k + child) * job.n_tiles * LANES;
            const Sums none = missing[child][own.in_group];
            note_candidate(found[child], f, own.bin, prefix[child], none, row + own.lane);
        }
        __syncthreads();  // the next family uses the same memory
    }
}
