// Counter-based random numbers, as in kernels/runtime/random.py.
#pragma once
#include "runtime/elementary.cuh"

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

// By one thread: mark `n_chosen` features of those marked in `pool`, by selection sampling.
__device__ inline void choose_features(
    uint64 key, const uint8* pool, int64 n_features, int64 n_chosen, uint8* chosen) {
    int64 remaining = 0;
    for (int64 f = 0; f < n_features; f++) remaining += pool[f];
    int64 needed = smaller_of(n_chosen, remaining);
    for (int64 f = 0; f < n_features; f++) {
        chosen[f] = 0;
        if (pool[f]) {
            if (uniform(key, (uint64)f) * (double)remaining < (double)needed) {
                chosen[f] = 1;
                needed -= 1;
            }
            remaining -= 1;
        }
    }
}

// The n-th smallest of the bits of floats that are not negative, n of at least one.
__device__ inline int64 find_smallest(const double* values, int64 size, int64 n) {
    int64 low = 0, high = 0x7FFFFFFFFFFFFFFF;
    while (low < high) {
        const int64 middle = low + ((high - low) >> 1);
        int64 n_up_to = 0;
        for (int64 i = 0; i < size; i++) n_up_to += bits_of(values[i]) <= middle;
        if (n_up_to >= n) high = middle;
        else low = middle + 1;
    }
    return low;
}

// By one thread: mark `n_chosen` features of those marked in `pool`, drawn by weight without
// replacement (Efraimidis and Spirakis, 2006). `times` is scratch.
__device__ inline void choose_by_weight(
    uint64 key, const uint8* pool, const double* weights, int64 n_features, int64 n_chosen,
    double* times, uint8* chosen) {
    int64 n_positive = 0;
    for (int64 f = 0; f < n_features; f++) {
        times[f] = of_bits(0x7FF0000000000000);
        chosen[f] = 0;
        if (pool[f] && weights[f] > 0.0) {
            times[f] = (0.0 - log_of(1.0 - uniform(key, (uint64)f))) / weights[f];
            n_positive += 1;
        }
    }
    int64 needed = smaller_of(n_chosen, n_positive);
    if (needed == 0) return;
    const int64 last = find_smallest(times, n_features, needed);
    for (int64 f = 0; f < n_features; f++) {
        if (bits_of(times[f]) < last) {
            chosen[f] = 1;
            needed -= 1;
        }
    }
    for (int64 f = 0; f < n_features; f++) {
        if (bits_of(times[f]) == last && needed > 0 && pool[f] && weights[f] > 0.0) {
            chosen[f] = 1;
            needed -= 1;
        }
    }
}
