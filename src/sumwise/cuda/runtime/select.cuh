// How blocks divide the keys of many groups; see select.py.
#pragma once
#include "layout.cuh"
#include "runtime/grid.cuh"

// A part of a group, up to CHUNK_SIZE keys, which one block works on.
struct Chunk {
    int64 group, first, last;
};

// Of groups that overlap others, no keys are pooled: n_pooled has this instead of a number.
constexpr uint64 NOT_POOLED = 0xFFFFFFFFFFFFFFFFULL;

// Find the group of a chunk: groups have as many chunks as their sizes need. If `pooled` is true,
// and the group has a pool, the chunk is a part of that; otherwise `pooled` becomes false.
__device__ inline Chunk find_chunk(const Selection& s, int64 number, bool& pooled) {
    int64 low = 0, high = s.n_groups;
    while (high - low > 1) {  // chunk_first[low] <= number < chunk_first[high]
        const int64 middle = (low + high) / 2;
        if (s.chunk_first[middle] <= number) low = middle;
        else high = middle;
    }
    pooled = pooled && s.n_pooled[low] != NOT_POOLED;
    const int64 size = pooled ? (int64)s.n_pooled[low] : s.size[low];
    const int64 begin = (number - s.chunk_first[low]) * CHUNK_SIZE;
    const int64 end = begin + CHUNK_SIZE < size ? begin + CHUNK_SIZE : size;
    return {low, s.first[low] + begin, s.first[low] + end};
}

__device__ inline Chunk find_chunk(const Selection& s, int64 number) {
    bool pooled = false;
    return find_chunk(s, number, pooled);
}
