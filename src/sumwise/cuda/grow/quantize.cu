// Turn gradients and hessians into integers, once per tree; twin of kernels/grow/quantize.py.
#include "grow/dividing.cuh"
#include "grow/quantize.cuh"

// Rows that a thread has under way at a time.
constexpr int32 QUANTIZED_ROWS = 4;

// The largest |g|, h and |h|, as bits, to the exchange. Bits of floats that are not negative are
// ordered as the floats are, infinity and then nan last.
extern "C" __global__ void find_maxima(Job job) {
    const Request request = *job.request;
    const int64 n_rows = request.n_rows, step = item_step();
    int64 maxima[3] = {0, 0, 0};
    for (int64 i = first_item(); i < n_rows; i += QUANTIZED_ROWS * step) {
        double g[QUANTIZED_ROWS], h[QUANTIZED_ROWS];
#pragma unroll
        for (int32 j = 0; j < QUANTIZED_ROWS; ++j) {
            const uint32 row = request_row(request, smaller_of(i + j * step, n_rows - 1));
            g[j] = request.gradient[row];
            h[j] = request.hessian[row];
        }
#pragma unroll
        for (int32 j = 0; j < QUANTIZED_ROWS; ++j) {
            maxima[0] = larger_of(maxima[0], bits_of(absolute(g[j])));
            maxima[1] = larger_of(maxima[1], bits_of(h[j]));
            maxima[2] = larger_of(maxima[2], bits_of(absolute(h[j])));
        }
    }
    join_in_block<Larger>(maxima);
    if (threadIdx.x == 0)
        for (int32 s = 0; s < 3; ++s) atomicMax(job.exchange + MAXIMA + s, maxima[s]);
}

// Set the histogram of the root to zero, where it is built.
__device__ inline void clear_root(const Job& job) {
    const int64 slot = job.nodes[0].slot;
    if (slot < 0) return;
    int64* root = job.n_peers > 1 ? job.exchange + job.exchange_built
                                  : job.histograms + slot * job.histogram_length;
    const int64 length = job.histogram_length, step = item_step();
    for (int64 i = first_item(); i < length; i += step) root[i] = 0;
}

// Records of all rows; their sums as integers to the exchange. Nothing if values are out of range.
extern "C" __global__ void quantize_rows(Job job) {
    __shared__ Scales found;
    if (threadIdx.x == 0) found = find_scales(job);
    clear_root(job);
    __syncthreads();
    const Scales scales = found;
    if (!scales.in_range) return;
    const Request request = *job.request;
    const int64 n_rows = request.n_rows, step = item_step();
    int64 sums[SUM_G + 1] = {};
    for (int64 i = first_item(); i < n_rows; i += QUANTIZED_ROWS * step) {
        double g[QUANTIZED_ROWS], h[QUANTIZED_ROWS];
        uint32 rows[QUANTIZED_ROWS];
#pragma unroll
        for (int32 j = 0; j < QUANTIZED_ROWS; ++j) {
            rows[j] = request_row(request, smaller_of(i + j * step, n_rows - 1));
            g[j] = request.gradient[rows[j]];
            h[j] = request.hessian[rows[j]];
        }
#pragma unroll
        for (int32 j = 0; j < QUANTIZED_ROWS; ++j) {
            if (i + j * step >= n_rows) break;
            const int64 exact_g = exact_gradient(g[j], scales.exact_g);
            const int64 packed_g = exact_gradient(g[j], scales.packed_g);
            const int64 packed_h = exact_hessian(h[j], scales.packed_h);
            sums[SIZE_G] += exact_g < 0 ? -exact_g : exact_g;
            sums[SUM_H] += exact_hessian(h[j], scales.exact_h);
            sums[PACKED_G] += packed_g;
            sums[PACKED_H] += packed_h;
            sums[SUM_G] += exact_g;
            const uint64 low = ((uint64)packed_g & 0xffff) << 16 | ((uint64)packed_h & 0xffff);
            job.records[i + j * step] = (uint64)rows[j] << 32 | low;
        }
    }
    join_in_block<Add>(sums);
    if (threadIdx.x == 0)
        for (int32 s = 0; s <= SUM_G; ++s) add_to(job.exchange + SUMS + s, sums[s]);
}
