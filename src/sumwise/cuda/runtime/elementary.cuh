// exp and log as kernels/runtime/elementary.py has them: the same IEEE operations in the same
// order.
#pragma once
#include "runtime/types.cuh"

__device__ inline int64 bits_of(double x) {
    union { double value; int64 bits; } both;
    both.value = x;
    return both.bits;
}

__device__ inline double of_bits(int64 bits) {
    union { double value; int64 bits; } both;
    both.bits = bits;
    return both.value;
}

// abs, max and min of compiled Python: a comparison with nan is false, so that the first one stays.
__device__ inline double absolute(double x) { return of_bits(bits_of(x) & 0x7FFFFFFFFFFFFFFF); }
__device__ inline double larger_of(double a, double b) { return b > a ? b : a; }
__device__ inline double smaller_of(double a, double b) { return b < a ? b : a; }
__device__ inline int64 larger_of(int64 a, int64 b) { return b > a ? b : a; }
__device__ inline int64 smaller_of(int64 a, int64 b) { return b < a ? b : a; }

constexpr double ROUND_ADDEND = 6755399441055744.0;  // 1.5 * 2**52: adding it rounds to an integer
constexpr int64 ROUND_ADDEND_BITS = 0x4338000000000000;

// Round half to even; right for |x| < 2**51.
__device__ inline double round_to_integer(double x) { return (x + ROUND_ADDEND) - ROUND_ADDEND; }

// Round half to even, to an int64; right for |x| < 2**51.
__device__ inline int64 nearest_integer(double x) {
    return (int64)((uint64)bits_of(x + ROUND_ADDEND) - (uint64)ROUND_ADDEND_BITS);
}

// The float64 nearest to an int64. The CPU adds two exact halves, which rounds once, as this does.
__device__ inline double float_of(int64 integer) { return (double)integer; }

// e to the x, for x clipped to [-708, 709]: the result is a positive normal number.
__device__ inline double exp_of(double x) {
    x = smaller_of(larger_of(x, -708.0), 709.0);
    const double power = x * 1.4426950408889634;
    const double k = round_to_integer(power);
    const double r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    const double value = 1.0 + (r + (r * r) * p);
    return value * of_bits((int64)((uint64)(nearest_integer(power) + 1023) << 52));
}

// Natural logarithm of a positive normal number.
__device__ inline double log_of(double x) {
    const int64 bits = bits_of(x);
    const int64 k = (bits - 0x3FE6A09E667F3BCD) >> 52;
    const double m = of_bits((int64)((uint64)bits - ((uint64)k << 52)));
    const double f = (m - 1.0) / (m + 1.0);
    const double s = f * f;
    double p = 1.0 / 23.0;
    p = p * s + 1.0 / 21.0;
    p = p * s + 1.0 / 19.0;
    p = p * s + 1.0 / 17.0;
    p = p * s + 1.0 / 15.0;
    p = p * s + 1.0 / 13.0;
    p = p * s + 1.0 / 11.0;
    p = p * s + 1.0 / 9.0;
    p = p * s + 1.0 / 7.0;
    p = p * s + 1.0 / 5.0;
    p = p * s + 1.0 / 3.0;
    const double k_float = (double)k;
    return k_float * 6.93147180369123816490e-01 +
           (2.0 * f + (2.0 * f * (s * p) + k_float * 1.90821492927058770002e-10));
}

// log(1 + exp(x)) without overflow and without loss for very negative x.
__device__ inline double log1p_exp(double x) {
    const double e = exp_of(-absolute(x));
    const double small = e - 0.5 * e * e;
    return larger_of(x, 0.0) + (e < 1e-6 ? small : log_of(1.0 + e));
}
