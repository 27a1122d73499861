// Which features a level and a node may split on: kernels/grow/feature_sampling.py, and the
// interaction constraints of kernels/grow/constraints.py. A warp works on one row of `allowed`.
#pragma once
#include "grow/dividing.cuh"
#include "runtime/elementary.cuh"
#include "runtime/random.cuh"

// Functions that are not inlined take the job by address: kernels mark it as __grid_constant__, so
// that it is not copied. Inlined everywhere, they would double the time of compiling.

// Whether interaction constraints remove features below the root.
__device__ inline bool restricts_paths(const Job& job) {
    return job.max_path_features > 0 || job.n_groups > 0;
}

// Whether nodes have other features than the tree.
__device__ inline bool has_own_features(const Job& job) {
    return job.columns_by_level < 1.0 || job.columns_by_node < 1.0 || restricts_paths(job);
}

__device__ inline uint8* allowed_row(const Job& job, int64 row) {
    return job.allowed + row * job.n_features;
}

// Whether a child may be split on a feature.
__device__ inline bool is_allowed(const Job& job, int64 child, int64 f) {
    return allowed_row(job, has_own_features(job) ? CHILD + child : TREE)[f] != 0;
}

// Mark `needed` features of a pool by selection sampling: in ascending order, each is taken with
// probability needed / remaining.
__device__ inline void choose_in_order(
    uint64 key, const uint8* pool, int64 n_features, int64 remaining, int64 needed,
    uint8* chosen) {
    const int lane = own_lane();
    needed = smaller_of(needed, remaining);
    for (int64 first = 0; first < n_features; first += 32) {
        const int64 f = first + lane;
        const bool in_pool = f < n_features && pool[f] != 0;
        const double number = uniform(key, (uint64)f);
        const uint32 pools = __ballot_sync(ALL_LANES, in_pool);
        bool is_chosen = false;
        for (int i = 0; i < 32; i++) {
            const double drawn = __shfl_sync(ALL_LANES, number, i);
            if (!(pools >> i & 1)) continue;
            const bool takes = drawn * (double)remaining < (double)needed;
            if (takes && i == lane) is_chosen = true;
            needed -= takes;
            remaining -= 1;
        }
        if (f < n_features) chosen[f] = is_chosen;
    }
}

// Mark `needed` features of a pool, drawn by weight: those whose exponential times come first.
__device__ inline void choose_weighted(
    const Job& job, uint64 key, const uint8* pool, int64 needed, double* times, uint8* chosen) {
    const int lane = own_lane();
    int64 n_positive = 0;
    for (int64 f = lane; f < job.n_features; f += 32) {
        times[f] = of_bits(0x7FF0000000000000);
        chosen[f] = 0;
        if (pool[f] && job.column_weights[f] > 0.0) {
            times[f] = (0.0 - log_of(1.0 - uniform(key, (uint64)f))) / job.column_weights[f];
            n_positive += 1;
        }
    }
    needed = smaller_of(needed, add_lanes(n_positive));
    if (needed == 0) return;
    // The time of the last one: times are not negative, and ordered as their bits are.
    int64 low = 0, high = 0x7FFFFFFFFFFFFFFF;
    while (low < high) {
        const int64 middle = low + ((high - low) >> 1);
        int64 n_up_to = 0;
        for (int64 f = lane; f < job.n_features; f += 32) n_up_to += bits_of(times[f]) <= middle;
        if (add_lanes(n_up_to) >= needed) high = middle;
        else low = middle + 1;
    }
    int64 n_before = 0;
    for (int64 f = lane; f < job.n_features; f += 32) {
        if (bits_of(times[f]) < low) {
            chosen[f] = 1;
            n_before += 1;
        }
    }
    needed -= add_lanes(n_before);
    for (int64 first = 0; first < job.n_features; first += 32) {
        const int64 f = first + lane;
        const bool is_last = f < job.n_features && bits_of(times[f]) == low && pool[f] &&
                             job.column_weights[f] > 0.0;
        const uint32 lasts = __ballot_sync(ALL_LANES, is_last);
        if (is_last && count_lanes_before(lasts) < needed) chosen[f] = 1;
        needed -= __popc(lasts);
    }
}

// Mark a share of the features marked in one row in another, at least one.
__device__ __noinline__ static void draw_row(
    const Job& job, int64 source, int64 target, double rate, uint64 key) {
    const uint8* pool = allowed_row(job, source);
    uint8* chosen = allowed_row(job, target);
    int64 n_pool = 0;
    for (int64 f = own_lane(); f < job.n_features; f += 32) {
        chosen[f] = pool[f];
        n_pool += pool[f];
        if (job.column_weights && job.column_weights[f] == 0.0) chosen[f] = 0;
    }
    n_pool = add_lanes(n_pool);
    if (rate < 1.0) {
        const int64 n_chosen = larger_of((int64)1, (int64)(rate * (double)n_pool + 0.5));
        if (job.column_weights) {
            double* times = job.column_times + target * job.n_features;
            choose_weighted(job, key, pool, n_chosen, times, chosen);
        } else {
            choose_in_order(key, pool, job.n_features, n_pool, n_chosen, chosen);
        }
    }
    __syncwarp();
}

__device__ inline void draw_level(const Job& job, uint64 key, int64 depth) {
    const uint64 own_key = extend_key(extend_key(key, COLUMNS_BY_LEVEL), (uint64)depth);
    draw_row(job, TREE, LEVEL, job.columns_by_level, own_key);
}

__device__ inline void draw_node(const Job& job, uint64 key, int64 number, int64 child) {
    const uint64 own_key = extend_key(extend_key(key, COLUMNS_BY_NODE), (uint64)number);
    draw_row(job, LEVEL, CHILD + child, job.columns_by_node, own_key);
}

// Remove the features of a node that share no group with all features above it.
__device__ __noinline__ static void restrict_features(const Job& job, int64 node, int64 child) {
    if (!restricts_paths(job)) return;
    const int lane = own_lane();
    uint8* on_path = job.on_path + child * job.n_features;
    uint8* chosen = allowed_row(job, CHILD + child);
    for (int64 f = lane; f < job.n_features; f += 32) on_path[f] = 0;
    __syncwarp();
    int64 n_path = 0;
    if (lane == 0) {
        for (int64 above = job.parent[node]; above >= 0; above = job.parent[above]) {
            const int64 f = job.nodes[above].feature;
            n_path += 1 - on_path[f];
            on_path[f] = 1;
        }
    }
    n_path = __shfl_sync(ALL_LANES, n_path, 0);
    __syncwarp();
    if (job.max_path_features > 0) {
        for (int64 f = lane; f < job.n_features; f += 32)
            chosen[f] &= n_path < job.max_path_features || on_path[f];
        return;
    }
    // A second bit marks the members of groups that hold the whole path.
    for (int64 group = 0; group < job.n_groups; group++) {
        const int64 first = job.group_first[group], last = job.group_first[group + 1];
        int64 n_shared = 0;
        for (int64 i = first + lane; i < last; i += 32)
            n_shared += on_path[job.group_members[i]] & 1;
        n_shared = add_lanes(n_shared);
        if (n_shared == n_path) {
            for (int64 i = first + lane; i < last; i += 32) on_path[job.group_members[i]] |= 2;
        }
        __syncwarp();
    }
    for (int64 f = lane; f < job.n_features; f += 32) chosen[f] &= on_path[f] >> 1;
}
