// The factors of splits at the points of integration, see fill_table in kernels/explain/values.py.
//
// The points of a tree are taken in passes of at most MOST_POINTS. A split has, for each pass, the
// factors of rows that go left, of rows that go right, and of rows that have failed at its feature
// before, then the scales: [4][points of the pass].
#include "explain/passes.cuh"
#include "layout.cuh"
#include "runtime/grid.cuh"

extern "C" __global__ void fill_table(Walks walks) {
    for (int64 number = first_item(); number < walks.n_splits; number += item_step()) {
        int64 tree = walks.tree[number], n_points = walks.n_points[tree];
        int64 place = walks.first_factor[tree] + (number - walks.first_split[tree]) * 4 * n_points;
        const double* points = walks.point + n_points * walks.n_most_points;
        double share = walks.share[number], kept = walks.kept[number], left = kept * share;
        for (Pass pass = first_pass(n_points); pass.first < n_points; pass = next_pass(pass))
            for (int64 q = 0; q < pass.size; ++q) {
                double t = points[pass.first + q], whole = t + (1.0 - t) * kept;
                double* own = walks.factors + place + 4 * pass.first + q;
                own[0] = (t + (1.0 - t) * left) / whole;
                own[pass.size] = (1.0 - t) * left / whole;
                own[2 * pass.size] = share;
                own[3 * pass.size] = kept / (whole * whole);
            }
        double* changes = walks.changes + 4 * number;
        changes[0] = 1.0 - share;
        changes[1] = 0.0 - share;
        changes[2] = 0.0;
    }
}
