// Quantiles and robust locations of groups of weighted values, as in kernels/leaves/location.py.
#include "layout.cuh"
#include "losses/influence.cuh"
#include "runtime/fixed_point.cuh"
#include "runtime/select.cuh"
#include "runtime/sort.cuh"

// Add up the weights of each group, and find the largest.
extern "C" __global__ void weigh_groups(Selection s, Locations where) {
    const int64 n_chunks = s.chunk_first[s.n_groups];
    for (int64 number = blockIdx.x; number < n_chunks; number += gridDim.x) {
        const Chunk chunk = find_chunk(s, number);
        uint64 total = 0, largest = 0;
        for (int64 i = chunk.first + threadIdx.x; i < chunk.last; i += blockDim.x) {
            const uint64 own = (uint64)s.mass[i];
            total += own;
            largest = own > largest ? own : largest;
        }
        total = add_lanes(total);
        largest = highest_lane(largest);
        if (is_first_lane()) {
            atomicAdd(where.total + chunk.group, total);
            atomicMax(where.largest + chunk.group, largest);
        }
    }
}

// Set the weights that quantiles have to reach.
extern "C" __global__ void set_goals(Selection s, Locations where) {
    for (int64 group = first_item(); group < s.n_groups; group += item_step()) {
        if (!s.mass) where.total[group] = (uint64)s.size[group];
        s.goal[group] = where.level * (double)(int64)where.total[group];
    }
}

// A quantile is the value of the key found, or halfway from there to the next value.
extern "C" __global__ void take_quantiles(Selection s, Locations where) {
    for (int64 group = first_item(); group < s.n_groups; group += item_step()) {
        if (s.size[group] == 0) continue;
        double value = value_of_key(s.found[group]);
        if ((double)s.upto[group] == s.goal[group])
            value = 0.5 * value + 0.5 * value_of_key(s.next[group]);
        where.center[group] = value;
    }
}

// Weights times this are at most 1.
__device__ inline double find_unit(const Selection& s, const Locations& where, int64 group) {
    const int64 largest = s.mass ? larger_of((int64)1, (int64)where.largest[group]) : 1;
    return power_scale((double)largest, 1.0);
}

__device__ inline double find_step_scale(const Selection& s, const Locations& where, int64 group) {
    return power_scale(where.delta, exact_limit(s.size[group]));
}

// Add up the influence of the distances from the centers.
extern "C" __global__ void add_influences(Selection s, Locations where) {
    const int64 n_chunks = s.chunk_first[s.n_groups];
    for (int64 number = blockIdx.x; number < n_chunks; number += gridDim.x) {
        const Chunk chunk = find_chunk(s, number);
        const double center = where.center[chunk.group];
        const double unit = find_unit(s, where, chunk.group);
        const double scale = find_step_scale(s, where, chunk.group);
        uint64 step = 0;
        for (int64 i = chunk.first + threadIdx.x; i < chunk.last; i += blockDim.x) {
            const double distance = value_of_key(s.keys[i]) - center;
            const double pull = influence(distance, where.kind, where.delta);
            const double part = s.mass ? unit * (double)s.mass[i] : 1.0;
            step += (uint64)nearest_integer(pull * part * scale);
        }
        step = add_lanes(step);
        if (is_first_lane()) atomicAdd(where.step + chunk.group, step);
    }
}

// Move the centers by the mean influence.
extern "C" __global__ void move_centers(Selection s, Locations where) {
    for (int64 group = first_item(); group < s.n_groups; group += item_step()) {
        if (s.size[group] == 0) continue;
        const double scale = find_step_scale(s, where, group);
        const double total = find_unit(s, where, group) * (double)(int64)where.total[group];
        where.center[group] += (double)(int64)where.step[group] / scale / total;
    }
}
