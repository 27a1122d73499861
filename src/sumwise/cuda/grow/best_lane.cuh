// The best of all features: the highest gain, then the lowest lane, which is the lowest feature.
#pragma once
#include "grow/dividing.cuh"
#include "grow/gain.cuh"

// The best candidate of a child among some lanes.
struct BestLane {
    double gain;
    int64 lane;  // -1 for none
};

__device__ inline BestLane better_lane(const BestLane& a, const BestLane& b) {
    const bool takes = b.gain > a.gain || (b.gain == a.gain && b.lane >= 0 && b.lane < a.lane);
    return takes ? b : a;
}

// By a warp: the best of every so many-th lane, the lowest of equals.
__device__ inline BestLane find_best_lane(
    const Job& job, int64 child, int64 first, int64 step) {
    const Candidate* candidates = job.candidates + child * job.n_tiles * LANES;
    BestLane best = {-infinity(), -1};
#pragma unroll 1
    for (int64 lane = first + own_lane(); lane < job.n_lanes; lane += step) {
        const double gain = candidates[lane].gain;
        if (gain > best.gain) best = {gain, lane};
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        const BestLane other = {__shfl_xor_sync(ALL_LANES, best.gain, distance),
                                __shfl_xor_sync(ALL_LANES, best.lane, distance)};
        best = better_lane(best, other);
    }
    return best;
}

// By all threads of a block: the best of all lanes.
__device__ inline BestLane find_best_of_block(const Job& job, int64 child, BestLane* by_warp) {
    const int64 warp = own_warp(), n_warps = blockDim.x / 32;
    const BestLane own = find_best_lane(job, child, 32 * warp, 32 * n_warps);
    if (is_first_lane()) by_warp[warp] = own;
    __syncthreads();
    BestLane best = by_warp[0];
#pragma unroll 1
    for (int64 other = 1; other < n_warps; other++) best = better_lane(best, by_warp[other]);
    return best;
}
