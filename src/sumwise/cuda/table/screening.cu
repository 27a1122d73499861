// Counts of the bins of columns, from which the host tells which features can be split; see
// kernels/table/screening.py.
#include "layout.cuh"
#include "runtime/grid.cuh"

// Add the numbers of training rows in each bin to counts[n_listed][N_BINS], for the listed
// features. Training rows are rows[first .. last), or first .. last themselves if rows is null.
extern "C" __global__ void count_bins(const uint8* columns, int64 n_rows, const int32* listed,
                                      int64 n_listed, const uint32* rows, int64 first, int64 last,
                                      uint64* counts) {
    __shared__ uint32 own[N_BINS];
    for (int64 place = blockIdx.y; place < n_listed; place += gridDim.y) {
        for (int64 bin = threadIdx.x; bin < N_BINS; bin += blockDim.x) own[bin] = 0;
        __syncthreads();
        const uint8* column = columns + (int64)listed[place] * n_rows;
        for (int64 i = first + first_item(); i < last; i += item_step())
            atomicAdd(&own[column[rows ? (int64)rows[i] : i]], 1u);
        __syncthreads();
        for (int64 bin = threadIdx.x; bin < N_BINS; bin += blockDim.x)
            if (own[bin]) atomicAdd(&counts[place * N_BINS + bin], (uint64)own[bin]);
        __syncthreads();
    }
}
