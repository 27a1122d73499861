// Where the factors of a split are. The points of integration of a tree are divided into passes of
// nearly equal size.
#pragma once
#include "layout.cuh"

struct Pass {
    int32 first, size, n_points;
};

__device__ inline Pass start_pass(int32 first, int32 n_points) {
    int32 n_passes = (n_points - first + (int32)MOST_POINTS - 1) / (int32)MOST_POINTS;
    return {first, n_passes ? (n_points - first + n_passes - 1) / n_passes : 0, n_points};
}

__device__ inline Pass first_pass(int64 n_points) { return start_pass(0, (int32)n_points); }

__device__ inline Pass next_pass(Pass pass) {
    return start_pass(pass.first + pass.size, pass.n_points);
}

// How a row stands to a split: it passed the feature so far and goes to a side, or has failed.
constexpr int32 GOES_LEFT = 0, GOES_RIGHT = 1, HAS_FAILED = 2;
// Factors are those of each kind of row, then the scales.
constexpr int32 SCALE = 3;

// Items from one record to the next, and to the factors of a pass.
__device__ inline int32 find_stride(int64 n_points) { return (int32)(RECORD_ITEMS + 4 * n_points); }
__device__ inline int32 find_factors(Pass pass) { return (int32)RECORD_ITEMS + 4 * pass.first; }
