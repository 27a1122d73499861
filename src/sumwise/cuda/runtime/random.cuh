// Counter-based random numbers, as in kernels/runtime/random.py.
#pragma once
#include "runtime/types.cuh"

// Mix one more integer into a key (the finalizer of SplitMix64).
__device__ inline uint64 extend_key(uint64 key, uint64 value) {
    uint64 z = key + 0x9E3779B97F4A7C15ULL * (value + 1);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

// The number of [0, 1) that belongs to an index under a key.
__device__ inline double uniform(uint64 key, uint64 index) {
    return (double)(extend_key(key, index) >> 12) * (1.0 / 4503599627370496.0);
}
