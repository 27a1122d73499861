// Path-dependent Shapley interaction values, see kernels/explain/interactions.py.
//
// A thread walks its row as in values.cu. When it closes a split, it adds to the pairs of the
// split's feature and each other feature above it, whose rates are in a table: for each tree, those
// of rows that have failed, then two for each split, of rows that pass to the left and the right.
#include "explain/walk.cuh"
#include "layout.cuh"
#include "runtime/grid.cuh"

// Write the rates of splits, and those of rows that have failed.
extern "C" __global__ void fill_rates(Walks walks, Pairs pairs) {
    for (int64 number = first_item(); number < walks.n_splits; number += item_step()) {
        int64 tree = walks.tree[number], n_points = walks.n_points[tree];
        int64 place = number - walks.first_split[tree];
        double* rates = pairs.rates + pairs.first_rate[tree];
        const double* points = walks.point + n_points * walks.n_most_points;
        double share = walks.share[number], kept = walks.kept[number];
        double left = kept * share, right = kept * (1.0 - share);
        for (int64 q = 0; q < n_points; ++q) {
            double t = points[q], *own = rates + (1 + 2 * place) * n_points + q;
            own[0] = (1.0 - left) / (t + (1.0 - t) * left);
            own[n_points] = (1.0 - right) / (t + (1.0 - t) * right);
            if (place == 0) rates[q] = -1.0 / (1.0 - t);
        }
    }
}

// Write the values of a row to out[n_features][n_features][n_outputs]: half of a pair's on each
// side, and the rest on the diagonal. Other items of `out` are zero already.
__device__ __noinline__ void write_row(const Walk& walk, const Pairs& pairs, const int32* features,
                          int64 n_slots, int64 n_features, int64 n_outputs, double* out) {
    for (int64 k = 0; k < pairs.n_pairs; ++k) {
        int64 first = pairs.first[k], second = pairs.second[k];
        int64 f = features[first], g = features[second];
        double half = 0.5 * walk.pair_sums[k * walk.pitch];
        out[(f * n_features + g) * n_outputs] = half;
        out[(g * n_features + f) * n_outputs] = half;
        walk.sums[first * SUM_PITCH] -= half;
        walk.sums[second * SUM_PITCH] -= half;
    }
    for (int64 k = 0; k < n_slots; ++k)
        out[features[k] * (n_features + 1) * n_outputs] = walk.sums[k * SUM_PITCH];
}

// Write the values of rows to out[n_rows][n_features][n_features][n_outputs], which is zero.
// `features` are those of the slots.
extern "C" __global__ __launch_bounds__(THREADS, BLOCKS_WITH_PAIRS) void add_shap_interactions(
    const uint8* codes, int64 code_columns, int64 n_rows, Walks walks, Pairs pairs,
    Scratch scratch, const int32* features, int64 n_slots, int64 n_features, int64 n_outputs,
    double* out) {
    double* sums = scratch.sums ? scratch.sums + blockIdx.x * n_slots * SUM_PITCH
                                : (double*)shared_memory;
    Walk walk = start_walk(walks, scratch, sums);
    walk.first_pair = pairs.start;
    walk.pairs = pairs.pairs;
    walk.pair_sums = scratch.pairs + first_item();
    walk.pair_totals = scratch.pair_totals + first_item();
    for (int64 row = first_item(); row < n_rows; row += item_step()) {
        walk.codes = codes + row / BLOCK * code_columns * BLOCK + row % BLOCK;
        for (int64 output = 0; output < n_outputs; ++output) {
            for (int64 k = 0; k < n_slots; ++k) walk.sums[k * SUM_PITCH] = 0.0;
            for (int64 k = 0; k < pairs.n_pairs; ++k) walk.pair_sums[k * walk.pitch] = 0.0;
            int64 column = walks.n_groups == 1 ? output : 0;
            int64 tree = walks.n_groups == 1 ? 0 : output;
            for (; tree < walks.n_trees; tree += walks.n_groups) {
                walk.first_of_tree = pairs.start[walks.first_split[tree]];
                explain_tree<true>(walk, walks, tree, column, pairs.rates + pairs.first_rate[tree]);
            }
            double* own = out + row * n_features * n_features * n_outputs + output;
            write_row(walk, pairs, features, n_slots, n_features, n_outputs, own);
        }
    }
}
