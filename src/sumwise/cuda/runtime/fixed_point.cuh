// Floats as integers under a power-of-two scale, as in kernels/runtime/fixed_point.py.
#pragma once
#include "runtime/elementary.cuh"

constexpr int64 EXACT_LIMIT_BITS = 50;

__device__ inline double power_of_two(int64 exponent) {
    return of_bits((int64)((uint64)(exponent + 1023) << 52));
}

// The largest power of two that keeps `maximum` times it within `limit`.
__device__ inline double power_scale(double maximum, double limit) {
    if (maximum == 0.0) return 1.0;
    // Infinite if the maximum is subnormal: then its exponent is 1024.
    const int64 exponent = (bits_of(limit / maximum) >> 52) - 1023;
    return power_of_two(smaller_of(larger_of(exponent, (int64)-1000), (int64)1000));
}

// The bound for exact values of which `n_rows` are summed: 2 ** (62 - ceil(log2(n))).
__device__ inline double exact_limit(int64 n_rows) {
    int64 bits = 62;
    while ((1LL << (62 - bits)) < n_rows) bits -= 1;
    return power_of_two(smaller_of(bits, EXACT_LIMIT_BITS));
}

// The integer that stands for a gradient in exact sums.
__device__ inline int64 exact_gradient(double gradient, double scale) {
    return nearest_integer(gradient * scale);
}

// The integer that stands for a hessian: a positive one never rounds to nothing.
__device__ inline int64 exact_hessian(double hessian, double scale) {
    return larger_of(nearest_integer(hessian * scale), (int64)(hessian > 0.0 ? 1 : 0));
}
