// One block decides for all: what the root is, which splits nodes get, and which are split next;
// see kernels/grow/decide.py, plan.py and frontier.py.
#include "grow/best_lane.cuh"
#include "grow/categorical.cuh"
#include "grow/children.cuh"
#include "grow/columns.cuh"
#include "grow/guess.cuh"
#include "grow/quantize.cuh"
#include "grow/queue.cuh"
#include "grow/score.cuh"

// Begin

extern "C" __global__ void __launch_bounds__(512) begin_tree(const __grid_constant__ Job job) {
    __shared__ int32 any_feature;
    if (threadIdx.x == 0) any_feature = 0;
    __syncthreads();
    const uint8* in_tree = allowed_row(job, TREE);
#pragma unroll 1
    for (int64 f = threadIdx.x; f < job.n_features; f += blockDim.x)
        if (in_tree[f]) any_feature = 1;
    const int64 n_sums = LEAF_SUMS + 3 * (2 * job.max_leaves - 1);
#pragma unroll 1
    for (int64 i = threadIdx.x; i < n_sums; i += blockDim.x) job.exchange[i] = 0;
    if (has_own_features(job) && threadIdx.x < 32) {
        draw_level(job, job.request->key, 0);
        draw_node(job, job.request->key, 0, 0);
    }
    __syncthreads();
    if (threadIdx.x > 0) return;
    const Request& request = *job.request;
    State state = {};
    state.status = GROWING;
    state.n_nodes = state.n_leaves = state.n_slots = state.level_size = 1;
    *job.state = state;
    Node root = make_node(0, 0, -1);
    const bool enough = request.all_rows >= 2 * job.min_samples_leaf;
    if (any_feature && enough && job.max_depth > 0 && job.max_leaves > 1) {
        root.splittable = 1;
        root.slot = 0;
    }
    job.nodes[0] = root;
    job.first[0] = 0;
    job.last[0] = request.n_rows;
    if (job.has_parents) {
        job.parent[0] = -1;
        job.lower[0] = -infinity();
        job.upper[0] = infinity();
    }
}

__device__ static int64 sum_of_peers(const Job& job, int64 word) {
    int64 sum = 0;
#pragma unroll 1
    for (int64 peer = 0; peer < job.n_peers; peer++) sum += job.peers[peer][SUMS + word];
    return sum;
}

extern "C" __global__ void plan_root(Job job) {
    if (threadIdx.x > 0 || blockIdx.x > 0) return;
    State state = *job.state;
    const int64 n_rows = job.request->all_rows;
    const Scales scales = find_scales(job);
    if (!scales.in_range) {
        state.status = OUT_OF_RANGE;
        *job.state = state;
        return;
    }
    state.scale_g = scales.packed_g;
    state.scale_h = scales.packed_h;
    state.exact_scale_g = scales.exact_g;
    state.exact_scale_h = scales.exact_h;
    const int64 sum_g = sum_of_peers(job, SIZE_G), sum_h = sum_of_peers(job, SUM_H);
    const double rows = (double)n_rows;
    const bool heavy_g = scales.max_g * state.exact_scale_g * rows > HEAVY_TAIL * (double)sum_g;
    const bool heavy_h = scales.max_h * state.exact_scale_h * rows > HEAVY_TAIL * (double)sum_h;
    state.exact = n_rows <= job.exact_rows || heavy_g || heavy_h;
    const int64 most_h = exact_hessian(scales.max_h, scales.packed_h);
    state.even_h = sum_of_peers(job, PACKED_H) == n_rows * most_h ? most_h : 0;
    state.exact_unit_g = 1.0 / state.exact_scale_g;
    state.exact_unit_h = 1.0 / state.exact_scale_h;
    state.unit_g = state.exact ? state.exact_unit_g : 1.0 / state.scale_g;
    state.unit_h = state.exact ? state.exact_unit_h : 1.0 / state.scale_h;
    const Sums totals = {
        sum_of_peers(job, state.exact ? SUM_G : PACKED_G),
        sum_of_peers(job, state.exact ? SUM_H : PACKED_H),
        n_rows,
    };
    store_sums(totals, job.totals);
    if (job.path_smooth > 0.0) {
        const double gradient = (double)totals.g * state.unit_g;
        const double hessian = (double)totals.h * state.unit_h;
        job.values[0] = leaf_value(gradient, hessian, job.l1, job.l2, job.max_delta_step);
    }
    if (job.nodes[0].slot < 0) {
        state.status = DONE;
    } else {
        Family root = {-1, 0, 0, (int32)ROOT, 0, 0, 1, 0};
        store_sums(totals, root.totals[0]);
        store_sums({0, 0, 0}, root.totals[1]);
        job.families[0] = root;
        job.move_first[0] = job.move_first[1] = 0;
        job.build_first[0] = 0;
        job.build_first[1] = job.request->n_rows;
        state.n_families = 1;
    }
    *job.state = state;
}

// Splits of new nodes

// Give a child its best candidate if the gain is enough.
__device__ __noinline__ static void adopt_split(
    const Job& job, const State& state, const Family& family, int64 k, int child,
    const BestLane& best) {
    if (best.lane < 0) return;
    const int64 node = family.left + child;
    const Candidate found = job.candidates[(2 * k + child) * job.n_tiles * LANES + best.lane];
    const Sums totals = load_sums(family.totals[child]);
    const Limits limits = find_limits(job, state.unit_g, state.unit_h, node, -1);
    const double score = node_score(limits, totals);
    if (!(best.gain > job.min_gain + NOISE * absolute(score))) return;
    bool missing_left = found.missing_left != 0;
    if (found.n_missing == 0) missing_left = follows_larger(found.left[2], totals.n);
    Node& own = job.nodes[node];
    own.split_bin = (uint32)found.split_bin;
    own.missing_left = missing_left;
    own.feature = found.feature;
    own.gain = best.gain;
    store_sums(load_sums(found.left), job.left_totals + 3 * node);
    if (found.split_bin == SET) keep_set(job, node, 2 * k + child, found.feature, missing_left);
}

// Choose the splits of all new children: one or several warps for each.
__device__ static void settle_families(const Job& job, const State& state) {
    __shared__ BestLane by_warp[MOST_WARPS];
    const int32 n_children = 2 * (int32)state.n_families, n_tiles = (int32)job.n_tiles;
    const int32 warp = own_warp(), n_warps = blockDim.x / 32;
    int32 n_parts = n_warps / n_children;
    n_parts = n_parts > n_tiles ? n_tiles : n_parts > 1 ? n_parts : 1;
    const int32 at_once = n_warps / n_parts, part = warp % n_parts;
#pragma unroll 1
    for (int32 first = 0; first < n_children; first += at_once) {
        const int32 own = first + warp / n_parts;
        const bool takes_part = own < n_children && warp / n_parts < at_once;
        BestLane best = {-infinity(), -1};
        if (takes_part) best = find_best_lane(job, own, 32 * part, 32 * n_parts);
        if (n_parts > 1) {
            if (is_first_lane()) by_warp[warp] = best;
            __syncthreads();
        }
        if (takes_part && part == 0 && is_first_lane()) {
#pragma unroll 1
            for (int32 i = 1; i < n_parts; i++) best = better_lane(best, by_warp[warp + i]);
            const Family family = job.families[own / 2];
            const int child = own & 1;
            if (family.splittable >> child & 1)
                adopt_split(job, state, family, own / 2, child, best);
        }
        if (n_parts > 1) __syncthreads();
    }
    __syncthreads();
}

// What is split next

// Draw the features of the families' children, which are all of the same depth.
__device__ static void draw_children(const Job& job, int64 n_families) {
    if (!has_own_features(job) || n_families == 0) return;
    const uint64 key = job.request->key;
    __syncthreads();
    if (threadIdx.x < 32) draw_level(job, key, job.families[0].depth);
    __syncthreads();
#pragma unroll 1
    for (int64 child = own_warp(); child < 2 * n_families; child += blockDim.x / 32) {
        const int64 node = job.families[child / 2].left + (child & 1);
        draw_node(job, key, node, child);
        restrict_features(job, node, child);
        __syncwarp();
    }
}

// By one block: give new nodes their splits, and list the next families.
__device__ static void choose_next(const Job& job) {
    const State state = *job.state;
    settle_families(job, state);
    State next = job.most_guesses > 0 ? split_with_guesses(job, state) : split_queue(job, state);
    draw_children(job, next.n_families);
    next.n_scored = 0;
    if (threadIdx.x == 0) *job.state = next;
}

extern "C" __global__ void __launch_bounds__(512) choose_splits(const __grid_constant__ Job job) {
    if (job.state->n_families > 0) choose_next(job);
}

// Both at once, leaf-wise: the block that has scored last chooses.
extern "C" __global__ void __launch_bounds__(256) score_and_choose(
    const __grid_constant__ Job job) {
    __shared__ int32 is_last;
    if (job.state->n_families == 0) return;
    score_children(job, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        const uint64 n_before = atomicAdd((uint64*)&job.state->n_scored, 1ull);
        is_last = n_before + 1 == (uint64)gridDim.x * gridDim.y;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    choose_next(job);
}
