// The walk of a row through a tree, see kernels/explain/values.py for what it computes.
//
// All rows take the same way, through every split. A subtree of at most LOW_LEVELS levels is walked
// by nested loops, one for each level, whose state is in registers. The few splits above have their
// state in memory, and a list of operations tells what to do with them.
#pragma once
#include "explain/records.cuh"
#include "layout.cuh"
#include "runtime/grid.cuh"

// A row and a tree.
struct Walk {
    const uint8* codes;  // of the row: [column][BLOCK]
    const double* records;  // of the tree's splits
    const double* value;  // of the leaves, in the column of the output
    const double* weight;  // of the points
    double* sums;  // of the row: [slot][SUM_PITCH]
    double* totals;  // of the row and each split of the tree, from the passes before
    double* high;  // state of the upper levels
    uint64 passes;  // bit k: the row passes the feature of the split at level k, on the way here
    int32 pitch;  // between items of totals and of high
    int32 first;  // split of the tree
    int32 stride;  // items of a record
    int32 factors;  // place of those of this pass in a record
    bool is_first, is_last;  // of the passes

    // For pairs of features, see interactions.cu.
    const int32* first_pair;  // [n_splits + 1]: where the pairs of a split begin
    const Pair* pairs;
    const double* rates;  // of the tree's splits, at the points of this pass
    double* pair_sums;  // of the row: [pair][pitch]
    double* pair_totals;  // of the row and each pair of the tree, from the passes before
    int32 first_of_tree;  // pair
};

// Add to the pairs of a split and the features above it, from the terms of its integral.
template <int POINTS>
__device__ __forceinline__ void add_pairs(const Walk& walk, int32 number, const double* terms,
                                          double change) {
    int32 end = __ldg(walk.first_pair + number + 1);
#pragma unroll 1
    for (int32 k = __ldg(walk.first_pair + number); k < end; ++k) {
        int4 words = __ldg((const int4*)(walk.pairs + k));
        Pair pair = {words.x, words.y, words.z, words.w};
        const double* rates = walk.rates + (walk.passes >> pair.level & 1 ? pair.rates : 0);
        double* kept = walk.pair_totals + (int64)(k - walk.first_of_tree) * walk.pitch;
        double total = walk.is_first ? 0.0 : *kept;
#pragma unroll
        for (int q = 0; q < POINTS; ++q) total += terms[q] * __ldg(rates + q);
        if (walk.is_last)
            walk.pair_sums[(int64)pair.number * walk.pitch] += change * total;
        else
            *kept = total;
    }
}

// A split on the way, and how the row stands to it. What else is known of the split is read when it
// is needed: there are no registers to keep it for all levels.
template <int POINTS, bool HAS_PAIRS> struct Here {
    int32 place;  // of the record
    int32 stand;

    __device__ __forceinline__ Here(const Walk& walk, int32 place, Split& split) : place(place) {
        int4 words = __ldg((const int4*)find_record(walk));
        split = {(uint32)words.x, words.y, words.z, (uint32)words.w};
        uint32 code = __ldg(walk.codes + (split.test >> COLUMN_SHIFT) * (uint32)BLOCK);
        bool goes_left = ((code - (split.test >> SKIP_SHIFT & 1)) & 255) <= (split.test & 255);
        uint32 same = split.levels >> LEVEL_BITS;
        bool passed = same == NO_LEVEL || (walk.passes >> (same & 63) & 1);
        stand = passed ? (goes_left ? GOES_LEFT : GOES_RIGHT) : HAS_FAILED;
    }

    __device__ __forceinline__ const Record* find_record(const Walk& walk) const {
        return (const Record*)(walk.records + place);
    }

    // Multiply the products by the factors of a side: left, or 1 - left. They are between 0 and 1:
    // the absolute value does what two selections would do.
    __device__ __forceinline__ void enter_child(Walk& walk, int32 side, const double* product,
                                                double* entered) const {
        const Record* record = find_record(walk);
        const double* factors = (const double*)record + walk.factors + stand * POINTS;
        double start = side == 0 ? 0.0 : 1.0;
#pragma unroll
        for (int q = 0; q < POINTS; ++q) entered[q] = product[q] * fabs(start - factors[q]);
        uint64 bit = 1ull << (record->split.levels & 63);
        walk.passes = (walk.passes & ~bit) | (stand == side ? bit : 0);
    }

    // Write the sums below the split, and add to the values of its feature. `below` may be one of
    // the children's.
    __device__ __forceinline__ void close(const Walk& walk, const double* product,
                                          const double* from_left, const double* from_right,
                                          double* below) const {
        const Record* record = find_record(walk);
        const double* scale = (const double*)record + walk.factors + SCALE * POINTS;
        const double* factors = (const double*)record + walk.factors + stand * POINTS;
        double change_by = __ldg(record->changes + stand);
        double* sum = walk.sums + __ldg(&record->sum);
        double total = 0.0, terms[POINTS];
        if (!walk.is_first) total = walk.totals[(int64)record->number * walk.pitch];
#pragma unroll
        for (int q = 0; q < POINTS; ++q) {
            double right = from_right[q], change = from_left[q] - right;
            terms[q] = product[q] * __ldg(scale + q) * change;
            total += terms[q];
            below[q] = right + factors[q] * change;
        }
        if (walk.is_last)
            *sum += change_by * total;
        else
            walk.totals[(int64)record->number * walk.pitch] = total;
        if (HAS_PAIRS) add_pairs<POINTS>(walk, walk.first + record->number, terms, change_by);
    }
};

__device__ __forceinline__ double read_leaf(const Walk& walk, int32 child) {
    return __ldg(walk.value + ~child);
}

// A subtree of at most LEVELS levels of splits.
template <int POINTS, bool HAS_PAIRS, int LEVELS> struct Subtree {
    static __device__ __forceinline__ void explain(Walk& walk, int32 place, const double* product,
                                                   double* below) {
        Split split;
        Here<POINTS, HAS_PAIRS> here(walk, place, split);
        double from_left[POINTS], found[POINTS];
#pragma unroll 1
        for (int32 side = 0; side < 2; ++side) {
            const int32* children = &here.find_record(walk)->split.left;
            int32 child = children[side];
            if (child < 0) {
                double value = read_leaf(walk, child);
#pragma unroll
                for (int q = 0; q < POINTS; ++q) found[q] = value;
            } else {
                double entered[POINTS];
                here.enter_child(walk, side, product, entered);
                Subtree<POINTS, HAS_PAIRS, LEVELS - 1>::explain(walk, child, entered, found);
            }
#pragma unroll
            for (int q = 0; q < POINTS; ++q)
                if (side == 0) from_left[q] = found[q];
        }
        here.close(walk, product, from_left, found, below);
    }
};

template <int POINTS, bool HAS_PAIRS> struct Subtree<POINTS, HAS_PAIRS, 1> {
    static __device__ __forceinline__ void explain(Walk& walk, int32 place, const double* product,
                                                   double* below) {
        Split split;
        Here<POINTS, HAS_PAIRS> here(walk, place, split);
        double left = read_leaf(walk, split.left), right = read_leaf(walk, split.right);
        double from_left[POINTS], from_right[POINTS];
#pragma unroll
        for (int q = 0; q < POINTS; ++q) from_left[q] = left, from_right[q] = right;
        here.close(walk, product, from_left, from_right, below);
    }
};

// The state of a level in memory: products, then the sums below the left child.
__device__ __forceinline__ double* find_high(const Walk& walk, int32 level, int32 kind) {
    return walk.high + (int64)(level * 2 + kind) * MOST_POINTS * walk.pitch;
}

template <int POINTS>
__device__ __forceinline__ void load_high(const Walk& walk, int32 level, int32 kind, double* out) {
    const double* own = find_high(walk, level, kind);
#pragma unroll
    for (int q = 0; q < POINTS; ++q) out[q] = own[(int64)q * walk.pitch];
}

template <int POINTS>
__device__ __forceinline__ void store_high(const Walk& walk, int32 level, int32 kind,
                                           const double* from) {
    double* own = find_high(walk, level, kind);
#pragma unroll
    for (int q = 0; q < POINTS; ++q) own[(int64)q * walk.pitch] = from[q];
}

constexpr int32 PRODUCT = 0, BELOW = 1;

// Find what is below the children of a split: leaves, or what was found, last or before.
template <int POINTS>
__device__ __forceinline__ void read_children(const Walk& walk, const Split& split,
                                              const double* found, double* from_left,
                                              double* from_right) {
    double left = split.left < 0 ? read_leaf(walk, split.left) : 0.0;
    double right = split.right < 0 ? read_leaf(walk, split.right) : 0.0;
    if (split.left >= 0 && split.right >= 0)
        load_high<POINTS>(walk, split.levels & 255, BELOW, from_left);
#pragma unroll
    for (int q = 0; q < POINTS; ++q) {
        from_right[q] = split.right < 0 ? right : found[q];
        if (split.left < 0)
            from_left[q] = left;
        else if (split.right < 0)
            from_left[q] = found[q];
    }
}

// Do the operations [begin, end) of a tree. `found` is what is below the split that was closed
// last: a right child, or a left one whose sibling is not walked yet.
template <int POINTS, bool HAS_PAIRS>
__device__ __noinline__ void walk_tree(const Walk& given, const int32* begin, const int32* end) {
    Walk walk = given;
    walk.passes = 0;
    double found[POINTS];
#pragma unroll 1
    for (const int32* word = begin; word < end; ++word) {
        int32 operation = *word & 3, child = ((*word >> WORD_SHIFT) - walk.first) * walk.stride;
        Split split;
        Here<POINTS, HAS_PAIRS> here(walk, child, split);
        int32 level = split.levels & 255;
        double product[POINTS];
        if (level == 0) {
#pragma unroll
            for (int q = 0; q < POINTS; ++q) product[q] = walk.weight[q];
        } else {
            load_high<POINTS>(walk, level, PRODUCT, product);
        }
        if (operation == CLOSE) {
            double from_left[POINTS], from_right[POINTS];
            read_children<POINTS>(walk, split, found, from_left, from_right);
            here.close(walk, product, from_left, from_right, found);
            continue;
        }
        if (operation != START) {
            int32 side = operation == GO_LEFT ? 0 : 1;
            if (side == 1 && split.left >= 0) store_high<POINTS>(walk, level, BELOW, found);
            child = side == 0 ? split.left : split.right;
            here.enter_child(walk, side, product, product);
        }
        if (*word & ENTERS_LOW)
            Subtree<POINTS, HAS_PAIRS, LOW_LEVELS>::explain(walk, child, product, found);
        else
            store_high<POINTS>(walk, level + 1, PRODUCT, product);
    }
}

// What all trees of a row have in common.
__device__ inline Walk start_walk(const Walks& walks, const Scratch& scratch, double* sums) {
    Walk walk;
    walk.sums = sums + threadIdx.x;
    walk.totals = scratch.totals + first_item();
    walk.high = scratch.high + first_item();
    walk.pitch = (int32)item_step();
    return walk;
}

// Add the values of a tree to the sums of a row; `walk` has the row, and `rates` are those of
// the tree.
template <bool HAS_PAIRS>
__device__ __forceinline__ void explain_tree(Walk& walk, const Walks& walks, int64 tree,
                                             int64 column, const double* rates = nullptr) {
    int64 n_points = walks.n_points[tree];
    const int32* begin = walks.words + walks.first_word[tree];
    const int32* end = walks.words + walks.first_word[tree + 1];
    walk.records = walks.records + walks.first_record[tree];
    walk.value = walks.value + column;
    walk.first = (int32)walks.first_split[tree];
    walk.stride = find_stride(n_points);
    for (Pass pass = first_pass(n_points); pass.first < n_points; pass = next_pass(pass)) {
        walk.factors = find_factors(pass);
        walk.weight = walks.weight + n_points * walks.n_most_points + pass.first;
        walk.is_first = pass.first == 0;
        walk.is_last = pass.first + pass.size == n_points;
        if (HAS_PAIRS) walk.rates = rates + pass.first;
        if (pass.size == 4) walk_tree<4, HAS_PAIRS>(walk, begin, end);
        if (pass.size == 3) walk_tree<3, HAS_PAIRS>(walk, begin, end);
        if (pass.size == 2) walk_tree<2, HAS_PAIRS>(walk, begin, end);
        if (pass.size == 1) walk_tree<1, HAS_PAIRS>(walk, begin, end);
    }
}
static_assert(MOST_POINTS == 4, "explain_tree has a case for each number of points");
