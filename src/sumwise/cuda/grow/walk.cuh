// Rows of the table walk through a tree, in their own order; see kernels/predict/table_walk.py.
#pragma once
#include "grow/dividing.cuh"
#include "grow/split_test.cuh"

// Rows that a thread walks side by side, so that none waits for another's memory.
constexpr int32 WALKED_ROWS = 4;

// The steps of a tree: packed words, or nodes while it is not finished.
struct PackedSteps {
    const uint64* steps;
    __device__ uint64 operator()(uint32 node) const { return steps[node]; }
};
struct NodeSteps {
    const Node* nodes;
    __device__ uint64 operator()(uint32 node) const { return pack_step(nodes[node]); }
};

// Copy the steps of all nodes to shared memory, for all threads of the block.
template <class Steps>
__device__ inline PackedSteps share_steps(Steps steps, int64 n_nodes) {
    for (int64 node = threadIdx.x; node < n_nodes; node += blockDim.x)
        shared_memory[node] = steps((uint32)node);
    __syncthreads();
    return {shared_memory};
}

// Find the leaves of rows. A leaf's step is 0: who has arrived stays.
template <class Steps, class Test>
__device__ inline void walk_rows(const uint8* columns, int64 n_table_rows, Steps steps, Test test,
                                 const uint32 (&rows)[WALKED_ROWS], uint32 (&nodes)[WALKED_ROWS]) {
    uint64 step[WALKED_ROWS];
    const uint64 first = steps(0);
#pragma unroll
    for (int32 j = 0; j < WALKED_ROWS; ++j) {
        nodes[j] = 0;
        step[j] = first;
    }
    for (bool is_walking = first != 0; is_walking;) {
        uint8 codes[WALKED_ROWS];
#pragma unroll
        for (int32 j = 0; j < WALKED_ROWS; ++j)
            if (step[j]) codes[j] = __ldg(columns + step_feature(step[j]) * n_table_rows + rows[j]);
        is_walking = false;
#pragma unroll
        for (int32 j = 0; j < WALKED_ROWS; ++j) {
            if (step[j]) {
                nodes[j] = step_left(step[j]) + !test(step[j], nodes[j], codes[j]);
                step[j] = steps(nodes[j]);
                is_walking |= step[j] != 0;
            }
        }
    }
}
