// Elementwise arithmetic of float64 arrays: what boosters do to scores.
#include "runtime/grid.cuh"

#define FOR_EACH(i, n) for (int64 i = first_item(); i < (n); i += item_step())

extern "C" __global__ void add_arrays(const double* a, const double* b, int64 n, double* out) {
    FOR_EACH(i, n) out[i] = a[i] + b[i];
}

extern "C" __global__ void subtract_arrays(const double* a, const double* b, int64 n, double* out) {
    FOR_EACH(i, n) out[i] = a[i] - b[i];
}

extern "C" __global__ void multiply_array(const double* a, double factor, int64 n, double* out) {
    FOR_EACH(i, n) out[i] = a[i] * factor;
}

extern "C" __global__ void divide_array(const double* a, double divisor, int64 n, double* out) {
    FOR_EACH(i, n) out[i] = a[i] / divisor;
}

extern "C" __global__ void fill_array(double value, int64 n, double* out) {
    FOR_EACH(i, n) out[i] = value;
}

extern "C" __global__ void number_rows(int64 first, int64 n, uint32* out) {
    FOR_EACH(i, n) out[i] = (uint32)(first + i);
}

// Items `rows` of an array, in their order.
extern "C" __global__ void take_items(const double* a, const uint32* rows, int64 n, double* out) {
    FOR_EACH(i, n) out[i] = a[rows[i]];
}

// Every step-th of some row numbers.
extern "C" __global__ void take_every(const uint32* rows, int64 step, int64 n, uint32* out) {
    FOR_EACH(i, n) out[i] = rows[i * step];
}

// How many items are infinite or nan.
extern "C" __global__ void count_not_finite(const double* a, int64 n, uint64* count) {
    int64 found = 0;
    FOR_EACH(i, n) found += !(a[i] - a[i] == 0.0);
    if (found > 0) atomicAdd(count, (uint64)found);
}
