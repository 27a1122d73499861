// Path-dependent Shapley values, see kernels/explain/values.py and outcomes.py.
#include "explain/walk.cuh"
#include "layout.cuh"
#include "runtime/grid.cuh"

// Find the values of all outcomes of trees with few tests; the tests of `walks` are on `codes`,
// whose row i has outcome i. A block takes a tree.
extern "C" __global__ __launch_bounds__(THREADS) void tabulate_outcomes(
    const uint8* codes, Walks walks, Outcomes outcomes, Scratch scratch) {
    double* sums = (double*)shared_memory;
    Walk walk = start_walk(walks, scratch, sums);
    for (int64 tree = blockIdx.x; tree < walks.n_trees; tree += gridDim.x) {
        int64 n_outcomes = (int64)1 << outcomes.n_tests[tree];
        int64 n_features = outcomes.first_slot[tree + 1] - outcomes.first_slot[tree];
        double* values = outcomes.values + outcomes.first_value[tree];
        if (outcomes.n_tests[tree] == 0) continue;
        for (int64 outcome = threadIdx.x; outcome < n_outcomes; outcome += THREADS) {
            for (int64 k = 0; k < n_features; ++k) walk.sums[k * SUM_PITCH] = 0.0;
            walk.codes = codes + outcome;
            explain_tree<false>(walk, walks, tree, 0);
            for (int64 k = 0; k < n_features; ++k)
                values[k * n_outcomes + outcome] = walk.sums[k * SUM_PITCH];
        }
    }
}

__device__ void add_outcome(const uint8* codes, const Outcomes& outcomes, int64 tree,
                            double* sums) {
    uint32 outcome = 0;
    int64 n_tests = outcomes.n_tests[tree], first = outcomes.first_test[tree];
    for (int64 k = 0; k < n_tests; ++k) {
        uint32 code = codes[(int64)outcomes.column[first + k] * BLOCK];
        bool goes_left = ((code - outcomes.skip[first + k]) & 255) <= outcomes.bound[first + k];
        outcome |= (uint32)goes_left << k;
    }
    const double* values = outcomes.values + outcomes.first_value[tree] + outcome;
    for (int64 k = outcomes.first_slot[tree]; k < outcomes.first_slot[tree + 1]; ++k) {
        sums[outcomes.slot[k] * SUM_PITCH] += *values;
        values += (int64)1 << n_tests;
    }
}

// Write the values of rows to out[n_rows][n_features][n_outputs]. `slot_of` has the slot of each
// feature, -1 for those that no tree splits on.
extern "C" __global__ __launch_bounds__(THREADS, BLOCKS_PER_PROCESSOR) void add_shap_values(
    const uint8* codes, int64 code_columns, int64 n_rows, Walks walks, Outcomes outcomes,
    Scratch scratch, const int32* slot_of, int64 n_slots, int64 n_features, int64 n_outputs,
    double* out) {
    double* sums = scratch.sums ? scratch.sums + blockIdx.x * n_slots * SUM_PITCH
                                : (double*)shared_memory;
    Walk walk = start_walk(walks, scratch, sums);
    for (int64 first = (int64)blockIdx.x * THREADS; first < n_rows; first += item_step()) {
        int64 n_own = n_rows - first < THREADS ? n_rows - first : THREADS;
        int64 row = first + (threadIdx.x < n_own ? threadIdx.x : n_own - 1);
        walk.codes = codes + row / BLOCK * code_columns * BLOCK + row % BLOCK;
        for (int64 output = 0; output < n_outputs; ++output) {
            for (int64 k = 0; k < n_slots; ++k) walk.sums[k * SUM_PITCH] = 0.0;
            int64 column = walks.n_groups == 1 ? output : 0;
            int64 tree = walks.n_groups == 1 ? 0 : output;
            for (; tree < walks.n_trees; tree += walks.n_groups) {
                if (outcomes.n_tests[tree] > 0)
                    add_outcome(walk.codes, outcomes, tree, walk.sums);
                else
                    explain_tree<false>(walk, walks, tree, column);
            }
            __syncthreads();
            double* own = out + first * n_features * n_outputs + output;
            for (int64 i = threadIdx.x; i < n_own * n_features; i += THREADS) {
                int64 k = i / n_features, slot = slot_of[i - k * n_features];
                own[i * n_outputs] = slot < 0 ? 0.0 : sums[slot * SUM_PITCH + k];
            }
            __syncthreads();
        }
    }
}
