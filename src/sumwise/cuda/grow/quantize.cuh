// The powers of two that turn gradients and hessians into integers, as in kernels/grow/quantize.py.
#pragma once
#include "layout.cuh"
#include "runtime/fixed_point.cuh"

struct Scales {
    double max_g;
    double max_h;
    bool in_range;
    double packed_g;
    double packed_h;
    double exact_g;
    double exact_h;
};

// From the maxima over all devices.
__device__ inline Scales find_scales(const Job& job) {
    int64 size_g = 0, max_h = 0, size_h = 0;
    for (int64 p = 0; p < job.n_peers; ++p) {
        const int64* maxima = job.peers[p] + MAXIMA;
        size_g = larger_of(size_g, maxima[0]);
        max_h = larger_of(max_h, maxima[1]);
        size_h = larger_of(size_h, maxima[2]);
    }
    Scales scales = {of_bits(size_g), of_bits(max_h)};
    const bool is_finite = larger_of(size_g, size_h) < 0x7FF0000000000000;
    scales.in_range = is_finite && !(larger_of(scales.max_g, scales.max_h) > LARGEST_GRADIENT);
    const double limit = exact_limit(job.request->all_rows);
    scales.packed_g = power_scale(scales.max_g, (double)GRADIENT_LIMIT);
    scales.packed_h = power_scale(scales.max_h, (double)HESSIAN_LIMIT);
    scales.exact_g = power_scale(scales.max_g, limit);
    scales.exact_h = power_scale(scales.max_h, limit);
    return scales;
}
