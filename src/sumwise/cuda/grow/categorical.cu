// The best set of categories of every categorical feature: kernels/grow/storage/categorical.py.
//
// A block has a feature. A thread has a bin; then a place in the order of bins; then a candidate: a
// run from the low end of the order, or from the high end.
#include "grow/bins.cuh"
#include "grow/categorical.cuh"
#include "grow/columns.cuh"

constexpr int32 SET_THREADS = 32 * SET_WORDS;
constexpr int32 MOST_LENGTH = SET_THREADS / 2;  // of a set: at most half of the bins

// The feature of a block.
struct SetFeature {
    int64 f;
    int64 lane;
    int64 n_choices;  // bins that a set may have
    bool is_one_hot;
};

__device__ static SetFeature find_feature(const Job& job, int64 lane) {
    const int64 f = job.lane_feature[lane], place = job.category_place[f];
    return {f, lane, job.n_choices[place], job.one_hot[place] != 0};
}

// The thread's bin.
__device__ static BinPlace find_own_bin(const Job& job, const SetFeature& feature) {
    BinPlace own = {};
    own.lane = feature.lane;
    own.bin = threadIdx.x;
    return place_bin(job, own);
}

// What the threads of a block share.
struct SetMemory {
    Sums prefix[SET_THREADS + 1];  // sums of the first 0, 1, ... bins of the order
    Sums by_warp[SET_WORDS];
    Found found[SET_WORDS];
    int64 keys[SET_THREADS];    // ratios of the listed bins, as integers of the same order
    int32 number[SET_THREADS];  // of each candidate: see below
    uint32 listed[SET_WORDS];   // the bins that sets may have
    int64 n_missing;
    int32 missing_rank;
    int32 n_found[2];
    int32 first, last;  // the best set, in the order of bins
};

// Numbers of candidates are not negative. Before they are given, a candidate has one of these.
constexpr int32 NO_CANDIDATE = -1;  // a child would be too small, or the set too similar to another
constexpr int32 POSSIBLE = -2;
constexpr int32 TOO_LONG = -3;  // the other side is too small; so it is for all longer sets

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
    const int32 own = threadIdx.x, warp = own / 32;
    __syncthreads();  // the memory may still be in use
    if (rank >= 0) shared.prefix[rank + 1] = sums;
    __syncthreads();
    Sums prefix = {0, 0, 0};
    if (own < n) prefix = shared.prefix[own + 1];
    prefix = {prefix_warp(prefix.g, 1), prefix_warp(prefix.h, 1), prefix_warp(prefix.n, 1)};
    if ((own & 31) == 31) shared.by_warp[warp] = prefix;
    __syncthreads();
    for (int32 before = 0; before < warp; before++) prefix = prefix + shared.by_warp[before];
    if (own < n) shared.prefix[own + 1] = prefix;
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

// By one thread: number the candidates of one end of the order of n bins, short ones first.
__device__ static void number_candidates(
    int32 end, int32 n, int32 longest, int64 min_rows, SetMemory& shared) {
    int32* numbers = shared.number + end * MOST_LENGTH;
    int64 before = 0;  // rows of the last candidate
    int32 found = 0;
    for (int32 length = 1; length <= longest; length++) {
        const int32 number = numbers[length - 1];
        const int64 rows = sum_run(shared, end ? n - length : 0, length).n;
        if (number == TOO_LONG) break;
        if (number == NO_CANDIDATE || rows - before < min_rows) continue;
        before = rows;
        numbers[length - 1] = found++;
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
    int32 number = NO_CANDIDATE;
    if (length <= longest) {
        const Sums sums = sum_run(shared, first, length), others = totals - sums;
        const bool is_small = sums.n < job.min_samples_leaf ||
                              (double)sums.h * state.unit_h < job.min_child_weight;
        const bool is_last = others.n < larger_of(job.min_samples_leaf, job.set_min_rows) ||
                             (double)others.h * state.unit_h < job.min_child_weight;
        number = is_small ? NO_CANDIDATE : is_last ? TOO_LONG : POSSIBLE;
        shared.number[own] = number;
    }
    __syncthreads();
    if (own % MOST_LENGTH == 0) number_candidates(end, n, longest, job.set_min_rows, shared);
    __syncthreads();
    n_candidates = shared.n_found[0] + shared.n_found[1];
    if (length <= longest) number = shared.number[own];
    if (number < 0) return {NO_CANDIDATE, 0, 0};
    return {number + (end ? shared.n_found[0] : 0), first, length};
}

// What a thread knows of the sets of a feature.
struct SetPlace {
    int32 n;     // bins in the order
    int32 rank;  // of the thread's bin, -1 if it is not in the order
    SetCandidate candidate;
    int32 n_candidates;
};

// Order the bins and list the candidates, from the sums of the thread's bin and those of all bins.
// Of random splits one candidate remains, drawn for a node.
__device__ static SetPlace list_sets(
    const Job& job, const State& state, const SetFeature& feature, const Sums& sums,
    const Sums& totals, int64 node, SetMemory& shared) {
    SetPlace own;
    own.rank = order_bins(job, state, feature, sums, shared, own.n);
    fill_prefix(sums, own.rank, own.n, shared);
    own.candidate = list_candidates(job, state, feature, own.n, totals, shared, own.n_candidates);
    if (job.random_splits) {
        const uint64 key = extend_key(job.request->key, RANDOM_SPLITS);
        const double drawn = uniform(extend_key(key, (uint64)node), (uint64)feature.f);
        if (own.candidate.number != (int32)(drawn * (double)own.n_candidates))
            own.candidate.number = NO_CANDIDATE;
    }
    return own;
}

// Add the gain of a node to that of the thread's candidate.
__device__ static double add_set_gain(
    const Job& job, const State& state, int64 f, int64 node, const Sums& totals,
    const SetCandidate& candidate, const SetMemory& shared, double total) {
    // The node's score is without the penalty: so a split must gain what the penalty costs.
    const Limits limits = find_limits(job, state.unit_g, state.unit_h, node, -1);
    const double parent = node_score(limits, totals);
    const Sums left = sum_run(shared, candidate.first, candidate.length);
    return add_gain(gain_over(parent, with_set_l2(job, f, limits), left, totals), total);
}

// A feature that a child cannot be split on.
__device__ static void note_nothing(int64 f, Candidate* target) {
    if (threadIdx.x == 0) *target = {-infinity(), 0, (int32)f, {0, 0, 0}, 0, 0};
}

// The best of the candidates, the first of equals.
__device__ static Found choose_candidate(Found found, SetMemory& shared) {
    found = best_of_warp(found, 1);
    if (is_first_lane()) shared.found[own_warp()] = found;
    __syncthreads();
    for (int32 warp = 0; warp < SET_WORDS; warp++) found = better_of(found, shared.found[warp]);
    return found;
}

// Keep the best of the candidates for a child: its thread tells which run it is, and all write its
// bins. Its sums are those of the node that was scored last.
__device__ static void note_set(
    const Job& job, const SetFeature& feature, int64 child, const SetPlace& own, double gain,
    SetMemory& shared) {
    Candidate* target = job.candidates + child * job.n_tiles * LANES + feature.lane;
    const SetCandidate candidate = own.candidate;
    Found found = find_nothing();
    if (candidate.number >= 0) found = {order_of(gain), candidate.number};
    found = choose_candidate(found, shared);
    if (found.order == find_nothing().order) {
        note_nothing(feature.f, target);
        return;
    }
    if (candidate.number == found.index) {
        const int32 first = candidate.first, last = first + candidate.length;
        const bool has_missing = shared.missing_rank >= first && shared.missing_rank < last;
        Candidate best = {gain, (int32)SET, (int32)feature.f, {0, 0, 0}, shared.n_missing,
                          has_missing};
        store_sums(sum_run(shared, first, candidate.length), best.left);
        *target = best;
        shared.first = first;
        shared.last = last;
    }
    __syncthreads();
    const bool is_inside = threadIdx.x > 0 && own.rank >= shared.first && own.rank < shared.last;
    const uint32 word = __ballot_sync(ALL_LANES, is_inside);
    if (is_first_lane()) candidate_set(job, child, feature.f)[own_warp()] = word;
}

// Kernels

// The sums of the thread's bin in a child's histogram, which has been completed.
__device__ static Sums load_child(
    const Job& job, const Family& family, int64 child, const BinPlace& place) {
    if (!place.exists) return {0, 0, 0};
    const bool is_small = family.left + child == family.small;
    const int64 slot = is_small ? family.small_slot : family.large_slot;
    return load_bin(job.histograms + slot * job.histogram_length, place);
}

// Find the best set of a feature for a child of a family, from the sums of the thread's bin.
__device__ static void score_child_sets(
    const Job& job, const State& state, const SetFeature& feature, const Family& family,
    int64 child, const Sums& sums, SetMemory& shared) {
    if (!is_allowed(job, child, feature.f)) {
        note_nothing(feature.f, job.candidates + child * job.n_tiles * LANES + feature.lane);
        return;
    }
    const int64 node = family.left + child % 2;
    const Sums totals = load_sums(family.totals[child % 2]);
    const SetPlace own = list_sets(job, state, feature, sums, totals, node, shared);
    double gain = -infinity();
    if (own.candidate.number >= 0)
        gain = add_set_gain(job, state, feature.f, node, totals, own.candidate, shared, gain);
    note_set(job, feature, child, own, gain, shared);
    __syncthreads();  // the next child uses the same memory
}

extern "C" __global__ void __launch_bounds__(SET_THREADS) score_sets(Job job) {
    __shared__ SetMemory shared;
    const State state = *job.state;
    const SetFeature feature = find_feature(job, job.set_lanes[blockIdx.x]);
    const BinPlace place = find_own_bin(job, feature);
    for (int64 child = blockIdx.y; child < 2 * state.n_families; child += gridDim.y) {
        const Family& family = job.families[child / 2];
        if (!(family.splittable >> child % 2 & 1)) continue;
        const Sums sums = load_child(job, family, child % 2, place);
        score_child_sets(job, state, feature, family, child, sums, shared);
    }
}

// The same for all nodes of a level together: their summed bins give the order and the candidates.
// A candidate's gain is the sum over the nodes, in their order.
extern "C" __global__ void __launch_bounds__(SET_THREADS) score_level_sets(Job job) {
    __shared__ SetMemory shared;
    const State state = *job.state;
    if (state.n_families == 0) return;
    const SetFeature feature = find_feature(job, job.set_lanes[blockIdx.x]);
    if (!is_allowed(job, 0, feature.f)) {
        note_nothing(feature.f, job.candidates + feature.lane);
        return;
    }
    const BinPlace place = find_own_bin(job, feature);
    Sums sums = {0, 0, 0}, totals = {0, 0, 0};
    for (int64 child = 0; child < 2 * state.n_families; child++) {
        const Family& family = job.families[child / 2];
        if (!(family.splittable >> child % 2 & 1)) continue;
        sums = sums + load_child(job, family, child % 2, place);
        totals = totals + load_sums(family.totals[child % 2]);
    }
    const SetPlace own = list_sets(job, state, feature, sums, totals, state.level_first, shared);
    double gain = -infinity();
    for (int64 child = 0; child < 2 * state.n_families && own.n_candidates > 0; child++) {
        const Family& family = job.families[child / 2];
        if (!(family.splittable >> child % 2 & 1)) continue;
        fill_prefix(load_child(job, family, child % 2, place), own.rank, own.n, shared);
        if (own.candidate.number < 0) continue;
        gain = add_set_gain(
            job, state, feature.f, family.left + child % 2, load_sums(family.totals[child % 2]),
            own.candidate, shared, gain);
    }
    note_set(job, feature, 0, own, gain, shared);
}
