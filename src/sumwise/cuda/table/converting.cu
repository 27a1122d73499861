// Columns of any numeric type as float64, or float32 where that is exact; see
// data/device_matrix.py.
#include "layout.cuh"
#include "runtime/elementary.cuh"
#include "runtime/grid.cuh"

constexpr int64 NAN_BITS = 0x7FF8000000000000;

// Write n_rows items that are stride bytes apart; nan where a bit of the mask (null for none) is 0.
template <typename Item, typename Value>
__device__ void convert(const char* items, int64 stride, int64 n_rows, const uint8* mask,
                        Value* out) {
    for (int64 i = first_item(); i < n_rows; i += item_step()) {
        const bool is_known = !mask || (mask[i >> 3] >> (i & 7)) & 1;
        out[i] = is_known ? (Value)*(const Item*)(items + i * stride) : (Value)of_bits(NAN_BITS);
    }
}

#define CONVERT(name, Item)                                                                        \
    extern "C" __global__ void convert_##name(const char* items, int64 stride, int64 n_rows,       \
                                              const uint8* mask, double* out) {                    \
        convert<Item>(items, stride, n_rows, mask, out);                                           \
    }

CONVERT(bool, uint8)
CONVERT(int8, int8)
CONVERT(uint8, uint8)
CONVERT(int16, int16)
CONVERT(uint16, uint16)
CONVERT(int32, int32)
CONVERT(uint32, uint32)
CONVERT(int64, int64)
CONVERT(uint64, uint64)
CONVERT(float64, double)

// Single precision stays so.
extern "C" __global__ void convert_float32(const char* items, int64 stride, int64 n_rows,
                                           const uint8* mask, float* out) {
    convert<float>(items, stride, n_rows, mask, out);
}

extern "C" __global__ void widen_float32(const char* items, int64 stride, int64 n_rows,
                                         const uint8* mask, double* out) {
    convert<float>(items, stride, n_rows, mask, out);
}

// The value of a number of half precision, by its bits: exact.
__device__ inline float widen_half(uint16 bits) {
    const uint32 sign = (uint32)(bits & 0x8000) << 16, size = bits & 0x7FFF;
    union { uint32 bits; float value; } both;
    both.bits = size >= 0x7C00 ? 0x7F800000 | (size & 0x3FF) << 13 : (size << 13) + 0x38000000;
    if (size < 0x400) both.value = (float)size / 16777216.0f;
    both.bits |= sign;
    return both.value;
}

template <typename Value>
__device__ void convert_halves(const char* items, int64 stride, int64 n_rows, const uint8* mask,
                               Value* out) {
    for (int64 i = first_item(); i < n_rows; i += item_step()) {
        const bool is_known = !mask || (mask[i >> 3] >> (i & 7)) & 1;
        const uint16 bits = is_known ? *(const uint16*)(items + i * stride) : 0x7E00;
        out[i] = (Value)widen_half(bits);
    }
}

extern "C" __global__ void convert_float16(const char* items, int64 stride, int64 n_rows,
                                           const uint8* mask, float* out) {
    convert_halves(items, stride, n_rows, mask, out);
}

extern "C" __global__ void widen_float16(const char* items, int64 stride, int64 n_rows,
                                         const uint8* mask, double* out) {
    convert_halves(items, stride, n_rows, mask, out);
}
