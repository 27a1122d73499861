// Exact sums of gradients and hessians by leaf, for new values; see kernels/leaves/newton.py.
#include "layout.cuh"
#include "runtime/fixed_point.cuh"
#include "runtime/node_sums.cuh"

struct Scales {
    double g, h;
};

__device__ inline Scales find_scales(const uint64* maxima, int64 n_rows) {
    const double limit = exact_limit(n_rows);
    return {power_scale(of_bits((int64)maxima[0]), limit),
            power_scale(of_bits((int64)maxima[1]), limit)};
}

// Largest |g| and h, at least 0, as the bits of floats.
extern "C" __global__ void find_step_maxima(const uint32* rows, int64 n_rows,
                                            const double* gradient, const double* hessian,
                                            uint64* maxima) {
    uint64 max_g = 0, max_h = 0;
    for (int64 i = first_item(); i < n_rows; i += item_step()) {
        const uint64 g = (uint64)bits_of(absolute(gradient[rows[i]]));
        const int64 h = bits_of(hessian[rows[i]]);
        if (g > max_g) max_g = g;
        if (h > (int64)max_h) max_h = (uint64)h;
    }
    max_g = highest_lane(max_g);
    max_h = highest_lane(max_h);
    if (is_first_lane()) {
        atomicMax(maxima, max_g);
        atomicMax(maxima + 1, max_h);
    }
}

// Add exact values to the sums [node][2] of leaves: in shared memory first, where there are
// n_copies of them, or none if there are too many nodes.
extern "C" __global__ void sum_steps(const uint32* rows, int64 n_rows, const double* gradient,
                                     const double* hessian, const uint32* leaf,
                                     const uint64* maxima, int64 n_nodes, int64 n_copies,
                                     uint64* sums) {
    const Scales scales = find_scales(maxima, n_rows);
    const NodeSums<4> shared = {(uint32*)shared_memory, (uint32)n_copies};
    shared.clear(n_nodes);
    __syncthreads();
    for (int64 i = first_item(); i < n_rows; i += item_step()) {
        const uint32 row = rows[i], node = leaf[row];
        const uint64 g = (uint64)exact_gradient(gradient[row], scales.g);
        const uint64 h = (uint64)exact_hessian(hessian[row], scales.h);
        if (n_copies) {
            uint32* place = shared.find(node);
            shared.add(place, g);
            shared.add(place + 2 * n_copies, h);
        } else {
            atomicAdd(sums + 2 * (int64)node, g);
            atomicAdd(sums + 2 * (int64)node + 1, h);
        }
    }
    __syncthreads();
    if (!n_copies) return;
    for (int64 i = threadIdx.x; i < 2 * n_nodes; i += blockDim.x) {
        const uint64 sum = shared.sum((uint32)(i / 2), 2 * (i % 2));
        if (sum) atomicAdd(sums + i, sum);
    }
}
