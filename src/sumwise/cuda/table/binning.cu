// Find the bins of columns and map values to them, see kernels/table/binning.py.
//
// Values are read as values[row * row_stride + feature * column_stride], float32 or float64.
#include "layout.cuh"
#include "runtime/grid.cuh"
#include "runtime/sort.cuh"
#include "table/search.cuh"

// Write the bins of rows [first, last) to columns[n_features][n_table_rows], from row place on.
// Quads are as in predict/coding.cu: first feature, features, steps of a search, where to search.
template <typename Value>
__device__ void map_values(const Value* values, int64 row_stride, int64 column_stride, int64 first,
                           int64 last, const int32* quads, int64 first_quad, int64 last_quad,
                           const Value* search, int64 search_first, int64 search_last,
                           int64 place, uint8* columns, int64 n_table_rows) {
    Value* heaps = (Value*)shared_memory;
    for (int64 i = search_first + threadIdx.x; i < search_last; i += blockDim.x)
        heaps[i - search_first] = search[i];
    __syncthreads();
    for (int64 row = first + first_item(); row < last; row += item_step()) {
        for (int64 quad = first_quad; quad < last_quad; ++quad) {
            const int32* known = quads + 4 * quad;
            const int64 feature = known[0], n_own = known[1];
            const Value* own = values + row * row_stride + feature * column_stride;
            Value quad_values[QUAD];
            uint8 bins[QUAD];
#pragma unroll
            for (int k = 0; k < QUAD; ++k)
                quad_values[k] = own[(k < n_own ? k : 0) * column_stride];
            search_columns(heaps + (known[3] - search_first), known[2], quad_values, bins);
            uint8* out = columns + feature * n_table_rows + place + (row - first);
#pragma unroll
            for (int k = 0; k < QUAD; ++k)
                if (k < n_own) out[k * n_table_rows] = bins[k];
        }
    }
}

extern "C" __global__ void map_to_bins_float32(
    const float* values, int64 row_stride, int64 column_stride, int64 first, int64 last,
    const int32* quads, int64 first_quad, int64 last_quad, const float* search,
    int64 search_first, int64 search_last, int64 place, uint8* columns, int64 n_table_rows) {
    map_values(values, row_stride, column_stride, first, last, quads, first_quad, last_quad,
               search, search_first, search_last, place, columns, n_table_rows);
}

extern "C" __global__ void map_to_bins_float64(
    const double* values, int64 row_stride, int64 column_stride, int64 first, int64 last,
    const int32* quads, int64 first_quad, int64 last_quad, const double* search,
    int64 search_first, int64 search_last, int64 place, uint8* columns, int64 n_table_rows) {
    map_values(values, row_stride, column_stride, first, last, quads, first_quad, last_quad,
               search, search_first, search_last, place, columns, n_table_rows);
}

// Put a key into a hash table, where MISSING_KEY marks a free place; return whether it is new. A
// full table takes any key for new.
__device__ bool add_distinct(uint64* table, uint64 key) {
    uint64 place = (key * 0x9E3779B97F4A7C15ULL) >> (64 - HASH_BITS);
    for (int64 tries = 0; tries < HASH_SIZE; ++tries) {
        uint64 found = ((volatile uint64*)table)[place];
        if (found == key) return false;
        if (found == MISSING_KEY) {
            found = atomicCAS(&table[place], MISSING_KEY, key);
            if (found == MISSING_KEY) return true;
            if (found == key) return false;
        }
        place = (place + 1) & (HASH_SIZE - 1);
    }
    return true;
}

// Collect the distinct values of the listed features in rows [first, last) of rows (null: rows
// first to last themselves), as sort keys, until there are more than limit:
// tables[n_listed][HASH_SIZE] with MISSING_KEY in free places, and their number in
// counts[n_listed]. Threads stop when they see that there are too many; the limit is far below
// HASH_SIZE.
template <typename Value>
__device__ void collect_distinct(const Value* values, int64 row_stride, int64 column_stride,
                                 const int32* listed, int64 n_listed, const uint32* rows,
                                 int64 first, int64 last, int64 limit, uint64* tables,
                                 uint64* counts) {
    __shared__ uint64 own[HASH_SIZE];
    __shared__ uint32 n_own;
    for (int64 k = blockIdx.y; k < n_listed; k += gridDim.y) {
        uint64* table = tables + k * HASH_SIZE;
        const Value* column = values + (int64)listed[k] * column_stride;
        for (int64 i = threadIdx.x; i < HASH_SIZE; i += blockDim.x) own[i] = MISSING_KEY;
        if (threadIdx.x == 0) n_own = 0;
        __syncthreads();
        for (int64 i = first + first_item(); i < last; i += item_step()) {
            if (*(volatile uint32*)&n_own > limit) break;
            const Value value = column[(rows ? (int64)rows[i] : i) * row_stride];
            if (value == value && add_distinct(own, key_of_float((double)value)))
                atomicAdd(&n_own, 1u);
        }
        __syncthreads();
        const bool has_many = n_own > limit;
        if (has_many && threadIdx.x == 0) atomicAdd(&counts[k], (uint64)limit + 1);
        for (int64 i = threadIdx.x; i < HASH_SIZE; i += blockDim.x) {
            if (has_many || *(volatile uint64*)&counts[k] > (uint64)limit) break;
            if (own[i] != MISSING_KEY && add_distinct(table, own[i])) atomicAdd(&counts[k], 1ULL);
        }
        __syncthreads();
    }
}

extern "C" __global__ void find_distinct_float32(const float* values, int64 row_stride,
                                                 int64 column_stride, const int32* listed,
                                                 int64 n_listed, const uint32* rows, int64 first,
                                                 int64 last, int64 limit, uint64* tables,
                                                 uint64* counts) {
    collect_distinct(values, row_stride, column_stride, listed, n_listed, rows, first, last, limit,
                     tables, counts);
}

extern "C" __global__ void find_distinct_float64(const double* values, int64 row_stride,
                                                 int64 column_stride, const int32* listed,
                                                 int64 n_listed, const uint32* rows, int64 first,
                                                 int64 last, int64 limit, uint64* tables,
                                                 uint64* counts) {
    collect_distinct(values, row_stride, column_stride, listed, n_listed, rows, first, last, limit,
                     tables, counts);
}

extern "C" __global__ void clear_tables(uint64* tables, int64 n_items) {
    for (int64 i = first_item(); i < n_items; i += item_step()) tables[i] = MISSING_KEY;
}

// Copy the listed features of some rows: out[n_listed][n_rows].
template <typename Value>
__device__ void copy_rows(const Value* values, int64 row_stride, int64 column_stride,
                          const int32* listed, int64 n_listed, const uint32* rows, int64 n_rows,
                          Value* out) {
    for (int64 k = blockIdx.y; k < n_listed; k += gridDim.y)
        for (int64 i = first_item(); i < n_rows; i += item_step())
            out[k * n_rows + i] = values[(int64)rows[i] * row_stride + listed[k] * column_stride];
}

extern "C" __global__ void gather_rows_float32(const float* values, int64 row_stride,
                                               int64 column_stride, const int32* listed,
                                               int64 n_listed, const uint32* rows, int64 n_rows,
                                               float* out) {
    copy_rows(values, row_stride, column_stride, listed, n_listed, rows, n_rows, out);
}

extern "C" __global__ void gather_rows_float64(const double* values, int64 row_stride,
                                               int64 column_stride, const int32* listed,
                                               int64 n_listed, const uint32* rows, int64 n_rows,
                                               double* out) {
    copy_rows(values, row_stride, column_stride, listed, n_listed, rows, n_rows, out);
}
