// The walk of a row through a tree, see kernels/explain/values.py for what it computes.
//
// All rows take the same way, through every split. A subtree of at most LOW_LEVELS levels is walked
// by nested loops, one for each level, whose state is in registers. The splits above, which are few,
// have their state in memory, and a list of operations tells what to do with them.
#pragma once
#include "explain/passes.cuh"
#include "layout.cuh"

// How a row stands to a split: it passed the feature so far and goes to a side, or has failed.
constexpr int32 GOES_LEFT = 0, GOES_RIGHT = 1, HAS_FAILED = 2;

// A row and a tree.
struct Walk {
    const uint8* codes;  // of the row: [column][BLOCK]
    const Split* splits;
    const int32* slot;
    const double* value;  // of the leaves, in the column of the output
    int64 n_columns;
    const double* factors;  // of the tree's splits, at the points of this pass
    const double* changes;
    const double* weight;  // of the points
    int32 first;  // split of the tree
    int32 stride;  // factors of a split
    double* sums;  // of the row: [slot][SUM_PITCH]
    bool is_first, is_last;  // of the passes
    double* totals;  // of the row and each split of the tree, from the passes before
    double* high;  // state of the upper levels
    int64 pitch;  // between items of totals and of high
    uint64 passes;  // bit k: the row passes the feature of the split at level k, on the way here
};

__device__ __forceinline__ int32 take_side(const Walk& walk, const Split& split) {
    uint32 code = walk.codes[(int64)(split.test >> COLUMN_SHIFT) * BLOCK];
    bool goes_left = ((code - (split.test >> SKIP_SHIFT & 1)) & 255) <= (split.test & 255);
    uint32 same = split.levels >> LEVEL_BITS;
    bool passed = same == NO_LEVEL || (walk.passes >> (same & 63) & 1);
    return passed ? (goes_left ? GOES_LEFT : GOES_RIGHT) : HAS_FAILED;
}

__device__ __forceinline__ void note_side(Walk& walk, const Split& split, int32 stand, int32 side) {
    uint64 bit = 1ull << (split.levels & 63);
    walk.passes = stand == side ? walk.passes | bit : walk.passes & ~bit;
}

__device__ __forceinline__ const double* find_factors(const Walk& walk, int32 number) {
    return walk.factors + (number - walk.first) * walk.stride;
}

__device__ __forceinline__ double read_leaf(const Walk& walk, int32 child) {
    return walk.value[~child * walk.n_columns];
}

// Multiply the products of a split by the factors of a side.
template <int POINTS>
__device__ __forceinline__ void enter_child(Walk& walk, const Split& split, const double* factors,
                                            int32 stand, int32 side, const double* product,
                                            double* entered) {
    const double* own = factors + stand * POINTS;
#pragma unroll
    for (int q = 0; q < POINTS; ++q) {
        double left = own[q];
        entered[q] = product[q] * (side == 0 ? left : 1.0 - left);
    }
    note_side(walk, split, stand, side);
}

// Write the sums below a split, and add to the values of its feature. ``below`` may be one of the
// children's.
template <int POINTS>
__device__ __forceinline__ void close_split(const Walk& walk, int32 number, const double* factors,
                                            int32 stand, const double* product,
                                            const double* from_left, const double* from_right,
                                            double* below) {
    const double *own = factors + stand * POINTS, *scale = factors + 3 * POINTS;
    int64 place = (number - walk.first) * walk.pitch;
    double total = walk.is_first ? 0.0 : walk.totals[place];
#pragma unroll
    for (int q = 0; q < POINTS; ++q) {
        double right = from_right[q], change = from_left[q] - right;
        total += product[q] * scale[q] * change;
        below[q] = right + own[q] * change;
    }
    if (walk.is_last) {
        walk.sums[walk.slot[number] * SUM_PITCH] += walk.changes[4 * (int64)number + stand] * total;
    } else {
        walk.totals[place] = total;
    }
}

// A subtree of at most LEVELS levels of splits.
template <int POINTS, int LEVELS> struct Subtree {
    static __device__ __forceinline__ void explain(Walk& walk, int32 number, const double* product,
                                                   double* below) {
        Split split = walk.splits[number];
        const double* factors = find_factors(walk, number);
        int32 stand = take_side(walk, split);
        double from_left[POINTS], found[POINTS];
#pragma unroll 1
        for (int32 side = 0; side < 2; ++side) {
            int32 child = side == 0 ? split.left : split.right;
            if (child < 0) {
                double value = read_leaf(walk, child);
#pragma unroll
                for (int q = 0; q < POINTS; ++q) found[q] = value;
            } else {
                double entered[POINTS];
                enter_child<POINTS>(walk, split, factors, stand, side, product, entered);
                Subtree<POINTS, LEVELS - 1>::explain(walk, child, entered, found);
            }
#pragma unroll
            for (int q = 0; q < POINTS; ++q)
                if (side == 0) from_left[q] = found[q];
        }
        close_split<POINTS>(walk, number, factors, stand, product, from_left, found, below);
    }
};

template <int POINTS> struct Subtree<POINTS, 1> {
    static __device__ __forceinline__ void explain(Walk& walk, int32 number, const double* product,
                                                   double* below) {
        Split split = walk.splits[number];
        const double* factors = find_factors(walk, number);
        int32 stand = take_side(walk, split);
        double left = read_leaf(walk, split.left), right = read_leaf(walk, split.right);
        double from_left[POINTS], from_right[POINTS];
#pragma unroll
        for (int q = 0; q < POINTS; ++q) from_left[q] = left, from_right[q] = right;
        close_split<POINTS>(walk, number, factors, stand, product, from_left, from_right, below);
    }
};

// The state of a level in memory: products, then the sums below the left child.
__device__ __forceinline__ double* find_high(const Walk& walk, int32 level, int32 kind) {
    return walk.high + (level * 2 + kind) * MOST_POINTS * walk.pitch;
}

template <int POINTS>
__device__ __forceinline__ void load_high(const Walk& walk, int32 level, int32 kind, double* out) {
    const double* own = find_high(walk, level, kind);
#pragma unroll
    for (int q = 0; q < POINTS; ++q) out[q] = own[q * walk.pitch];
}

template <int POINTS>
__device__ __forceinline__ void store_high(const Walk& walk, int32 level, int32 kind,
                                           const double* from) {
    double* own = find_high(walk, level, kind);
#pragma unroll
    for (int q = 0; q < POINTS; ++q) own[q * walk.pitch] = from[q];
}

constexpr int32 PRODUCT = 0, BELOW = 1;

// Do the operations [begin, end) of a tree. What was found last is below the split that was closed
// last: of a right child, or of a left one whose sibling is not walked yet.
template <int POINTS>
__device__ __noinline__ void walk_tree(const Walk& given, const int32* begin, const int32* end) {
    Walk walk = given;
    walk.passes = 0;
    double found[POINTS];
#pragma unroll 1
    for (const int32* word = begin; word < end; ++word) {
        int32 number = *word >> WORD_SHIFT, operation = *word & 3, child = number;
        bool enters_low = (*word & ENTERS_LOW) != 0;
        double product[POINTS];
        Split split = walk.splits[number];
        int32 level = split.levels & 255;
        if (level == 0) {
#pragma unroll
            for (int q = 0; q < POINTS; ++q) product[q] = walk.weight[q];
        } else {
            load_high<POINTS>(walk, level, PRODUCT, product);
        }
        if (operation != START) {
            const double* factors = find_factors(walk, number);
            int32 stand = take_side(walk, split);
            if (operation == CLOSE) {
                double from_left[POINTS], from_right[POINTS];
                double left = split.left < 0 ? read_leaf(walk, split.left) : 0.0;
                double right = split.right < 0 ? read_leaf(walk, split.right) : 0.0;
                if (split.left >= 0 && split.right >= 0) load_high<POINTS>(walk, level, BELOW, from_left);
#pragma unroll
                for (int q = 0; q < POINTS; ++q) {
                    from_right[q] = split.right < 0 ? right : found[q];
                    if (split.left < 0) from_left[q] = left;
                    else if (split.right < 0) from_left[q] = found[q];
                }
                close_split<POINTS>(walk, number, factors, stand, product, from_left, from_right, found);
                continue;
            }
            int32 side = operation == GO_LEFT ? 0 : 1;
            if (side == 1 && split.left >= 0) store_high<POINTS>(walk, level, BELOW, found);
            child = side == 0 ? split.left : split.right;
            double entered[POINTS];
            enter_child<POINTS>(walk, split, factors, stand, side, product, entered);
#pragma unroll
            for (int q = 0; q < POINTS; ++q) product[q] = entered[q];
        }
        if (enters_low)
            Subtree<POINTS, LOW_LEVELS>::explain(walk, child, product, found);
        else
            store_high<POINTS>(walk, level + 1, PRODUCT, product);
    }
}

// Add the values of a tree to the sums of a row; ``walk`` has the row.
__device__ __forceinline__ void explain_tree(Walk& walk, const Walks& walks, int64 tree,
                                             int64 column) {
    int64 n_points = walks.n_points[tree];
    const int32 *begin = walks.words + walks.first_word[tree],
                *end = walks.words + walks.first_word[tree + 1];
    walk.value = walks.value + column;
    walk.first = (int32)walks.first_split[tree];
    walk.stride = (int32)(4 * n_points);
    for (Pass pass = first_pass(n_points); pass.first < n_points; pass = next_pass(pass)) {
        walk.factors = walks.factors + walks.first_factor[tree] + 4 * pass.first;
        walk.weight = walks.weight + n_points * walks.n_most_points + pass.first;
        walk.is_first = pass.first == 0;
        walk.is_last = pass.first + pass.size == n_points;
        if (pass.size == 4) walk_tree<4>(walk, begin, end);
        if (pass.size == 3) walk_tree<3>(walk, begin, end);
        if (pass.size == 2) walk_tree<2>(walk, begin, end);
        if (pass.size == 1) walk_tree<1>(walk, begin, end);
    }
}
static_assert(MOST_POINTS == 4, "explain_tree has a case for each number of points");
