// Influence functions of robust losses, as in kernels/losses/influence.py.
#pragma once
#include "runtime/elementary.cuh"

constexpr int64 INFLUENCE_FAIR = 1, INFLUENCE_TANH = 2;

// The hyperbolic tangent, for small x without cancellation.
__device__ inline double tanh_of(double x) {
    const double size = absolute(x);
    const double e = exp_of(-2.0 * size);
    const double large = (1.0 - e) / (1.0 + e);
    const double s = x * x;
    double p = 62.0 / 2835.0;
    p = p * s - 17.0 / 315.0;
    p = p * s + 2.0 / 15.0;
    p = p * s - 1.0 / 3.0;
    const double value = size < 0.05 ? size + size * (s * p) : large;
    return x >= 0.0 ? value : -value;
}

// x / (1 + |x| / bound).
__device__ inline double fair_of(double x, double bound) {
    return x / (1.0 + absolute(x) / bound);
}

// x, clipped to the bound.
__device__ inline double clip(double x, double bound) {
    return smaller_of(larger_of(x, -bound), bound);
}

// The influence of an error.
__device__ inline double influence(double x, int64 kind, double bound) {
    if (kind == INFLUENCE_FAIR) return fair_of(x, bound);
    if (kind == INFLUENCE_TANH) return tanh_of(x);
    return clip(x, bound);
}
