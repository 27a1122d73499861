// The weighted mean of losses, from exact sums (kernels/runtime/reduce.py) that know no order.
#include "layout.cuh"
#include "runtime/fixed_point.cuh"
#include "runtime/grid.cuh"

constexpr uint64 INFINITE_BITS = 0x7FF0000000000000ULL;

__device__ inline double find_scale(uint64 peak, int64 n) {
    return power_scale(of_bits((int64)peak), exact_limit(n));
}

extern "C" __global__ void sum_losses(ValueTask task) {
    const double scale = find_scale(task.peaks[0], task.n_chosen);
    const double weight_scale = find_scale(task.peaks[1], task.n_chosen);
    uint64 total = 0, total_weight = 0;
    for (int64 i = first_item(); i < task.n_chosen; i += item_step()) {
        total += (uint64)nearest_integer(task.losses[i] * scale);
        if (task.weight)
            total_weight += (uint64)nearest_integer(task.weight[task.rows[i]] * weight_scale);
    }
    total = add_lanes(total);
    total_weight = add_lanes(total_weight);
    if (is_first_lane()) {
        atomicAdd(task.sums, total);
        if (task.weight) atomicAdd(task.sums + 1, total_weight);
    }
}

__device__ inline double finish_sum(uint64 sum, uint64 peak, int64 n) {
    if (peak >= INFINITE_BITS) return of_bits(0x7FF8000000000000);
    return (double)(int64)sum / find_scale(peak, n);
}

// One thread: divide the sum of losses by that of the weights.
extern "C" __global__ void divide_sums(ValueTask task) {
    if (first_item() > 0) return;
    const double total = task.weight ? finish_sum(task.sums[1], task.peaks[1], task.n_chosen)
                                     : (double)task.n_chosen;
    *task.mean = finish_sum(task.sums[0], task.peaks[0], task.n_chosen) / total;
}
