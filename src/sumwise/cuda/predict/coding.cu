// Replace values by one-byte codes, see kernels/predict/coding.py and category_sets.py.
#include "layout.cuh"
#include "runtime/grid.cuh"
#include "table/search.cuh"

// 0 for a missing value, 1 for a category of the set, 2 for any other number.
template <typename Value>
__device__ uint8 test_set(const uint32* bits, int64 n_categories, Value value) {
    if (value != value) return 0;
    if (!(value >= 0 && value < (Value)n_categories)) return 2;
    int64 code = (int64)value;
    if ((Value)code != value) return 2;
    return (bits[code >> 5] >> (code & 31)) & 1 ? 1 : 2;
}

// Write the codes of rows [first, first + n_rows) in some quads of columns. Items [search_first,
// search_last) of the thresholds, those of the quads, fit in shared memory.
template <typename Value>
__device__ void code_quads(const Value* values, int64 row_stride, int64 column_stride, int64 first,
                           int64 n_rows, const Coder& coder, int64 first_quad, int64 last_quad,
                           int64 search_first, int64 search_last, uint8* codes) {
    const Value* search = (const Value*)coder.search;
    Value* heaps = (Value*)shared_memory;
    for (int64 i = search_first + threadIdx.x; i < search_last; i += blockDim.x)
        heaps[i - search_first] = search[i];
    __syncthreads();
    for (int64 row = first_item(); row < n_rows; row += item_step()) {
        const Value* own = values + (first + row) * row_stride;
        uint8* out = codes + (row / BLOCK * coder.n_columns) * BLOCK + row % BLOCK;
        for (int64 quad = first_quad; quad < last_quad; ++quad) {
            const int32* known = coder.quads + 4 * quad;
            int64 column = known[0], n_own = known[1], n_steps = known[2];
            Value quad_values[QUAD];
            uint8 quad_codes[QUAD];
#pragma unroll
            for (int k = 0; k < QUAD; ++k)
                quad_values[k] = own[coder.feature[column + (k < n_own ? k : 0)] * column_stride];
            if (n_steps >= 0) {
                search_columns(heaps + (known[3] - search_first), n_steps, quad_values, quad_codes);
            } else {
#pragma unroll
                for (int k = 0; k < QUAD; ++k) {
                    int64 place = column + (k < n_own ? k : 0);
                    quad_codes[k] = test_set(coder.set_bits + coder.set_place[place],
                                             coder.set_size[place], quad_values[k]);
                }
            }
#pragma unroll
            for (int k = 0; k < QUAD; ++k)
                if (k < n_own) out[(column + k) * BLOCK] = quad_codes[k];
        }
    }
}

extern "C" __global__ void code_rows_float32(const float* values, int64 row_stride,
                                             int64 column_stride, int64 first, int64 n_rows,
                                             Coder coder, int64 first_quad, int64 last_quad,
                                             int64 search_first, int64 search_last, uint8* codes) {
    code_quads(values, row_stride, column_stride, first, n_rows, coder, first_quad, last_quad,
               search_first, search_last, codes);
}

extern "C" __global__ void code_rows_float64(const double* values, int64 row_stride,
                                             int64 column_stride, int64 first, int64 n_rows,
                                             Coder coder, int64 first_quad, int64 last_quad,
                                             int64 search_first, int64 search_last, uint8* codes) {
    code_quads(values, row_stride, column_stride, first, n_rows, coder, first_quad, last_quad,
               search_first, search_last, codes);
}
