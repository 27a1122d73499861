// New values of leaves: the locations of the residuals of their rows, as in
// kernels/leaves/refit.py.
#include "layout.cuh"
#include "runtime/fixed_point.cuh"
#include "runtime/grid.cuh"
#include "runtime/sort.cuh"

// Rows that a block groups at a time: each of its threads has ROWS_PER_THREAD of them.
constexpr int64 ROWS_PER_THREAD = 16;

// Take from the nodes of a grown tree what refitting needs to know; r.n_nodes is the most nodes
// that a tree may have. Those that it does not have are leaves without rows.
extern "C" __global__ void unpack_nodes(
    Refit r, const Node* nodes, const int64* n_nodes, int32* left, int32* anchor, double* weight) {
    for (int64 node = first_item(); node < r.n_nodes; node += item_step()) {
        const bool is_there = node < *n_nodes;
        left[node] = is_there ? nodes[node].left : -1;
        anchor[node] = is_there ? nodes[node].anchor : (int32)node;
        weight[node] = is_there ? nodes[node].weight : 0.0;
        r.parent[node] = -1;
    }
}

// Count the rows of each leaf; in shared memory if its counters fit. If growing has failed, rows
// have any leaf: the host finds out when it reads the tree.
extern "C" __global__ void count_leaf_rows(Refit r, int64 is_shared) {
    uint32* counts = (uint32*)shared_memory;
    if (is_shared) {
        for (int64 node = threadIdx.x; node < r.n_nodes; node += blockDim.x) counts[node] = 0;
        __syncthreads();
    }
    for (int64 i = first_item(); i < r.n_rows; i += item_step()) {
        const int64 node = r.leaf[r.rows[i]];
        if (node >= r.n_nodes) continue;
        if (is_shared) atomicAdd(counts + node, 1u);
        else atomicAdd(r.place + node, 1ULL);
    }
    if (is_shared) {
        __syncthreads();
        for (int64 node = threadIdx.x; node < r.n_nodes; node += blockDim.x)
            if (counts[node]) atomicAdd(r.place + node, (uint64)counts[node]);
    }
}

// One block: find where the rows of each node begin, and which nodes are located. Instead of one
// thread that passes over all nodes, each node walks up to the root.
extern "C" __global__ void lay_out_groups(Refit r) {
    if (threadIdx.x == 0) r.parent[0] = -1;
    for (int64 node = threadIdx.x; node < r.n_nodes; node += blockDim.x) {
        const int64 child = r.left[node];
        r.n_in_node[node] = 0;
        r.size[node] = 0;
        if (child >= 0) r.parent[child] = r.parent[child + 1] = (int32)node;
    }
    __syncthreads();
    for (int64 node = threadIdx.x; node < r.n_nodes; node += blockDim.x) {
        if (r.left[node] >= 0 || r.place[node] == 0) continue;
        for (int64 above = node; above >= 0; above = r.parent[above])
            atomicAdd(r.n_in_node + above, r.place[node]);
    }
    __syncthreads();
    for (int64 node = threadIdx.x; node < r.n_nodes; node += blockDim.x) {
        int64 first = 0, depth = 0;
        for (int64 own = node; r.parent[own] >= 0; own = r.parent[own]) {
            const int64 left = r.left[r.parent[own]];
            if (own > left) first += (int64)r.n_in_node[left];
            depth++;
        }
        r.first[node] = first;
        r.depth[node] = (int32)depth;
        // A node whose anchor has no rows takes the anchor of its parent.
        int64 above = node;
        while (r.n_in_node[r.given_anchor[above]] == 0 && r.parent[above] >= 0)
            above = r.parent[above];
        r.anchor[node] = r.given_anchor[above];
    }
    __syncthreads();
    for (int64 node = threadIdx.x; node < r.n_nodes; node += blockDim.x) {
        if (r.left[node] >= 0) continue;
        r.place[node] = (uint64)r.first[node];
        const int64 anchor = r.anchor[node];  // several may write the same
        r.size[anchor] = (int64)r.n_in_node[anchor];
    }
}

__device__ inline void place_residual(const Refit& r, int64 row, int64 place) {
    r.keys[place] = key_of_float(r.target[row] - r.scores[row]);
    if (r.units) r.mass[place] = r.units[row];
}

// Write the residuals of rows, as keys, leaf by leaf; in any order within a leaf. A block reserves
// places for all its rows of a leaf at once, if its counters fit into shared memory.
extern "C" __global__ void group_residuals(Refit r, int64 is_shared) {
    uint32* places = (uint32*)shared_memory;
    if (!is_shared) {
        for (int64 i = first_item(); i < r.n_rows; i += item_step()) {
            const int64 row = r.rows[i], node = r.leaf[row];
            if (node < r.n_nodes) place_residual(r, row, (int64)atomicAdd(r.place + node, 1ULL));
        }
        return;
    }
    const int64 n_at_once = blockDim.x * ROWS_PER_THREAD;
    for (int64 begin = blockIdx.x * n_at_once; begin < r.n_rows; begin += gridDim.x * n_at_once) {
        for (int64 node = threadIdx.x; node < r.n_nodes; node += blockDim.x) places[node] = 0;
        __syncthreads();
        uint32 own[ROWS_PER_THREAD], node_of[ROWS_PER_THREAD];
#pragma unroll
        for (int64 k = 0; k < ROWS_PER_THREAD; k++) {
            const int64 i = begin + k * blockDim.x + threadIdx.x;
            node_of[k] = i < r.n_rows ? r.leaf[r.rows[i]] : (uint32)r.n_nodes;
            if (node_of[k] < r.n_nodes) own[k] = atomicAdd(places + node_of[k], 1u);
        }
        __syncthreads();
        for (int64 node = threadIdx.x; node < r.n_nodes; node += blockDim.x)
            if (places[node])
                places[node] = (uint32)atomicAdd(r.place + node, (uint64)places[node]);
        __syncthreads();
#pragma unroll
        for (int64 k = 0; k < ROWS_PER_THREAD; k++) {
            const int64 i = begin + k * blockDim.x + threadIdx.x;
            if (node_of[k] < r.n_nodes)
                place_residual(r, r.rows[i], (int64)places[node_of[k]] + own[k]);
        }
        __syncthreads();
    }
}

// One block: values of leaves; an inner node has the weighted mean of its leaves. Level by level,
// from the lowest.
extern "C" __global__ void set_refitted_values(
    Refit r, double max_step, double learning_rate, const double* weight, double* value) {
    __shared__ int32 lowest;
    if (threadIdx.x == 0) lowest = 0;
    __syncthreads();
    for (int64 node = threadIdx.x; node < r.n_nodes; node += blockDim.x) {
        atomicMax(&lowest, r.depth[node]);
        if (r.left[node] >= 0) continue;
        double step = r.center[r.anchor[node]];
        if (max_step > 0.0) step = smaller_of(larger_of(step, -max_step), max_step);
        value[node] = learning_rate * step;
    }
    __syncthreads();
    for (int32 depth = lowest - 1; depth >= 0; depth--) {
        for (int64 node = threadIdx.x; node < r.n_nodes; node += blockDim.x) {
            const int64 child = r.left[node];
            if (r.depth[node] != depth || child < 0) continue;
            const double low = value[child], high = value[child + 1];
            const double total = weight[child] + weight[child + 1];
            const double share_right = total > 0.0 ? weight[child + 1] / total : 0.0;
            value[node] = low + (high - low) * share_right;
        }
        __syncthreads();
    }
}

// Add the values of their leaves to the scores of rows.
extern "C" __global__ void add_leaf_values(
    const uint32* rows, int64 n, const uint32* leaf, const double* value, int64 n_nodes,
    double* scores) {
    for (int64 i = first_item(); i < n; i += item_step()) {
        const int64 row = rows[i], node = leaf[row];
        if (node < n_nodes) scores[row] += value[node];
    }
}

// --- weights in units, as weigh_in_units of kernels/leaves/location.py ---

// The weight of a row, times its factor, if there are such.
__device__ inline double find_weight(
    const uint32* rows, int64 i, const double* weight, const double* factor) {
    const double own = weight ? weight[rows[i]] : 1.0;
    return factor ? own * factor[i] : own;
}

extern "C" __global__ void find_largest_weight(
    const uint32* rows, int64 n, const double* weight, const double* factor, uint64* peak) {
    double largest = 0.0;
    for (int64 i = first_item(); i < n; i += item_step())
        largest = larger_of(largest, find_weight(rows, i, weight, factor));
    const uint64 bits = highest_lane((uint64)bits_of(largest));
    if (is_first_lane()) atomicMax(peak, bits);
}

// Write the units of rows to their places in a table, or one after the other if `packed`.
extern "C" __global__ void weigh_rows(
    const uint32* rows, int64 n, const double* weight, const double* factor, const uint64* peak,
    int64 packed, int64* units) {
    const double scale = power_scale(of_bits((int64)*peak), exact_limit(n));
    for (int64 i = first_item(); i < n; i += item_step()) {
        const double own = find_weight(rows, i, weight, factor);
        units[packed ? i : (int64)rows[i]] = exact_hessian(own, scale);
    }
}

// --- errors of rows ---

// Absolute errors as keys, for the quantile that is Huber's delta.
extern "C" __global__ void write_error_keys(
    const uint32* rows, int64 n, const double* target, const double* raw, uint64* keys) {
    for (int64 i = first_item(); i < n; i += item_step())
        keys[i] = key_of_float(absolute(target[rows[i]] - raw[rows[i]]));
}
