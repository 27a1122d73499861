// Kernels that test the emulator itself: right ones, and ones with a bug each.
#include "layout.cuh"

constexpr unsigned ALL = 0xffffffff;

__device__ inline int64 first_item() { return blockIdx.x * (int64)blockDim.x + threadIdx.x; }
__device__ inline int64 item_step() { return gridDim.x * (int64)blockDim.x; }

// --- right ones ---

extern "C" __global__ void add(const double* a, const double* b, int64 n, double* sums) {
    for (int64 i = first_item(); i < n; i += item_step()) sums[i] = a[i] + b[i];
}

extern "C" __global__ void scale(Scaling scaling) {
    for (int64 i = first_item(); i < scaling.n; i += item_step())
        scaling.items[i] = scaling.items[i] * scaling.factor + BIAS;
}

extern "C" __global__ void where(int64* places) {
    const int64 block = blockIdx.y * gridDim.x + blockIdx.x;
    places[block * blockDim.x + threadIdx.x] = 1000 * blockIdx.y + 100 * blockIdx.x + threadIdx.x;
}

extern "C" __global__ void __launch_bounds__(MOST_THREADS) reverse(const int64* items, int64* out) {
    extern __shared__ uint64 shared_memory[];
    int64* own = (int64*)shared_memory;
    own[threadIdx.x] = items[first_item()];
    __syncthreads();
    out[first_item()] = own[blockDim.x - 1 - threadIdx.x];
}

template <class T>
__device__ __forceinline__ T sum_of_warp(T value) {
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_xor_sync(ALL, value, distance);
    return value;
}

extern "C" __global__ void sum(const int64* items, int64 n, uint64* total) {
    __shared__ int64 sums[32];
    int64 own = 0;
    for (int64 i = first_item(); i < n; i += item_step()) own += items[i];
    own = sum_of_warp(own);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = own;
    __syncthreads();
    if (threadIdx.x < 32) {
        own = sum_of_warp(threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0);
        if (threadIdx.x == 0) atomicAdd(total, (uint64)own);
    }
}

// Running sums in a block, by rounds of barriers.
extern "C" __global__ void scan(int64* items) {
    __shared__ int64 own[1024];
    own[threadIdx.x] = items[threadIdx.x];
    __syncthreads();
    for (unsigned distance = 1; distance < blockDim.x; distance *= 2) {
        const int64 before = threadIdx.x >= distance ? own[threadIdx.x - distance] : 0;
        __syncthreads();
        own[threadIdx.x] += before;
        __syncthreads();
    }
    items[threadIdx.x] = own[threadIdx.x];
}

extern "C" __global__ void shuffle(int64 width, int64* out) {
    const int lane = threadIdx.x, size = (int)width;
    const int64 value = 100 + lane;
    out[0 * 32 + lane] = __shfl_sync(ALL, value, 3, size);
    out[1 * 32 + lane] = __shfl_up_sync(ALL, value, 2, size);
    out[2 * 32 + lane] = __shfl_down_sync(ALL, value, 2, size);
    out[3 * 32 + lane] = __shfl_xor_sync(ALL, value, 5, size);
    out[4 * 32 + lane] = (int64)__shfl_sync(ALL, 0.5 * lane, 31 - lane);
    out[5 * 32 + lane] = __shfl_sync(ALL, lane, lane + 1);
}

extern "C" __global__ void vote(int64* out) {
    const int lane = threadIdx.x % 32;
    const unsigned odd = __ballot_sync(ALL, lane & 1);
    const int any = __any_sync(ALL, lane == 40), all = __all_sync(ALL, lane < 32);
    const unsigned same = __match_any_sync(ALL, lane / 8);
    const int count = __syncthreads_count(threadIdx.x < 40);
    const int either = __syncthreads_or(threadIdx.x == 40), both = __syncthreads_and(either);
    if (threadIdx.x != 9) return;
    const int64 found[] = {odd, any, all, same, count, either, both};
    for (int i = 0; i < 7; ++i) out[i] = found[i];
}

extern "C" __global__ void atomics(uint64* longs, int64* signs, uint32* words) {
    const uint64 i = threadIdx.x;
    atomicAdd(&longs[0], i);
    atomicMax(&longs[1], i);
    atomicMin(&longs[2], i + 5);
    atomicOr(&longs[3], 1ull << i);
    atomicAnd(&longs[4], ~(1ull << i));
    atomicXor(&longs[5], i);
    atomicMax(&signs[0], -(int64)i - 1);
    atomicMin(&signs[1], -(int64)i);
    atomicAdd(&words[0], 1u);
    atomicSub(&words[1], 2u);
    atomicInc(&words[2], 9u);
    if (atomicCAS(&words[3], 0u, 7u) == 0) words[4] = atomicExch(&words[4], 3u) + 1;
}

extern "C" __global__ void intrinsics(int64* out) {
    if (threadIdx.x) return;
    const int64 found[] = {
        __popc(0xF0F0u), __popcll(~0ull), __ffs(8), __ffsll(1ll << 40), __clz(1), __clzll(0),
        (int64)__brev(1u), (int64)__umul64hi(1ull << 63, 6), min(3, -4), max(3u, 4u),
        __double_as_longlong(-0.0), __double2ll_rn(2.5), __double2ll_rn(3.5), __double2int_rn(1e10),
        (int64)sqrt(81.0), (int64)floor(-0.5), isnan(__longlong_as_double(-1)), llabs(-5),
        (int64)__ddiv_rn(9.0, 2.0), (int64)__byte_perm(0x33221100, 0x77665544, 0x7410),
    };
    for (int i = 0; i < 20; ++i) out[i] = found[i];
}

extern "C" __global__ void vectors(const uint4* items, ulonglong2* pairs, double2* halves) {
    const uint4 four = __ldg(items + threadIdx.x);
    __stcs(pairs + threadIdx.x, make_ulonglong2(four.x + four.y, four.z + four.w));
    halves[threadIdx.x] = make_double2(four.x * 0.5, four.w * 0.5);
}

// Each thread changes its own copy of the arguments.
extern "C" __global__ void count_down(int64 n, int64* out) {
    while (n > 10) --n;
    out[threadIdx.x] = n;
}

// --- ones with a bug ---

extern "C" __global__ void read_uninitialized(int64* out) {
    extern __shared__ uint64 shared_memory[];
    __shared__ int64 own[64];
    out[threadIdx.x] = own[threadIdx.x];
    out[64 + threadIdx.x] = shared_memory[threadIdx.x];
    __syncthreads();
    own[threadIdx.x] = shared_memory[threadIdx.x] = 1;  // the next block must not see it
}

// Without a barrier: what a thread reads depends on the order.
extern "C" __global__ void race(int64* out) {
    __shared__ int64 own[64];
    own[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = own[threadIdx.x * 5 % 64];
}

extern "C" __global__ void write_last(int64* out) { *out = blockIdx.x; }

extern "C" __global__ void return_early(int64* out) {
    if (threadIdx.x == 40) return;
    __syncthreads();
    out[threadIdx.x] = 1;
}

extern "C" __global__ void meet_elsewhere(int64* out) {
    if (threadIdx.x < 32)
        __syncthreads();
    else
        __syncthreads();
    out[threadIdx.x] = 1;
}

extern "C" __global__ void leave_warp(int64* out) {
    if (threadIdx.x != 7) out[threadIdx.x] = __shfl_sync(ALL, 1, 0);
    __syncthreads();
}

extern "C" __global__ void mask_half(int64* out) {
    if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0xffff, 1, 0);
}

extern "C" __global__ void write_at(int64* out, int64 place) { out[place] = 1; }

extern "C" __global__ void write_shared(int64* out) {
    extern __shared__ uint64 shared_memory[];
    shared_memory[threadIdx.x] = 1;
    *out = 1;
}

extern "C" __global__ void index_beyond(int64* out) {
    __shared__ int64 own[16];
    own[threadIdx.x] = 1;
    *out = own[3];
}

extern "C" __global__ void read_misaligned(const char* bytes, int64* out) {
    *out = *(const int64*)(bytes + 4);
}

extern "C" __global__ void shift_too_far(int64 n_bits, uint64* out) { *out = 1ull << n_bits; }

extern "C" __global__ void cast(double value, int64* out) { *out = (int64)value; }

extern "C" __global__ void divide(int64 divisor, int64* out) { *out = 5 / divisor; }

__device__ __noinline__ int64 recurse(int64 n) {
    volatile int64 own[64];
    own[n % 64] = n;
    return n ? recurse(n - 1) + own[n % 64] : 0;
}

extern "C" __global__ void fill_stack(int64* out) { *out = recurse(100000); }

extern "C" __global__ void trap(int64* out) {
    if (threadIdx.x == 5) __trap();
    *out = 1;
}
