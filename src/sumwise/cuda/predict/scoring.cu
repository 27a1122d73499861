// Walk coded rows through trees, and add up the values of their leaves; see
// kernels/predict/scoring.py.
//
// A node is a word of 64 bits: left child within the tree (24 bits), bound (8), skip (1), and where
// the code of a row is, in bytes from its first one (31). A row goes right if code - skip > bound.
// A leaf leads to itself. The nodes of a tree are ordered by depth, so that those of a level lie
// side by side.
//
// Near trees lie in shared memory, and so do the codes of the rows at work: a word of four columns
// for each row, then the next four columns, so that every thread of a warp reads from a bank of its
// own. Far trees, which are too large for this, and the codes of their rows are read where they
// are.
#include "layout.cuh"
#include "runtime/grid.cuh"

struct Trees {
    const uint64* nodes;
    const double* value;
    const int32* start;
    const int32* depth;
    const int32* output;
    int64 n_trees;
};

__device__ inline uint32 go_on(const uint64* nodes, uint32 place, const uint8* codes) {
    const uint64 node = nodes[place];
    const uint32 low = (uint32)node, high = (uint32)(node >> 32);
    // A missing value, 0, that is to go right wraps around: it is above every bound.
    const uint32 code = codes[low & 0x7FFFFFFF] - (low >> 31);
    return (high >> 8) + (code > (high & 255));
}

// Find the leaves of a row in the trees [tree, tree + TOGETHER); beyond the last, in the last one.
// All threads of a warp come here.
__device__ inline void find_leaves(const Trees& trees, int64 tree, const uint8* codes,
                                   uint32* leaf) {
    const uint64* nodes[TOGETHER];
    int32 depth = 0;
#pragma unroll
    for (int k = 0; k < TOGETHER; ++k) {
        int64 own = tree + k < trees.n_trees ? tree + k : trees.n_trees - 1;
        nodes[k] = trees.nodes + trees.start[own];
        depth = trees.depth[own] > depth ? trees.depth[own] : depth;
        leaf[k] = 0;
    }
    while (true) {
        uint32 before[TOGETHER];
        int32 n_steps = depth < 4 ? depth : 4;
        for (int32 step = 0; step < n_steps; ++step)
#pragma unroll
            for (int k = 0; k < TOGETHER; ++k) {
                before[k] = leaf[k];
                leaf[k] = go_on(nodes[k], leaf[k], codes);
            }
        depth -= n_steps;
        if (depth == 0) return;
        bool moved = false;  // deep trees: few rows go all the way
#pragma unroll
        for (int k = 0; k < TOGETHER; ++k) moved |= before[k] != leaf[k];
        if (__ballot_sync(ALL_LANES, moved) == 0) return;
    }
}

// Add the values of trees to the scores of a row, in the order of the trees.
__device__ inline void add_values(const Trees& trees, const uint8* codes, bool is_row,
                                  double* out) {
    double sum = 0.0;
    int32 output = -1;
    for (int64 tree = 0; tree < trees.n_trees; tree += TOGETHER) {
        uint32 leaf[TOGETHER];
        find_leaves(trees, tree, codes, leaf);
#pragma unroll
        for (int k = 0; k < TOGETHER; ++k) {
            if (tree + k >= trees.n_trees) break;
            if (trees.output[tree + k] != output) {
                if (is_row) {
                    if (output >= 0) out[output] = sum;
                    sum = out[trees.output[tree + k]];
                }
                output = trees.output[tree + k];
            }
            sum += trees.value[trees.start[tree + k] + leaf[k]];
        }
    }
    if (is_row && output >= 0) out[output] = sum;
}

// Write the leaves of a row, as the model numbers nodes and trees.
__device__ inline void write_leaves(const Trees& trees, const uint8* codes, bool is_row,
                                    const int32* leaf_node, const int32* number, int32* out) {
    for (int64 tree = 0; tree < trees.n_trees; tree += TOGETHER) {
        uint32 leaf[TOGETHER];
        find_leaves(trees, tree, codes, leaf);
#pragma unroll
        for (int k = 0; k < TOGETHER; ++k)
            if (is_row && tree + k < trees.n_trees)
                out[number[tree + k]] = leaf_node[trees.start[tree + k] + leaf[k]];
    }
}

// Copy trees [first, last) to shared memory; return where it is free.
__device__ inline uint32* load_trees(const CodedTrees& coded, int64 first, int64 last,
                                     Trees& trees) {
    int64 n_trees = last - first, begin = coded.start[first], n_nodes = coded.start[last] - begin;
    uint64* nodes = shared_memory;
    double* value = (double*)(nodes + n_nodes);
    int32* start = (int32*)(value + n_nodes);
    int32* depth = start + n_trees;
    int32* output = depth + n_trees;
    for (int64 i = threadIdx.x; i < n_nodes; i += blockDim.x) {
        nodes[i] = coded.nodes[begin + i];
        value[i] = coded.value[begin + i];
    }
    for (int64 tree = threadIdx.x; tree < n_trees; tree += blockDim.x) {
        start[tree] = (int32)(coded.start[first + tree] - begin);
        depth[tree] = coded.depth[first + tree];
        output[tree] = coded.output[first + tree];
    }
    __syncthreads();
    trees = {nodes, value, start, depth, output, n_trees};
    return (uint32*)(output + n_trees);
}

// Copy the codes of a thread's row to shared memory, where no other thread reads them.
__device__ inline const uint8* load_codes(const uint8* codes, int64 row, int64 n_rows,
                                          int64 n_columns, uint32* target) {
    const uint8* own = codes + (row / BLOCK * n_columns) * BLOCK + row % BLOCK;
    uint32* words = target + threadIdx.x;
    for (int64 column = 0; column < n_columns; column += QUAD) {
        uint32 word = 0;
#pragma unroll
        for (int k = 0; k < QUAD; ++k)
            if (row < n_rows && column + k < n_columns)
                word |= (uint32)own[(column + k) * BLOCK] << (8 * k);
        words[column / QUAD * blockDim.x] = word;
    }
    return (const uint8*)words;
}

__device__ inline const uint8* find_codes(const uint8* codes, int64 row, int64 n_rows,
                                          int64 n_columns) {
    int64 own = row < n_rows ? row : n_rows - 1;
    return codes + (own / BLOCK * n_columns) * BLOCK + own % BLOCK;
}

__device__ inline Trees find_trees(const CodedTrees& coded, int64 first, int64 last) {
    return {coded.nodes, coded.value, coded.start + first, coded.depth + first,
            coded.output + first, last - first};
}

// Give each of n_rows rows the base score: out[n_rows][n_outputs].
extern "C" __global__ void start_scores(const double* base_score, int64 n_outputs, int64 n_rows,
                                        double* out) {
    int64 n_items = n_rows * n_outputs;
    for (int64 i = first_item(); i < n_items; i += item_step())
        out[i] = base_score[n_outputs == 1 ? 0 : i % n_outputs];
}

// Add the values of trees [first, last) to out[n_rows][n_outputs].
extern "C" __global__ void add_near_predictions(const uint8* codes, int64 n_rows,
                                                  CodedTrees coded, int64 first, int64 last,
                                                  double* out, int64 n_outputs) {
    Trees trees;
    uint32* room = load_trees(coded, first, last, trees);
    for (int64 begin = (int64)blockIdx.x * blockDim.x; begin < n_rows; begin += item_step()) {
        int64 row = begin + threadIdx.x;
        const uint8* own = load_codes(codes, row, n_rows, coded.n_columns, room);
        add_values(trees, own, row < n_rows, out + row * n_outputs);
    }
}

extern "C" __global__ void add_far_predictions(const uint8* codes, int64 n_rows, CodedTrees coded,
                                                int64 first, int64 last, double* out,
                                                int64 n_outputs) {
    Trees trees = find_trees(coded, first, last);
    for (int64 begin = (int64)blockIdx.x * blockDim.x; begin < n_rows; begin += item_step()) {
        int64 row = begin + threadIdx.x;
        const uint8* own = find_codes(codes, row, n_rows, coded.n_columns);
        add_values(trees, own, row < n_rows, out + row * n_outputs);
    }
}

// Write the leaves of rows in trees [first, last) to out[n_rows][n_trees].
extern "C" __global__ void find_near_leaves(const uint8* codes, int64 n_rows, CodedTrees coded,
                                              int64 first, int64 last, int32* out, int64 n_trees) {
    Trees trees;
    uint32* room = load_trees(coded, first, last, trees);
    const int32* leaf_node = coded.leaf_node + coded.start[first];
    for (int64 begin = (int64)blockIdx.x * blockDim.x; begin < n_rows; begin += item_step()) {
        int64 row = begin + threadIdx.x;
        const uint8* own = load_codes(codes, row, n_rows, coded.n_columns, room);
        write_leaves(trees, own, row < n_rows, leaf_node, coded.number + first,
                     out + row * n_trees);
    }
}

extern "C" __global__ void find_far_leaves(const uint8* codes, int64 n_rows, CodedTrees coded,
                                            int64 first, int64 last, int32* out, int64 n_trees) {
    Trees trees = find_trees(coded, first, last);
    for (int64 begin = (int64)blockIdx.x * blockDim.x; begin < n_rows; begin += item_step()) {
        int64 row = begin + threadIdx.x;
        const uint8* own = find_codes(codes, row, n_rows, coded.n_columns);
        write_leaves(trees, own, row < n_rows, coded.leaf_node, coded.number + first,
                     out + row * n_trees);
    }
}
