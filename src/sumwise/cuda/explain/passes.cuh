// How the points of integration of a tree are divided: into parts of nearly equal size.
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
