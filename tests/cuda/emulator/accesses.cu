// Kernels whose accesses are watched: right ones, and ones with a bug each.
#include "layout.cuh"

__constant__ int64 SQUARES[] = {0, 1, 4, 9, 16, 25, 36, 49};

struct Triple {
    int64 a, b, c;
};

// --- right ones ---

extern "C" __global__ void exchange_after_barrier(int64* out) {
    extern __shared__ uint64 shared_memory[];
    __shared__ int64 own[64];
    for (int64 round = 0; round < 3; ++round) {
        own[threadIdx.x] = threadIdx.x + round;
        shared_memory[threadIdx.x] = round;
        __syncthreads();
        out[threadIdx.x] = own[63 - threadIdx.x] + shared_memory[63 - threadIdx.x];
        __syncthreads();
    }
}

extern "C" __global__ void exchange_in_warp(int64* out) {
    __shared__ int64 own[64];
    own[threadIdx.x] = threadIdx.x;
    __syncwarp();
    out[threadIdx.x] = own[threadIdx.x ^ 1];
}

extern "C" __global__ void write_same(int64* out) { *out = 7; }

extern "C" __global__ void write_bytes(uint8* out) { out[threadIdx.x] = (uint8)threadIdx.x; }

extern "C" __global__ void count(uint64* out) {
    __shared__ uint64 n;
    if (threadIdx.x == 0) n = 0;
    __syncthreads();
    atomicAdd(&n, 1ull);
    __syncthreads();
    if (threadIdx.x == 9) atomicAdd(out, n);
}

// Private memory, constants, structures.
extern "C" __global__ void compute(const Triple* triples, int64* out) {
    int64 own[8];
    for (int i = 0; i < 8; ++i) own[(i + threadIdx.x) % 8] = SQUARES[i];
    const Triple triple = triples[threadIdx.x];
    out[threadIdx.x] = own[threadIdx.x % 8] + triple.a + triple.c;
}

// Which block is the last one is told by an atomic: blocks are not compared.
extern "C" __global__ void hand_over(uint64* parts, uint32* n_done, uint64* out) {
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = blockIdx.x;
        __threadfence();
        if (atomicAdd(n_done, 1u) != gridDim.x - 1) return;
        for (int64 i = 0; i < gridDim.x; ++i) *out += parts[i];
    }
}

// --- ones with a bug ---

extern "C" __global__ void read_without_barrier(int64* out) {
    __shared__ int64 own[64];
    own[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = own[63 - threadIdx.x];
}

// The next round overwrites what a slow thread still reads.
extern "C" __global__ void overwrite_too_early(int64* out) {
    __shared__ int64 own[64];
    for (int64 round = 0; round < 3; ++round) {
        own[threadIdx.x] = threadIdx.x + round;
        __syncthreads();
        out[threadIdx.x] = own[63 - threadIdx.x];
    }
}

// A shuffle does not order accesses, only __syncwarp does.
extern "C" __global__ void trust_shuffle(int64* out) {
    __shared__ int64 own[64];
    own[threadIdx.x] = threadIdx.x;
    __shfl_sync(0xffffffff, 1, 0);
    out[threadIdx.x] = own[threadIdx.x ^ 1];
}

// __syncwarp does not order accesses of other warps.
extern "C" __global__ void trust_warp(int64* out) {
    __shared__ int64 own[64];
    own[threadIdx.x] = threadIdx.x;
    __syncwarp();
    out[threadIdx.x] = own[threadIdx.x ^ 32];
}

extern "C" __global__ void write_different(int64* out) { *out = threadIdx.x; }

extern "C" __global__ void read_while_counting(uint64* out) {
    __shared__ uint64 n;
    if (threadIdx.x == 0) n = 0;
    __syncthreads();
    atomicAdd(&n, 1ull);
    out[threadIdx.x] = n;
}

extern "C" __global__ void read_at(const int64* items, int64 place, int64* out) {
    if (threadIdx.x == 0) *out = items[place];
}

extern "C" __global__ void read_shared_at(int64 place, int64* out) {
    extern __shared__ uint64 shared_memory[];
    if (threadIdx.x == 0) *out = (int64)shared_memory[place];
}
