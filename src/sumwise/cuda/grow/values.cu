// The leaf of each row, exact sums by leaf, and the leaves' values; see kernels/grow/values.py.
//
// Rows walk through the finished tree in their own order. The records of leaves would tell their
// leaves, too, but scattered over the table: each gradient would be a sector of its own.
#include "grow/walk.cuh"
#include "runtime/fixed_point.cuh"
#include "runtime/node_sums.cuh"

// Sums in shared memory, as many copies as fit. Words of a leaf: g and h, the lower half first, and
// rows.
constexpr uint32 SUM_WORDS = 5, ROWS_WORD = 4;

struct SharedSums {
    NodeSums<SUM_WORDS> nodes;

    __device__ void add(uint32 node, int64 g, int64 h) const {
        uint32* place = nodes.find(node);
        nodes.add(place, (uint64)g);
        nodes.add(place + 2 * nodes.n_copies, (uint64)h);
        atomicAdd(place + ROWS_WORD * nodes.n_copies, 1u);
    }

    __device__ uint64 sum(uint32 node, uint32 statistic) const {
        const uint32 word = 2 * statistic;
        const uint64 low = nodes.sum_word(node, word);
        return word == ROWS_WORD ? low : low + (nodes.sum_word(node, word + 1) << 32);
    }
};

// Sums in the exchange, for trees with many leaves.
struct ExchangeSums {
    int64* sums;

    __device__ void add(uint32 node, int64 g, int64 h) const {
        add_to(sums + 3 * node, g);
        add_to(sums + 3 * node + 1, h);
        add_to(sums + 3 * node + 2, 1);
    }
};

template <class Steps, class Test, class Sums>
__device__ inline void sum_rows(const Job& job, Steps steps, Test test, Sums sums) {
    const Request request = *job.request;
    const double scale_g = job.state->exact_scale_g, scale_h = job.state->exact_scale_h;
    const int64 n_rows = request.n_rows, step = item_step();
    for (int64 i = first_item(); i < n_rows; i += WALKED_ROWS * step) {
        uint32 rows[WALKED_ROWS];
        double g[WALKED_ROWS], h[WALKED_ROWS];
        uint32 nodes[WALKED_ROWS];
#pragma unroll
        for (int32 j = 0; j < WALKED_ROWS; ++j) {
            const int64 at = i + j * step < n_rows ? i + j * step : n_rows - 1;
            rows[j] = request_row(request, at);
            g[j] = request.gradient[rows[j]];
            h[j] = request.hessian[rows[j]];
        }
        walk_rows(job.columns, job.n_table_rows, steps, test, rows, nodes);
#pragma unroll
        for (int32 j = 0; j < WALKED_ROWS; ++j) {
            if (i + j * step >= n_rows) break;
            job.leaf[rows[j]] = nodes[j];
            sums.add(nodes[j], exact_gradient(g[j], scale_g), exact_hessian(h[j], scale_h));
        }
    }
}

// Write the leaf of each row, and add exact sums by leaf to the exchange.
template <class Test>
__device__ inline void sum_all_rows(const Job& job, int64 shared_bytes, Test test) {
    if (job.state->status == OUT_OF_RANGE) return;
    const int64 n_nodes = job.state->n_nodes;
    int64* target = job.exchange + LEAF_SUMS;
    const NodeSteps nodes = {job.nodes};
    const int64 step_bytes = n_nodes * sizeof(uint64);
    const int64 sum_bytes = n_nodes * SUM_WORDS * sizeof(uint32);
    if (step_bytes + sum_bytes > shared_bytes) {
        if (step_bytes > shared_bytes) sum_rows(job, nodes, test, ExchangeSums{target});
        else sum_rows(job, share_steps(nodes, n_nodes), test, ExchangeSums{target});
        return;
    }
    uint32 n_copies = 32;
    while (step_bytes + sum_bytes * n_copies > shared_bytes) n_copies /= 2;
    const SharedSums sums = {{(uint32*)(shared_memory + n_nodes), n_copies}};
    sums.nodes.clear(n_nodes);
    const PackedSteps steps = share_steps(nodes, n_nodes);
    sum_rows(job, steps, test, sums);
    __syncthreads();
    for (int64 i = threadIdx.x; i < 3 * n_nodes; i += blockDim.x) {
        const uint32 node = (uint32)(i / 3);
        if (steps(node)) continue;
        const uint64 sum = sums.sum(node, (uint32)(i % 3));
        if (sum) add_to(target + i, (int64)sum);
    }
}

extern "C" __global__ void __launch_bounds__(512, 2) sum_leaves(Job job, int64 shared_bytes) {
    sum_all_rows(job, shared_bytes, StepTest{});
}

extern "C" __global__ void __launch_bounds__(512, 2) sum_leaves_by_set(
    Job job, int64 shared_bytes) {
    sum_all_rows(job, shared_bytes, SetTest{job.node_sets});
}

// Add the values of their leaves to the scores of the rows.
extern "C" __global__ void add_leaf_values(Job job) {
    const Request request = *job.request;
    if (!request.scores || job.state->status == OUT_OF_RANGE) return;
    const int64 n_rows = request.n_rows, step = item_step();
    for (int64 i = first_item(); i < n_rows; i += WALKED_ROWS * step) {
        uint32 rows[WALKED_ROWS];
        double scores[WALKED_ROWS];
        uint32 nodes[WALKED_ROWS];
#pragma unroll
        for (int32 j = 0; j < WALKED_ROWS; ++j) {
            const int64 at = i + j * step < n_rows ? i + j * step : i;
            rows[j] = request_row(request, at);
            scores[j] = request.scores[rows[j]];
            nodes[j] = job.leaf[rows[j]];
        }
#pragma unroll
        for (int32 j = 0; j < WALKED_ROWS; ++j)
            if (i + j * step < n_rows) request.scores[rows[j]] = scores[j] + job.value[nodes[j]];
    }
}
