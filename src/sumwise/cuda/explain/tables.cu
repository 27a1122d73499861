// The factors of splits at the points of integration, see fill_table in kernels/explain/values.py.
//
// The points of a tree are taken in passes of at most MOST_POINTS. A split has, for each pass, the
// factors of rows that go left, of rows that go right, and of rows that have failed at its feature
// before, then the scales: [4][points of the pass].
#include "explain/records.cuh"
#include "layout.cuh"
#include "runtime/grid.cuh"

// Where a child is read: a record among those of the tree, or ~place of a leaf's values.
__device__ int32 find_child(const Walks& walks, int32 child, int64 first_split, int64 stride) {
    return child < 0 ? ~(int32)(~child * walks.n_columns) : (int32)((child - first_split) * stride);
}

extern "C" __global__ void fill_table(Walks walks) {
    for (int64 number = first_item(); number < walks.n_splits; number += item_step()) {
        int64 tree = walks.tree[number], n_points = walks.n_points[tree];
        int64 first = walks.first_split[tree], stride = find_stride(n_points);
        double* record = walks.records + walks.first_record[tree] + (number - first) * stride;
        Split split = walks.splits[number];
        split.left = find_child(walks, split.left, first, stride);
        split.right = find_child(walks, split.right, first, stride);
        double share = walks.share[number], kept = walks.kept[number], left = kept * share;
        int32 sum = walks.slot[number] * (int32)SUM_PITCH;
        *(Record*)record = {split, {1.0 - share, 0.0 - share, 0.0}, sum, (int32)(number - first)};
        const double* points = walks.point + n_points * walks.n_most_points;
        for (Pass pass = first_pass(n_points); pass.first < n_points; pass = next_pass(pass))
            for (int64 q = 0; q < pass.size; ++q) {
                double t = points[pass.first + q], whole = t + (1.0 - t) * kept;
                double* factors = record + find_factors(pass) + q;
                factors[GOES_LEFT * pass.size] = (t + (1.0 - t) * left) / whole;
                factors[GOES_RIGHT * pass.size] = (1.0 - t) * left / whole;
                factors[HAS_FAILED * pass.size] = share;
                factors[SCALE * pass.size] = kept / (whole * whole);
            }
    }
}
