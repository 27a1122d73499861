// The values of all nodes from exact sums: kernels/grow/values.py.
#include "grow/gain.cuh"

// Clip the value of a node of the finished tree to its bounds.
__device__ static double clip_value(const Job& job, double rate, int64 node, double value) {
    if (!job.any_direction) return value;
    const double lower = rate * job.lower[node], upper = rate * job.upper[node];
    return smaller_of(larger_of(value, lower), upper);
}

// Sums of the rows of leaves, from all devices; returns the depth of the tree.
__device__ static int64 sum_peers(const Job& job, int64 n_nodes, int32* depth) {
    if (threadIdx.x == 0) *depth = 0;
    __syncthreads();
    for (int64 node = threadIdx.x; node < n_nodes; node += blockDim.x) {
        atomicMax(depth, job.nodes[node].depth);
        if (job.nodes[node].left >= 0) continue;
        for (int64 s = 0; s < 3; s++) {
            int64 sum = 0;
            for (int64 peer = 0; peer < job.n_peers; peer++)
                sum += job.peers[peer][LEAF_SUMS + 3 * node + s];
            job.sums[3 * node + s] = sum;
        }
    }
    __syncthreads();
    return *depth;
}

// Sums of inner nodes, from the leaves up.
__device__ static void sum_children(const Job& job, int64 n_nodes, int64 deepest) {
    for (int64 depth = deepest - 1; depth >= 0; depth--) {
        for (int64 node = threadIdx.x; node < n_nodes; node += blockDim.x) {
            const int64 left = job.nodes[node].left;
            if (job.nodes[node].depth != depth || left < 0) continue;
            const Sums sums = load_sums(job.sums + 3 * left) + load_sums(job.sums + 3 * left + 3);
            store_sums(sums, job.sums + 3 * node);
        }
        __syncthreads();
    }
}

// The value and the weight of each node from its own rows.
__device__ static void set_nodes(const Job& job, const State& state, double rate) {
    for (int64 node = threadIdx.x; node < state.n_nodes; node += blockDim.x) {
        Node& own = job.nodes[node];
        if (own.left < 0) {
            own.feature = -1;
            own.split_bin = 0;
            own.missing_left = 0;
            own.gain = 0.0;
        }
        const Sums sums = load_sums(job.sums + 3 * node);
        const double gradient = (double)sums.g * state.exact_unit_g;
        const double hessian = (double)sums.h * state.exact_unit_h;
        own.weight = hessian;
        job.value[node] =
            rate * leaf_value(gradient, hessian, job.l1, job.l2, job.max_delta_step);
    }
    __syncthreads();
}

// Draw the values of nodes to those of their parents, from the root down.
__device__ static void smooth_paths(
    const Job& job, const State& state, double rate, int64 deepest) {
    for (int64 depth = 0; depth <= deepest; depth++) {
        for (int64 node = threadIdx.x; node < state.n_nodes; node += blockDim.x) {
            const Node& own = job.nodes[node];
            if (own.depth != depth) continue;
            const double value = clip_value(job, rate, node, job.value[own.anchor]);
            job.value[node] = value;
            if (own.left < 0) continue;
            for (int64 child = own.left; child < own.left + 2; child++) {
                const int64 n_rows = job.sums[3 * child + 2];
                const double free = job.value[child];
                job.value[child] = smooth_value(free, n_rows, job.path_smooth, value);
            }
        }
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(512) set_values(Job job) {
    __shared__ int32 depth;
    const State state = *job.state;
    if (state.status == OUT_OF_RANGE) return;
    const double rate = job.request->learning_rate;
    const int64 deepest = sum_peers(job, state.n_nodes, &depth);
    sum_children(job, state.n_nodes, deepest);
    set_nodes(job, state, rate);
    if (job.path_smooth > 0.0) smooth_paths(job, state, rate, deepest);
    for (int64 node = threadIdx.x; node < state.n_nodes; node += blockDim.x) {
        const int64 anchor = job.nodes[node].anchor;
        if (job.growth == SYMMETRIC && anchor == node) continue;  // its value stays
        double value = job.value[anchor];
        if (job.growth != SYMMETRIC) value = clip_value(job, rate, node, value);
        job.value[node] = value;
    }
}
