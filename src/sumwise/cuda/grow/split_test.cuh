// Which side of a split a row goes to, as in kernels/grow/partition.py.
//
// A step is what a row needs to know at a node, in one word: left child << 40 | feature << 16 |
// skip << 8 | bound. Of a leaf it is 0, because no child is node 0. A bin goes left if
// bin - skip <= bound, with wrap-around of a byte: bins 1 .. split_bin, and bin 0 if missing goes
// left. A split by a set of categories has its place here, too: six bits of skip are free.
#pragma once
#include "layout.cuh"

__device__ inline uint64 pack_step(int64 left, int64 feature, uint32 split_bin, bool missing_left) {
    if (left < 0) return 0;
    const uint32 skip = missing_left ? 0 : 1;
    const uint8 bound = (uint8)(split_bin - skip);
    return (uint64)left << 40 | (uint64)feature << 16 | (uint64)(skip << 8) | bound;
}

__device__ inline uint64 pack_step(const Node& node) {
    return pack_step(node.left, node.feature, node.split_bin, node.missing_left != 0);
}

__device__ inline int64 step_feature(uint64 step) { return (int64)(step >> 16 & 0xffffff); }
__device__ inline uint32 step_left(uint64 step) { return (uint32)(step >> 40); }

__device__ inline bool is_left_code(uint64 step, uint8 code) {
    return (uint8)(code - (uint8)(step >> 8)) <= (uint8)step;
}
