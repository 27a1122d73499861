// Which side of a split a row goes to, as in kernels/grow/partition.py.
//
// A step is what a row needs to know at a node, in one word: left child << 40 | feature << 16 |
// skip << 8 | bound. Of a leaf it is 0, because no child is node 0. A bin goes left if
// bin - skip <= bound, with wrap-around of a byte: bins 1 .. split_bin, and bin 0 if missing goes
// left. Of a split by a set of categories, skip is SET_SKIP, and its bins are elsewhere.
#pragma once
#include "layout.cuh"

constexpr uint32 SET_SKIP = 2;

__device__ inline uint64 pack_step(int64 left, int64 feature, uint32 split_bin, bool missing_left) {
    if (left < 0) return 0;
    const uint32 skip = split_bin == SET ? SET_SKIP : missing_left ? 0 : 1;
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

// Tests of a row's bin at a node. The first one serves trees without sets.
struct StepTest {
    __device__ bool operator()(uint64 step, uint32 node, uint8 code) const {
        return is_left_code(step, code);
    }
};
struct SetTest {
    const uint32* sets;  // [n_nodes][SET_WORDS]

    __device__ bool operator()(uint64 step, uint32 node, uint8 code) const {
        if ((step >> 8 & SET_SKIP) == 0) return is_left_code(step, code);
        return __ldg(sets + (uint64)node * SET_WORDS + code / 32) >> (code % 32) & 1;
    }
};
