// Keys of floats, as in kernels/runtime/sort.py: unsigned integers that sort as the floats do.
#pragma once
#include "runtime/elementary.cuh"

constexpr uint64 MISSING_KEY = 0xFFFFFFFFFFFFFFFFULL;

// The key of a float64; zeros of both signs have one, nan has the largest.
__device__ inline uint64 key_of_float(double value) {
    if (value != value) return MISSING_KEY;
    const uint64 bits = (uint64)bits_of(value + 0.0);
    return bits ^ ((0ULL - (bits >> 63)) | (1ULL << 63));
}

// The float64 that a key stands for.
__device__ inline double value_of_key(uint64 key) {
    return of_bits((int64)(key ^ (((key >> 63) - 1ULL) | (1ULL << 63))));
}
