// Gains and values for arrays of sums and limits: see test_gain.py.
#include "grow/gain.cuh"
#include "runtime/grid.cuh"

extern "C" __global__ void evaluate(
    const double* limits, const int64* left, const int64* totals, int64 n, double* out) {
    for (int64 i = first_item(); i < n; i += item_step()) {
        const double* own = limits + 12 * i;
        Limits found = {own[0], own[1], own[2], own[3], own[4], own[5], (int64)own[6],
                        own[7], own[8], own[9], own[10], own[11]};
        note_plain(found);
        const Sums of_left = load_sums(left + 3 * i), all = load_sums(totals + 3 * i);
        out[i] = split_gain(found, of_left, all);
        out[n + i] = node_score(found, all);
        out[2 * n + i] = child_value(found, of_left);
        out[3 * n + i] = leaf_value(
            (double)all.g * own[0], (double)all.h * own[1], own[2], own[3], own[4]);
        out[4 * n + i] = split_gain(without_order(found), of_left, all);
        out[5 * n + i] = add_gain(out[i], i % 3 ? out[4 * n + i] : -infinity());
    }
}

extern "C" __global__ void order_gains(const double* gains, int64 n, int64* out) {
    for (int64 i = first_item(); i < n; i += item_step()) out[i] = order_of(gains[i]);
}
