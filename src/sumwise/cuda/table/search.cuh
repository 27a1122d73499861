// Count the thresholds below values, as kernels/table/binning.py and kernels/predict/coding.py do.
#pragma once
#include "layout.cuh"

// The codes of a row in a quad of columns: 1 + the thresholds below the value, 0 for nan. The
// thresholds of a column are a heap of 2**n_steps items: item 1 is the middle one, items 2i and 2i
// + 1 are on both sides of item i. So the threads of a warp read items that lie side by side.
template <typename Value>
__device__ void search_columns(const Value* heaps, int64 n_steps, const Value* values,
                               uint8* codes) {
    int32 place[QUAD];
#pragma unroll
    for (int k = 0; k < QUAD; ++k) place[k] = 1;
    for (int64 step = 0; step < n_steps; ++step)
#pragma unroll
        for (int k = 0; k < QUAD; ++k) {
            const Value threshold = heaps[((int64)k << n_steps) + place[k]];
            place[k] = 2 * place[k] + (threshold < values[k]);
        }
#pragma unroll
    for (int k = 0; k < QUAD; ++k)
        codes[k] = values[k] == values[k] ? (uint8)(1 + place[k] - (1 << n_steps)) : 0;
}
