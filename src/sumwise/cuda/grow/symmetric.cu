// Symmetric growth: one split for all nodes of a level, as in kernels/grow/symmetric.py.
//
// The nodes of a level are the children of the families, in this order; families without histograms
// have no children that can be split.
#include "grow/best_lane.cuh"
#include "grow/bins.cuh"
#include "grow/categorical.cuh"
#include "grow/children.cuh"
#include "grow/columns.cuh"
#include "runtime/scan.cuh"

// Scores

// The sums of a family in a bin, left child first; `is_complete` if they were completed before.
__device__ static void load_family(
    const Job& job, int64 k, const Family& family, const BinPlace& own, bool is_complete,
    Sums (&sums)[2]) {
    Sums small = {0, 0, 0}, large = {0, 0, 0};
    if (!is_complete) {
        complete_bin(job, k, family, own, small, large);
    } else if (own.exists && family.mode != NO_HISTOGRAMS) {
        small = load_bin(job.histograms + family.small_slot * job.histogram_length, own);
        if (family.mode == SUBTRACT)
            large = load_bin(job.histograms + family.large_slot * job.histogram_length, own);
    }
    sums[0] = family.small == family.left ? small : large;
    sums[1] = family.small == family.left ? large : small;
}

// What a level tells of a lane.
struct LevelLane {
    int32 lowest, highest;  // bins with rows
    int32 any_missing;
};

// The place of a thread: a block has one lane, and a group of threads has a bin of it, each for
// another family.
__device__ static BinPlace find_level_bin(const Job& job, int64 group) {
    BinPlace own = {};
    own.group = group;
    own.in_group = threadIdx.x & (group - 1);
    own.lane = blockIdx.x;
    own.bin = threadIdx.x / group;
    return place_bin(job, own);
}

// Complete the histograms of the level; find which bins of the lane have rows.
__device__ static void find_level_spans(
    const Job& job, int64 n_families, const BinPlace& own, int64 n_value_bins,
    LevelLane& lane) {
    bool has_rows = false;
    for (int64 k = own.in_group; k < n_families; k += own.group) {
        const Family family = job.families[k];
        Sums sums[2];
        load_family(job, k, family, own, false, sums);
#pragma unroll
        for (int child = 0; child < 2; child++)
            has_rows |= (family.splittable >> child & 1) && sums[child].n > 0;
    }
    if (has_rows && own.bin == 0) atomicExch(&lane.any_missing, 1);
    if (has_rows && own.bin >= 1 && own.bin <= n_value_bins) {
        atomicMin(&lane.lowest, (int32)own.bin);
        atomicMax(&lane.highest, (int32)own.bin);
    }
    __syncthreads();
}

// The gains of a split after a thread's bin for the children of family k; of none if they cannot be
// split. All threads take part.
__device__ static void score_family(
    const Job& job, const State& state, int64 f, const BinPlace& own, int64 k, bool is_candidate,
    int64 n_value_bins, LevelLane& lane, Gains (&gains)[2]) {
    __shared__ WarpSums warp_sums;
    __shared__ Sums missing[2][MOST_GROUP];
    Family family = {};
    Sums prefix[2] = {{0, 0, 0}, {0, 0, 0}};
    if (k < state.n_families) {
        family = job.families[k];
        load_family(job, k, family, own, job.random_splits, prefix);
    }
    if (own.bin == 0) {
#pragma unroll
        for (int child = 0; child < 2; child++) {
            missing[child][own.in_group] = prefix[child];
            const bool any = (family.splittable >> child & 1) && prefix[child].n > 0;
            if (any && !job.random_splits) atomicExch(&lane.any_missing, 1);  // or known before
            prefix[child] = {0, 0, 0};
        }
    }
    prefix_bins(prefix, own.group, warp_sums);
#pragma unroll
    for (int child = 0; child < 2; child++) {
        gains[child] = {-infinity(), -infinity()};
        if (!is_candidate || !(family.splittable >> child & 1)) continue;
        const int64 node = family.left + child;
        const Limits limits = find_limits(job, state.unit_g, state.unit_h, node, f);
        const Sums totals = load_sums(family.totals[child]);
        const double parent = node_score(limits, totals);
        gains[child] = score_bin(
            limits, parent, prefix[child], missing[child][own.in_group], totals,
            own.bin == n_value_bins);
    }
    __syncthreads();  // the next family uses the same memory
}

// The gains of a split after a thread's bin, summed over the nodes of the level in their order.
__device__ static Gains sum_gains(
    const Job& job, const State& state, int64 f, const BinPlace& own, bool is_candidate,
    int64 n_value_bins, LevelLane& lane) {
    const int32 of_group = own_lane() - (int32)own.in_group;
    Gains total = {-infinity(), -infinity()};
    for (int64 first = 0; first < state.n_families; first += own.group) {
        Gains gains[2];
        const int64 k = first + own.in_group;
        score_family(job, state, f, own, k, is_candidate, n_value_bins, lane, gains);
        for (int32 i = 0; i < (int32)own.group; i++) {
#pragma unroll
            for (int child = 0; child < 2; child++) {
                const Gains other = {__shfl_sync(ALL_LANES, gains[child].right, of_group + i),
                                     __shfl_sync(ALL_LANES, gains[child].left, of_group + i)};
                total.right = add_gain(other.right, total.right);
                total.left = add_gain(other.left, total.left);
            }
        }
    }
    return total;
}

extern "C" __global__ void __launch_bounds__(512) score_level(Job job, int64 group) {
    __shared__ LevelLane lane;
    __shared__ WarpFinds warp_finds;
    const State state = *job.state;
    if (state.n_families == 0) return;
    const BinPlace own = find_level_bin(job, group);
    const int64 f = job.lane_feature[own.lane], n_value_bins = f < 0 ? 0 : job.n_value_bins[f];
    if (threadIdx.x == 0) lane = {0x7FFFFFFF, 0, 0};
    __syncthreads();
    bool is_candidate = f >= 0 && own.bin >= 1 && own.bin <= n_value_bins;
    if (is_candidate) is_candidate = is_allowed(job, 0, f);
    if (job.random_splits) {
        find_level_spans(job, state.n_families, own, n_value_bins, lane);
        is_candidate = is_candidate && own.bin ==
            draw_bin(job.request->key, state.level_first, f, lane.lowest, lane.highest,
                     lane.any_missing != 0, n_value_bins);
    }
    const Gains total = sum_gains(job, state, f, own, is_candidate, n_value_bins, lane);
    __syncthreads();
    const bool both_ways = lane.any_missing != 0;
    Found found[1] = {find_nothing()};
    if (is_candidate && (both_ways || own.bin < n_value_bins || job.random_splits)) {
        const int32 index = 2 * (int32)own.bin;
        found[0] = better_of(found[0], Found{order_of(total.right), index});
        if (both_ways)
            found[0] = better_of(found[0], Found{order_of(total.left), index + 1});
    }
    choose_bins(found, group, warp_finds);
    const Sums none = {0, 0, 0};
    if (own.in_group == 0)
        note_candidate(found[0], f, own.bin, none, none, job.candidates + own.lane);
}

// The split of a level

// By a warp: what a split sends left in a node, and the rows that miss a value.
struct Side {
    Sums left;
    int64 n_missing;
};

__device__ static Side sum_side(const Job& job, int64 slot, const Candidate& split) {
    const int64 f = split.feature, lane = job.feature_lane[f], tile = lane / LANES;
    const int64 n_bins = job.tile_bins[tile];
    const uint32* set = split.split_bin == SET ? candidate_set(job, 0, f) : nullptr;
    const int64 last = set ? n_bins - 1 : split.split_bin;
    const int64* place = job.histograms + slot * job.histogram_length + job.tile_start[tile];
    place += lane % LANES;
    Side side = {{0, 0, 0}, place[2 * n_bins * LANES]};
    for (int64 bin = own_lane(); bin <= last; bin += 32) {
        if (bin == 0 ? !split.missing_left : set && !is_member(set, bin)) continue;
        const int64* own = place + bin * LANES;
        side.left = side.left + Sums{own[0], own[n_bins * LANES], own[2 * n_bins * LANES]};
    }
    side.left = {add_lanes(side.left.g), add_lanes(side.left.h), add_lanes(side.left.n)};
    return side;
}

// Whether the best split of the level is worth it: its gain must exceed the noise of all nodes,
// which is summed in their order.
__device__ static bool is_worth(
    const Job& job, const State& state, double gain, double* scores, int32* shared) {
    for (int64 i = threadIdx.x; i < state.level_size; i += blockDim.x) {
        const int64 node = state.level_first + i;
        const Limits limits = find_limits(job, state.unit_g, state.unit_h, node, -1);
        const Sums totals = load_sums(job.totals + 3 * node);
        scores[i] = job.nodes[node].splittable ? absolute(node_score(limits, totals)) : -1.0;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        double noise = 0.0;
        for (int64 i = 0; i < state.level_size; i++)
            if (scores[i] >= 0.0) noise += NOISE * scores[i];
        *shared = gain > job.min_gain + noise;
    }
    __syncthreads();
    return *shared != 0;
}

// Note what the split sends left in every node; returns where missing values go.
__device__ static bool take_sides(
    const Job& job, const State& state, const Candidate& split, ScanMemory& scan_memory) {
    int64 n_missing = 0, n_left = 0, n_rows = 0;
    for (int64 i = own_warp(); i < state.level_size; i += blockDim.x / 32) {
        const int64 node = state.level_first + i;
        const bool is_active = job.nodes[node].splittable != 0;
        Side side = {{0, 0, 0}, 0};
        if (is_active) side = sum_side(job, job.nodes[node].slot, split);
        if (is_first_lane()) {
            store_sums(side.left, job.left_totals + 3 * node);
            n_missing += side.n_missing;
            n_left += side.left.n;
            n_rows += is_active ? job.totals[3 * node + 2] : 0;
        }
    }
    n_missing = scan_block(n_missing, scan_memory).total;
    n_left = scan_block(n_left, scan_memory).total;
    n_rows = scan_block(n_rows, scan_memory).total;
    return n_missing == 0 ? follows_larger(n_left, n_rows) : split.missing_left != 0;
}

// Give a node of the level the split; returns the node, and whether it is allowed there.
__device__ static bool split_node(
    const Job& job, const State& state, const Candidate& split, bool missing_left, int64 node,
    Node& own) {
    double gain = -infinity();
    if (own.splittable) {
        const bool is_missing_alone = split.split_bin == job.n_value_bins[split.feature];
        const int64 order = is_missing_alone ? -1 : split.feature;
        Limits limits = find_limits(job, state.unit_g, state.unit_h, node, order);
        const Sums totals = load_sums(job.totals + 3 * node);
        const double parent = node_score(limits, totals);
        if (split.split_bin == SET) limits = with_set_l2(job, split.feature, limits);
        gain = gain_over(parent, limits, load_sums(job.left_totals + 3 * node), totals);
    }
    if (split.split_bin == SET) keep_set(job, node, 0, split.feature, missing_left);
    const bool is_valid = gain > -infinity();
    own.feature = split.feature;
    own.split_bin = (uint32)split.split_bin;
    own.missing_left = missing_left;
    own.gain = is_valid ? gain : 0.0;
    return is_valid;
}

// Split all nodes of the level and list them as families; returns how many histograms are new.
__device__ static int64 split_level(
    const Job& job, const State& state, const Candidate& split, bool missing_left,
    ScanMemory& scan_memory) {
    int64 n_built = 0, n_moved = 0;
    for (int64 first = 0; first < state.level_size; first += blockDim.x) {
        const int64 i = first + threadIdx.x, node = state.level_first + i;
        const bool takes_part = i < state.level_size;
        Node own = {};
        Children made = {};
        int64 n_rows = 0;
        bool is_valid = false, is_built = false;
        if (takes_part) {
            own = job.nodes[node];
            is_valid = split_node(job, state, split, missing_left, node, own);
            own.left = (int32)(state.n_nodes + 2 * i);
            made = divide_node(job, node, own.depth);
            is_built = own.splittable && made.splittable[1 - made.small];
            if (!is_built) made.splittable[0] = made.splittable[1] = false;
            n_rows = job.last[node] - job.first[node];
        }
        const Scanned built = scan_block(is_built ? 1 : 0, scan_memory);
        const Scanned moved = scan_block(n_rows, scan_memory);
        if (takes_part) {
            const int64 small_slot = is_built ? state.n_slots + n_built + built.before : -1;
            const int64 large_slot = is_built ? own.slot : -1;
            const int64 anchor = is_valid ? -1 : own.anchor;
            create_children(job, state, node, own, made, anchor, small_slot, large_slot);
            own.slot = -1;
            job.nodes[node] = own;
            leave_records(job, own.left);
            if (i < job.most_families) {
                const int64 mode = is_built ? SUBTRACT : NO_HISTOGRAMS;
                const int64 before = n_moved + moved.before;
                list_family(job, i, node, own, made, mode, small_slot, large_slot, before);
            }
        }
        n_built += built.total;
        n_moved += moved.total;
    }
    if (threadIdx.x == 0 && state.level_size <= job.most_families)
        job.move_first[state.level_size] = n_moved;
    return n_built;
}

extern "C" __global__ void __launch_bounds__(512) choose_level_split(
    const __grid_constant__ Job job) {
    __shared__ BestLane by_warp[MOST_WARPS];
    __shared__ ScanMemory scan_memory;
    __shared__ int32 answer;
    const State state = *job.state;
    if (state.n_families == 0) return;
    const BestLane best = find_best_of_block(job, 0, by_warp);
    State next = state;
    next.n_families = 0;
    next.status = DONE;
    if (best.lane >= 0 && is_worth(job, state, best.gain, job.waiting_gain, &answer)) {
        const Candidate split = job.candidates[best.lane];
        const int64 depth = job.nodes[state.level_first].depth + 1;
        const bool missing_left = take_sides(job, state, split, scan_memory);
        const int64 n_built = split_level(job, state, split, missing_left, scan_memory);
        next.level_first = state.level_first + state.level_size;
        next.level_size = 2 * state.level_size;
        next.n_nodes = state.n_nodes + next.level_size;
        next.n_leaves = state.n_leaves + state.level_size;
        next.n_slots = state.n_slots + n_built;
        if (n_built > 0) {
            next.n_families = state.level_size;
            next.status = GROWING;
            __syncthreads();
            if (has_own_features(job) && threadIdx.x < 32) {
                draw_level(job, job.request->key, depth);
                draw_node(job, job.request->key, depth, 0);
                restrict_features(job, next.level_first, 0);
            }
        }
    }
    if (threadIdx.x == 0) *job.state = next;
}
