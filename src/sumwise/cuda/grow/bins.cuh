// A block whose threads are the bins of some lanes: thread t has bin t / group of lane t % group.
// Neighbors read neighboring lanes, so that memory is read in whole sectors.
#pragma once
#include "grow/dividing.cuh"
#include "grow/gain.cuh"
#include "runtime/random.cuh"

constexpr int MOST_GROUP = 4;  // lanes of a block

// What one warp tells the others.
struct WarpSums {
    int64 sums[2][3][MOST_GROUP][MOST_WARPS];
};

// The place of a thread.
struct BinPlace {
    int64 group;     // lanes of the block, a power of two
    int64 in_group;  // the thread's lane among them
    int64 lane;      // and among all lanes
    int64 bin;
    int64 first;  // where the bin's gradients are in a histogram, if it exists
    int64 step;   // from there to hessians, and to counts
    bool exists;
};

// Complete a place whose lane and bin are known.
__device__ inline BinPlace place_bin(const Job& job, BinPlace own) {
    const int64 tile = own.lane / LANES, n_bins = job.tile_bins[tile];
    own.exists = own.bin < n_bins;
    own.first = job.tile_start[tile] + own.bin * LANES + own.lane % LANES;
    own.step = n_bins * LANES;
    return own;
}

__device__ inline BinPlace find_bin(const Job& job, int64 group) {
    BinPlace own = {};
    own.group = group;
    own.in_group = threadIdx.x & (group - 1);
    own.lane = blockIdx.x * group + own.in_group;
    own.bin = threadIdx.x / group;
    return place_bin(job, own);
}

__device__ inline Sums load_bin(const int64* histogram, const BinPlace& own) {
    const int64* place = histogram + own.first;
    return {place[0], place[own.step], place[2 * own.step]};
}

__device__ inline void store_bin(const Sums& sums, const BinPlace& own, int64* histogram) {
    int64* place = histogram + own.first;
    place[0] = sums.g;
    place[own.step] = sums.h;
    place[2 * own.step] = sums.n;
}

// The sums of the child that was summed in a bin; those of several devices are added up, and kept.
__device__ inline Sums load_built(
    const Job& job, int64 k, const Family& family, const BinPlace& own, bool keeps) {
    int64* histogram = job.histograms + family.small_slot * job.histogram_length;
    if (job.n_peers == 1) return load_bin(histogram, own);
    const int64 built = job.exchange_built + k * job.histogram_length;
    Sums sums = {0, 0, 0};
    for (int64 peer = 0; peer < job.n_peers; peer++)
        sums = sums + load_bin(job.peers[peer] + built, own);
    if (keeps) store_bin(sums, own, histogram);
    return sums;
}

// The sums of the other one by subtraction: it takes over its parent's histogram.
__device__ inline Sums subtract_built(
    const Job& job, const Family& family, const BinPlace& own, const Sums& built) {
    int64* histogram = job.histograms + family.large_slot * job.histogram_length;
    const Sums sums = load_bin(histogram, own) - built;
    store_bin(sums, own, histogram);
    return sums;
}

// A family's sums in a bin.
__device__ inline void complete_bin(
    const Job& job, int64 k, const Family& family, const BinPlace& own, Sums& small, Sums& large) {
    small = large = {0, 0, 0};
    if (!own.exists || family.mode == NO_HISTOGRAMS) return;
    small = load_built(job, k, family, own, true);
    if (family.mode == SUBTRACT) large = subtract_built(job, family, own, small);
}

// The sums of one of its children in a bin.
__device__ inline Sums complete_child(
    const Job& job, int64 k, const Family& family, const BinPlace& own, int64 child) {
    if (!own.exists) return {0, 0, 0};
    const bool is_small = family.left + child == family.small;
    const Sums built = load_built(job, k, family, own, is_small);
    return is_small ? built : subtract_built(job, family, own, built);
}

// Of one number in each lane of a warp, the sum up to each thread's bin.
__device__ inline int64 prefix_warp(int64 value, int64 group) {
    const int lane = own_lane();
    for (int distance = (int)group; distance < 32; distance *= 2) {
        const int64 before = __shfl_up_sync(ALL_LANES, value, distance);
        if (lane >= distance) value += before;
    }
    return value;
}

// Of the sums of N children in each bin, make the sums up to each bin. All threads take part.
template <int N>
__device__ inline void prefix_bins(Sums (&sums)[N], int64 group, WarpSums& shared) {
    const int lane = own_lane(), warp = own_warp(), n_warps = blockDim.x / 32;
    const int64 in_group = threadIdx.x & (group - 1);
#pragma unroll
    for (int child = 0; child < N; child++) {
        sums[child].g = prefix_warp(sums[child].g, group);
        sums[child].h = prefix_warp(sums[child].h, group);
        sums[child].n = prefix_warp(sums[child].n, group);
        if (lane >= 32 - group) {
            shared.sums[child][0][in_group][warp] = sums[child].g;
            shared.sums[child][1][in_group][warp] = sums[child].h;
            shared.sums[child][2][in_group][warp] = sums[child].n;
        }
    }
    __syncthreads();
    for (int row = warp; row < 3 * N * (int)group; row += n_warps) {
        const int rows = (int)group;
        int64* by_warp = shared.sums[row / (3 * rows)][row / rows % 3][row % rows];
        const int64 value = lane < n_warps ? by_warp[lane] : 0;
        const int64 before = prefix_warp(value, 1) - value;
        if (lane < n_warps) by_warp[lane] = before;
    }
    __syncthreads();
#pragma unroll
    for (int child = 0; child < N; child++) {
        sums[child].g += shared.sums[child][0][in_group][warp];
        sums[child].h += shared.sums[child][1][in_group][warp];
        sums[child].n += shared.sums[child][2][in_group][warp];
    }
}

// The best split found so far: the highest gain, then the lowest bin, then missing to the right.
struct Found {
    int64 order;  // of the gain
    int32 index;  // 2 * bin + missing goes left
};

__device__ inline Found find_nothing() { return {order_of(-infinity()), 0x7FFFFFFF}; }

__device__ inline Found better_of(const Found& a, const Found& b) {
    return b.order > a.order || (b.order == a.order && b.index < a.index) ? b : a;
}

__device__ inline double gain_of(const Found& found) {
    return of_bits(found.order ^ ((found.order >> 63) & 0x7FFFFFFFFFFFFFFF));
}

struct WarpFinds {
    Found found[2][MOST_GROUP][MOST_WARPS];
};

__device__ inline Found best_of_warp(Found found, int64 group) {
    for (int distance = 16; distance >= group; distance /= 2) {
        const Found other = {__shfl_xor_sync(ALL_LANES, found.order, distance),
                             __shfl_xor_sync(ALL_LANES, found.index, distance)};
        found = better_of(found, other);
    }
    return found;
}

// The best split of each lane for N children, from those of all bins. All threads take part.
template <int N>
__device__ inline void choose_bins(Found (&found)[N], int64 group, WarpFinds& shared) {
    const int lane = own_lane(), warp = own_warp(), n_warps = blockDim.x / 32;
    const int64 in_group = threadIdx.x & (group - 1);
#pragma unroll
    for (int child = 0; child < N; child++) {
        const Found best = best_of_warp(found[child], group);
        if (lane < group) shared.found[child][in_group][warp] = best;
    }
    __syncthreads();
    for (int row = warp; row < N * (int)group; row += n_warps) {
        Found* by_warp = shared.found[row / (int)group][row % (int)group];
        const Found best = best_of_warp(lane < n_warps ? by_warp[lane] : find_nothing(), 1);
        if (lane == 0) by_warp[0] = best;
    }
    __syncthreads();
#pragma unroll
    for (int child = 0; child < N; child++) found[child] = shared.found[child][in_group][0];
}

// By the thread of the chosen bin, or of bin 0 if there is none: note the split of a lane.
__device__ inline void note_candidate(
    const Found& found, int64 f, int64 bin, const Sums& left, const Sums& missing,
    Candidate* candidate) {
    const bool is_found = found.order > find_nothing().order;
    if (bin != (is_found ? found.index / 2 : 0)) return;
    const int32 missing_left = is_found ? found.index & 1 : 0;
    Candidate own;
    own.gain = is_found ? gain_of(found) : -infinity();
    own.split_bin = is_found ? found.index / 2 : 0;
    own.feature = (int32)f;
    store_sums(missing_left ? left + missing : left, own.left);
    own.n_missing = missing.n;
    own.missing_left = missing_left;
    *candidate = own;
}

// The gains of a split after a bin: missing to the right, and to the left.
struct Gains {
    double right, left;
};

__device__ inline Gains score_bin(
    const Limits& limits, double parent, const Sums& left, const Sums& missing, const Sums& totals,
    bool is_last) {
    Gains gains;
    gains.right = gain_over(parent, is_last ? without_order(limits) : limits, left, totals);
    gains.left = missing.n > 0 ? gain_over(parent, limits, left + missing, totals) : gains.right;
    return gains;
}

// The bin that a feature may be split after, 0 if there is none: any split between the lowest and
// the highest bin with rows is as likely; with missing rows, so is one of all values against these.
__device__ inline int64 draw_bin(
    uint64 key, int64 number, int64 f, int64 lowest, int64 highest, bool any_missing,
    int64 n_value_bins) {
    if (highest == 0) return 0;
    const int64 n = highest - lowest + (any_missing ? 1 : 0);
    if (n == 0) return 0;
    const uint64 own_key = extend_key(extend_key(key, RANDOM_SPLITS), (uint64)number);
    const int64 drawn = lowest + (int64)(uniform(own_key, (uint64)f) * (double)n);
    return drawn == highest ? n_value_bins : drawn;
}
