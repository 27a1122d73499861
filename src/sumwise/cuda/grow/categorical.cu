// The best set of categories of every categorical feature: kernels/grow/storage/categorical.py.
//
// A block has a feature, and a thread a bin. Then a thread has a place in the order of bins, and in
// the end a candidate: a run from the low end of the order, or from the high end.
#include "grow/bins.cuh"
#include "grow/categorical.cuh"
#include "grow/columns.cuh"

constexpr int32 SET_THREADS = 256;
constexpr int32 MOST_LENGTH = SET_THREADS / 2;  // of a set: at most half of the bins

// What the threads of a block share.
struct SetMemory {
    WarpSums warp_sums;
    WarpFinds warp_finds;
    Sums prefix[SET_THREADS + 1];  // sums of the first 0, 1, ... bins of the order
    int64 keys[SET_THREADS];       // ratios of the listed bins, as integers of the same order
    uint32 listed[SET_WORDS];      // the bins that sets may have
    int64 rows[SET_THREADS];       // of each candidate
    int32 number[SET_THREADS];     // of each candidate: see below
    int32 n_found[2];
    int64 n_missing;
    int32 missing_rank;
    int32 first, last;  // the best set, in the order of bins
};

// Numbers of candidates are not negative. Before they are given, a candidate has one of these.
constexpr int32 NO_CANDIDATE = -1;  // a child would be too small, or the set too similar to another
constexpr int32 POSSIBLE = -2;
constexpr int32 LAST = -3;  // the other side is too small; so it is for all longer sets

// A child that is scored.
struct ScoredChild {
    int64 node;
    bool is_splittable;
    const int64* histogram;
    Sums totals;
};

__device__ static ScoredChild find_child(const Job& job, int64 number) {
    const Family& family = job.families[number / 2];
    const int64 child = number % 2, node = family.left + child;
    const int64 slot = node == family.small ? family.small_slot : family.large_slot;
    const bool is_splittable = family.splittable >> child & 1;
    return {node, is_splittable, job.histograms + slot * job.histogram_length,
            load_sums(family.totals[child])};
}

// The feature of a block.
struct SetFeature {
    int64 f;
    int64 lane;
    int64 n_choices;
    bool is_one_hot;
};

__device__ static SetFeature find_feature(const Job& job, int64 lane) {
    const int64 f = job.lane_feature[lane], place = job.category_place[f];
    return {f, lane, job.n_choices[place], job.one_hot[place] != 0};
}

// The order of bins

__device__ static double find_ratio(
    const Sums& sums, double unit_g, double unit_h, double smoothing) {
    const double curvature = (double)sums.h * unit_h + smoothing;
    return curvature > 0.0 ? (double)sums.g * unit_g / curvature : 0.0;
}

// Order the bins that sets may have by ratio, equal ones by number. Returns the place of the
// thread's bin, -1 if it has none; n is how many have one.
__device__ static int32 order_bins(
    const Job& job, const State& state, const SetFeature& feature, const Sums& sums,
    SetMemory& shared, int32& n) {
    const int32 bin = threadIdx.x, lane = bin & 31, warp = bin / 32;
    const bool is_enough = feature.is_one_hot || (double)sums.n >= job.smoothing;
    const bool is_listed = bin < feature.n_choices && sums.n > 0 && is_enough;
    const uint32 own_word = __ballot_sync(ALL_LANES, is_listed);
    if (lane == 0) shared.listed[warp] = own_word;
    __syncthreads();
    int32 place = __popc(own_word & ((1u << lane) - 1));
    n = 0;
    for (int32 word = 0; word < SET_WORDS; word++) {
        const int32 n_listed = __popc(shared.listed[word]);
        place += word < warp ? n_listed : 0;
        n += n_listed;
    }
    int32 rank = place;
    if (!feature.is_one_hot) {
        const double ratio = find_ratio(sums, state.unit_g, state.unit_h, job.smoothing);
        const int64 key = order_of(ratio + 0.0);  // zeros of both signs are equal
        if (is_listed) shared.keys[place] = key;
        __syncthreads();
        rank = 0;
        for (int32 other = 0; other < n; other++) {
            const int64 other_key = shared.keys[other];
            rank += other_key < key || (other_key == key && other < place);
        }
    }
    if (!is_listed) rank = -1;
    if (bin == 0) {
        shared.missing_rank = rank;
        shared.n_missing = sums.n;
    }
    return rank;
}

// Make the sums of the first 0, 1, ... n bins of the order, from those of the thread's bin.
__device__ static void fill_prefix(const Sums& sums, int32 rank, int32 n, SetMemory& shared) {
    const int32 own = threadIdx.x;
    __syncthreads();  // the memory may still be in use
    if (rank >= 0) shared.prefix[rank + 1] = sums;
    __syncthreads();
    Sums prefix[1] = {{0, 0, 0}};
    if (own < n) prefix[0] = shared.prefix[own + 1];
    prefix_bins(prefix, 1, shared.warp_sums);
    if (own < n) shared.prefix[own + 1] = prefix[0];
    if (own == 0) shared.prefix[0] = {0, 0, 0};
    __syncthreads();
}

// Candidates

// The candidate of a thread: `length` bins of the order from `first` on.
struct SetCandidate {
    int32 number;  // NO_CANDIDATE for none
    int32 first, length;
};

__device__ static Sums sum_run(const SetMemory& shared, int32 first, int32 length) {
    return shared.prefix[first + length] - shared.prefix[first];
}

// By one thread: number the candidates of one end of the order, short ones first.
__device__ static void number_candidates(
    int32 end, int32 longest, int64 min_rows, SetMemory& shared) {
    int64 before = 0;  // rows of the last candidate
    int32 found = 0;
    for (int32 place = end * MOST_LENGTH; place < end * MOST_LENGTH + longest; place++) {
        const int32 number = shared.number[place];
        const int64 rows = shared.rows[place];
        if (number == LAST) break;
        if (number == NO_CANDIDATE || rows - before < min_rows) continue;
        before = rows;
        shared.number[place] = found++;
    }
    shared.n_found[end] = found;
}

// List the sets worth a look; returns the thread's one, and how many there are.
__device__ static SetCandidate list_candidates(
    const Job& job, const State& state, const SetFeature& feature, int32 n, const Sums& totals,
    SetMemory& shared, int32& n_candidates) {
    const int32 own = threadIdx.x;
    if (feature.is_one_hot) {
        n_candidates = n;
        return {own < n ? own : NO_CANDIDATE, own, 1};
    }
    const int32 longest = (int32)smaller_of(job.max_categories, (int64)(n + 1) / 2);
    const int32 end = own / MOST_LENGTH, length = own % MOST_LENGTH + 1;
    const int32 first = end ? n - length : 0;
    shared.number[own] = NO_CANDIDATE;
    if (length <= longest) {
        const Sums sums = sum_run(shared, first, length), others = totals - sums;
        const bool is_small = sums.n < job.min_samples_leaf ||
                              (double)sums.h * state.unit_h < job.min_child_weight;
        const bool is_last = others.n < larger_of(job.min_samples_leaf, job.set_min_rows) ||
                             (double)others.h * state.unit_h < job.min_child_weight;
        shared.rows[own] = sums.n;
        shared.number[own] = is_small ? NO_CANDIDATE : is_last ? LAST : POSSIBLE;
    }
    __syncthreads();
    if (own % MOST_LENGTH == 0) number_candidates(end, longest, job.set_min_rows, shared);
    __syncthreads();
    n_candidates = shared.n_found[0] + shared.n_found[1];
    const int32 number = shared.number[own];
    if (number < 0) return {NO_CANDIDATE, 0, 0};
    return {number + (end ? shared.n_found[0] : 0), first, length};
}

// Add the gain of a node to that of the thread's candidate.
__device__ static double add_node_gain(
    const Job& job, const State& state, int64 f, const ScoredChild& child,
    const SetCandidate& candidate, const SetMemory& shared, double total) {
    // The node's score is without the penalty: so a split must gain what the penalty costs.
    const Limits limits = find_limits(job, state.unit_g, state.unit_h, child.node, -1);
    const double parent = node_score(limits, child.totals);
    const Sums left = sum_run(shared, candidate.first, candidate.length);
    return add_gain(gain_over(parent, with_set_l2(job, f, limits), left, child.totals), total);
}

// A feature that a child cannot be split on.
__device__ static void note_nothing(int64 f, Candidate* target) {
    if (threadIdx.x == 0) *target = {-infinity(), 0, (int32)f, {0, 0, 0}, 0, 0};
}

// Keep the best of the candidates: its thread tells which run it is, and all write its bins. Its
// sums are those of the node that was scored last.
__device__ static void note_set(
    const Job& job, const SetFeature& feature, int64 row, const SetCandidate& own, double gain,
    int32 rank, SetMemory& shared) {
    const int64 f = feature.f;
    Candidate* target = job.candidates + row * job.n_tiles * LANES + feature.lane;
    Found found[1] = {find_nothing()};
    if (own.number >= 0) found[0] = {order_of(gain), own.number};
    choose_bins(found, 1, shared.warp_finds);
    const bool is_found = found[0].order > find_nothing().order;
    if (!is_found) {
        note_nothing(f, target);
        return;
    }
    if (own.number == found[0].index) {
        const int32 last = own.first + own.length;
        const bool has_missing = shared.missing_rank >= own.first && shared.missing_rank < last;
        Candidate best = {gain, (int32)SET, (int32)f, {0, 0, 0}, shared.n_missing, has_missing};
        store_sums(sum_run(shared, own.first, own.length), best.left);
        *target = best;
        shared.first = own.first;
        shared.last = last;
    }
    __syncthreads();
    const bool is_inside = threadIdx.x > 0 && rank >= shared.first && rank < shared.last;
    const uint32 word = __ballot_sync(ALL_LANES, is_inside);
    if ((threadIdx.x & 31) == 0) candidate_set(job, row, f)[threadIdx.x / 32] = word;
}

// Find the best set of a feature for children [begin, end) together, and note it for child `begin`.
// Their summed bins give the order and the candidates. Random splits are drawn for a node of a
// given number.
__device__ static void score_children(
    const Job& job, const State& state, const SetFeature& feature, int64 begin, int64 end,
    int64 number, SetMemory& shared) {
    BinPlace place = {};
    place.lane = feature.lane;
    place.bin = threadIdx.x;
    place = place_bin(job, place);
    Sums sums = {0, 0, 0}, totals = {0, 0, 0};
    for (int64 k = begin; k < end; k++) {
        const ScoredChild child = find_child(job, k);
        if (!child.is_splittable) continue;
        if (place.exists) sums = sums + load_bin(child.histogram, place);
        totals = totals + child.totals;
    }
    int32 n, n_candidates;
    const int32 rank = order_bins(job, state, feature, sums, shared, n);
    fill_prefix(sums, rank, n, shared);
    SetCandidate own = list_candidates(job, state, feature, n, totals, shared, n_candidates);
    if (job.random_splits) {
        const uint64 key = extend_key(job.request->key, RANDOM_SPLITS);
        const double drawn = uniform(extend_key(key, (uint64)number), (uint64)feature.f);
        if (own.number != (int32)(drawn * (double)n_candidates)) own.number = NO_CANDIDATE;
    }
    double gain = -infinity();
    for (int64 k = begin; k < end && n_candidates > 0; k++) {
        const ScoredChild child = find_child(job, k);
        if (!child.is_splittable) continue;
        if (end - begin > 1) {
            const Sums none = {0, 0, 0};
            fill_prefix(place.exists ? load_bin(child.histogram, place) : none, rank, n, shared);
        }
        if (own.number >= 0)
            gain = add_node_gain(job, state, feature.f, child, own, shared, gain);
    }
    note_set(job, feature, begin, own, gain, rank, shared);
}

extern "C" __global__ void __launch_bounds__(SET_THREADS) score_sets(Job job) {
    __shared__ SetMemory shared;
    const State state = *job.state;
    const SetFeature feature = find_feature(job, job.set_lanes[blockIdx.x]);
    for (int64 child = blockIdx.y; child < 2 * state.n_families; child += gridDim.y) {
        Candidate* target = job.candidates + child * job.n_tiles * LANES + feature.lane;
        const ScoredChild own = find_child(job, child);
        if (!own.is_splittable) continue;
        if (is_allowed(job, child, feature.f))
            score_children(job, state, feature, child, child + 1, own.node, shared);
        else
            note_nothing(feature.f, target);
        __syncthreads();  // the next child uses the same memory
    }
}

// The same for all nodes of a level together.
extern "C" __global__ void __launch_bounds__(SET_THREADS) score_level_sets(Job job) {
    __shared__ SetMemory shared;
    const State state = *job.state;
    if (state.n_families == 0) return;
    const SetFeature feature = find_feature(job, job.set_lanes[blockIdx.x]);
    if (is_allowed(job, 0, feature.f))
        score_children(job, state, feature, 0, 2 * state.n_families, state.level_first, shared);
    else
        note_nothing(feature.f, job.candidates + feature.lane);
}
