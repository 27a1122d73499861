// Rows that a tree was not grown on; twin of kernels/predict/table_walk.py.
//
// Rows are rows[0 .. n_rows), or first_row and the following ones if rows is null. Steps are those
// of split_test.cuh; where they do not fit in shared memory they are read from where they are.
#include "grow/walk.cuh"

// Call visit(row, leaf) for each of the rows.
template <class Steps, class Test, class Visitor>
__device__ inline void visit_leaves(const uint8* columns, int64 n_table_rows, Steps steps,
                                    Test test, const uint32* rows, int64 first_row,
                                    int64 n_rows, Visitor visit) {
    const int64 step = item_step();
    for (int64 i = first_item(); i < n_rows; i += WALKED_ROWS * step) {
        uint32 own[WALKED_ROWS];
        uint32 leaves[WALKED_ROWS];
#pragma unroll
        for (int32 j = 0; j < WALKED_ROWS; ++j) {
            const int64 at = i + j * step < n_rows ? i + j * step : n_rows - 1;
            own[j] = rows ? rows[at] : (uint32)(first_row + at);
        }
        walk_rows(columns, n_table_rows, steps, test, own, leaves);
#pragma unroll
        for (int32 j = 0; j < WALKED_ROWS; ++j)
            if (i + j * step < n_rows) visit(own[j], leaves[j]);
    }
}

template <class Steps, class Test, class Visitor>
__device__ inline void walk_tree(const uint8* columns, int64 n_table_rows, Steps steps, Test test,
                                 int64 n_nodes, int64 shared_bytes, const uint32* rows,
                                 int64 first_row, int64 n_rows, Visitor visit) {
    if (n_nodes * (int64)sizeof(uint64) <= shared_bytes) {
        const PackedSteps shared = share_steps(steps, n_nodes);
        visit_leaves(columns, n_table_rows, shared, test, rows, first_row, n_rows, visit);
    } else {
        visit_leaves(columns, n_table_rows, steps, test, rows, first_row, n_rows, visit);
    }
}

struct AddValue {
    const double* value;
    double* scores;
    __device__ void operator()(uint32 row, uint32 leaf) const { scores[row] += value[leaf]; }
};
struct WriteLeaf {
    uint32* leaves;
    __device__ void operator()(uint32 row, uint32 leaf) const { leaves[row] = leaf; }
};

// Add the values of a finished tree to the scores of rows.
extern "C" __global__ void add_tree_values(const uint8* columns, int64 n_table_rows,
                                           const uint64* steps, int64 n_nodes, const double* value,
                                           const uint32* rows, int64 first_row, int64 n_rows,
                                           double* scores, int64 shared_bytes) {
    walk_tree(columns, n_table_rows, PackedSteps{steps}, StepTest{}, n_nodes, shared_bytes, rows,
              first_row, n_rows, AddValue{value, scores});
}

extern "C" __global__ void add_tree_values_by_set(const uint8* columns, int64 n_table_rows,
                                                  const uint64* steps, int64 n_nodes,
                                                  const double* value, const uint32* rows,
                                                  int64 first_row, int64 n_rows, double* scores,
                                                  int64 shared_bytes, const uint32* sets) {
    walk_tree(columns, n_table_rows, PackedSteps{steps}, SetTest{sets}, n_nodes, shared_bytes, rows,
              first_row, n_rows, AddValue{value, scores});
}

// Write the leaves of rows in a finished tree.
extern "C" __global__ void find_leaves(const uint8* columns, int64 n_table_rows,
                                       const uint64* steps, int64 n_nodes, const uint32* rows,
                                       int64 first_row, int64 n_rows, uint32* leaves,
                                       int64 shared_bytes) {
    walk_tree(columns, n_table_rows, PackedSteps{steps}, StepTest{}, n_nodes, shared_bytes, rows,
              first_row, n_rows, WriteLeaf{leaves});
}

extern "C" __global__ void find_leaves_by_set(const uint8* columns, int64 n_table_rows,
                                              const uint64* steps, int64 n_nodes,
                                              const uint32* rows, int64 first_row, int64 n_rows,
                                              uint32* leaves, int64 shared_bytes,
                                              const uint32* sets) {
    walk_tree(columns, n_table_rows, PackedSteps{steps}, SetTest{sets}, n_nodes, shared_bytes, rows,
              first_row, n_rows, WriteLeaf{leaves});
}

// Add the values of the tree that was grown last to the scores of other rows.
template <class Test>
__device__ inline void walk_grown_tree(const Job& job, Test test, const uint32* rows,
                                       int64 first_row, int64 n_rows, double* scores,
                                       int64 shared_bytes) {
    if (job.state->status == OUT_OF_RANGE) return;
    walk_tree(job.columns, job.n_table_rows, NodeSteps{job.nodes}, test, job.state->n_nodes,
              shared_bytes, rows, first_row, n_rows, AddValue{job.value, scores});
}

extern "C" __global__ void add_grown_values(Job job, const uint32* rows, int64 first_row,
                                            int64 n_rows, double* scores, int64 shared_bytes) {
    walk_grown_tree(job, StepTest{}, rows, first_row, n_rows, scores, shared_bytes);
}

extern "C" __global__ void add_grown_values_by_set(Job job, const uint32* rows, int64 first_row,
                                                   int64 n_rows, double* scores,
                                                   int64 shared_bytes) {
    walk_grown_tree(job, SetTest{job.node_sets}, rows, first_row, n_rows, scores, shared_bytes);
}

// Write the steps of the tree that was grown last, to keep it.
extern "C" __global__ void pack_steps(Job job, uint64* steps) {
    const int64 n_nodes = job.state->n_nodes, step = item_step();
    for (int64 node = first_item(); node < n_nodes; node += step)
        steps[node] = pack_step(job.nodes[node]);
}
