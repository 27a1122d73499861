// Nodes that are split in a step, level-wise, and leaf-wise without guesses; see
// kernels/grow/frontier.py.
#pragma once
#include "grow/children.cuh"
#include "grow/dividing.cuh"
#include "runtime/scan.cuh"

constexpr int64 FEW_WAITING = 512;

// A node that waits: it has a split, but no children yet.
struct Waiting {
    double gain;
    int32 node;  // 2 * number + (its children may be split, too); -1 for none
};

// Whether a node is split before another one: by gain, then by number.
__device__ inline bool comes_before(const Waiting& a, const Waiting& b) {
    if (b.node < 0 || a.node < 0) return a.node >= 0;
    return a.gain > b.gain || (a.gain == b.gain && a.node < b.node);
}

__device__ inline Waiting look_at(const Job& job, int64 node) {
    const Node own = job.nodes[node];
    const int64 n_rows = job.totals[3 * node + 2], n_left = job.left_totals[3 * node + 2];
    if (own.feature < 0 || own.left >= 0) return {0.0, -1};
    const bool is_enough = larger_of(n_left, n_rows - n_left) >= 2 * job.min_samples_leaf;
    const bool may_split = is_enough && own.depth + 1 < job.max_depth;
    return {own.gain, (int32)(2 * node + (may_split ? 1 : 0))};
}

// Nodes that are split now.
struct Queue {
    double* gain;
    int32* node;  // as in Waiting
    int32* sorted;
    int32* size;
};

// Of all nodes whose children may be split, the one that is split first.
__device__ inline Waiting find_first_family(const Job& job, const State& state) {
    __shared__ Waiting by_warp[MOST_WARPS];
    Waiting first = {0.0, -1};
#pragma unroll 1
    for (int64 node = threadIdx.x; node < state.n_nodes; node += blockDim.x) {
        const Waiting own = look_at(job, node);
        if (own.node >= 0 && (own.node & 1) && comes_before(own, first)) first = own;
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        const Waiting other = {__shfl_xor_sync(ALL_LANES, first.gain, distance),
                               __shfl_xor_sync(ALL_LANES, first.node, distance)};
        if (comes_before(other, first)) first = other;
    }
    if (is_first_lane()) by_warp[own_warp()] = first;
    __syncthreads();
#pragma unroll 1
    for (int64 warp = 0; warp < blockDim.x / 32; warp++)
        if (comes_before(by_warp[warp], first)) first = by_warp[warp];
    return first;
}

// Queue what is split now: level-wise, all nodes of the last level. Leaf-wise, one node after the
// other, up to the first whose children may be split: the next one depends on those.
__device__ inline void queue_nodes(const Job& job, const State& state, const Queue& queue) {
    const bool by_level = job.growth == LEVEL_WISE;
    const int64 first = by_level ? state.level_first : 0;
    const int64 last = by_level ? state.level_first + state.level_size : state.n_nodes;
    Waiting end = {0.0, -1};
    if (!by_level) end = find_first_family(job, state);
#pragma unroll 1
    for (int64 node = first + threadIdx.x; node < last; node += blockDim.x) {
        const Waiting own = look_at(job, node);
        if (own.node < 0 || (end.node >= 0 && comes_before(end, own))) continue;
        const int32 place = atomicAdd(queue.size, 1);
        queue.gain[place] = own.gain;
        queue.node[place] = own.node;
    }
    __syncthreads();
}

// Sort the queue by gain, then by number.
__device__ inline void sort_queue(const Queue& queue) {
    const int64 size = *queue.size;
#pragma unroll 1
    for (int64 i = threadIdx.x; i < size; i += blockDim.x) {
        const Waiting own = {queue.gain[i], queue.node[i]};
        int64 rank = 0;
#pragma unroll 1
        for (int64 j = 0; j < size; j++)
            rank += comes_before({queue.gain[j], queue.node[j]}, own);
        queue.sorted[rank] = own.node;
    }
    __syncthreads();
}

// Split the first nodes of the queue; returns how many of them are families.
__device__ inline int64 split_nodes(
    const Job& job, const State& state, const int32* sorted, int64 n_splits) {
    __shared__ ScanMemory scan_memory;
    // Children of the last leaves that are allowed will not be split.
    const bool is_last = state.n_leaves + n_splits >= job.max_leaves;
    int64 n_families = 0, n_moved = 0;
#pragma unroll 1
    for (int64 first = 0; first < n_splits; first += blockDim.x) {
        const int64 rank = first + threadIdx.x;
        const int64 listed = rank < n_splits ? sorted[rank] : 0, node = listed >> 1;
        const bool is_family = !is_last && (listed & 1);
        const int64 n_rows = is_family ? job.last[node] - job.first[node] : 0;
        const Scanned families = scan_block(is_family ? 1 : 0, scan_memory);
        const Scanned moved = scan_block(n_rows, scan_memory);
        if (rank < n_splits) {
            const int64 k = n_families + families.before, before = n_moved + moved.before;
            split_node_at(job, state, node, state.n_nodes + 2 * rank, is_family ? k : -1, before);
        }
        n_families += families.total;
        n_moved += moved.total;
    }
    if (threadIdx.x == 0) job.move_first[n_families] = n_moved;
    return n_families;
}

// By a block, after the splits of new nodes are known: what is split next. Returns the next state.
__device__ inline State split_queue(const Job& job, const State& state) {
    __shared__ double few_gains[FEW_WAITING];
    __shared__ int32 few_nodes[2][FEW_WAITING];
    __shared__ int32 queue_size;
    if (threadIdx.x == 0) queue_size = 0;
    __syncthreads();
    Queue queue = {few_gains, few_nodes[0], few_nodes[1], &queue_size};
    if (job.max_leaves > FEW_WAITING)
        queue = {job.waiting_gain, job.waiting, job.waiting + job.max_leaves, &queue_size};
    queue_nodes(job, state, queue);
    sort_queue(queue);
    const int64 n_splits = smaller_of((int64)queue_size, job.max_leaves - state.n_leaves);
    State next = state;
    next.n_families = split_nodes(job, state, queue.sorted, n_splits);
    next.level_first = state.n_nodes;
    next.level_size = 2 * n_splits;
    next.n_nodes = state.n_nodes + 2 * n_splits;
    next.n_leaves = state.n_leaves + n_splits;
    next.n_slots = state.n_slots + next.n_families;
    if (next.n_families == 0) next.status = DONE;
    return next;
}
