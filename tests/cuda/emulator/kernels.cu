// Kernels that test the emulator itself.
#include "layout.cuh"

extern "C" __global__ void add(const double* a, const double* b, double* sums, int64 n) {
    for (int64 i = blockIdx.x * (int64)blockDim.x + threadIdx.x; i < n; i += (int64)gridDim.x * blockDim.x)
        sums[i] = a[i] + b[i];
}

extern "C" __global__ void __launch_bounds__(256) reverse(const int64* values, int64* reversed) {
    extern __shared__ uint64 shared_memory[];
    int64* items = (int64*)shared_memory;
    const int64 first = blockIdx.x * (int64)blockDim.x;
    items[threadIdx.x] = values[first + threadIdx.x];
    __syncthreads();
    reversed[first + threadIdx.x] = items[blockDim.x - 1 - threadIdx.x];
}
