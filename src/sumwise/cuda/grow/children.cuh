// What becomes of a node that is split: its children, as in kernels/grow/decide.py.
#pragma once
#include "grow/gain.cuh"

__device__ inline Node make_node(int64 node, int64 depth, int64 anchor) {
    Node made;
    made.feature = made.left = made.slot = -1;
    made.depth = (int32)depth;
    made.anchor = (int32)(anchor < 0 ? node : anchor);
    made.split_bin = 0;
    made.missing_left = made.splittable = made.packed = 0;
    made.gain = made.weight = 0.0;
    return made;
}

// Give new children their parent, and their bounds where nodes have some.
__device__ inline void note_bounds(
    const Job& job, int64 node, const Node& own, const Limits& limits, const Sums (&totals)[2]) {
    if (!job.has_parents) return;
    const int64 left = own.left, f = own.feature;
    const double lower = job.lower[node], upper = job.upper[node];
    double lowers[2] = {lower, lower}, uppers[2] = {upper, upper};
    const int64 direction = job.direction[f];
    const bool is_missing_alone = own.split_bin == job.n_value_bins[f];
    if (direction != 0 && !is_missing_alone && job.growth != SYMMETRIC) {
        double middle = 0.0;
        // Halved first: the sum might overflow.
#pragma unroll
        for (int child = 0; child < 2; child++)
            middle += 0.5 * child_value(limits, totals[child]);
        middle = smaller_of(larger_of(middle, lower), upper);
        const int below = direction > 0 ? 0 : 1;
        uppers[below] = middle;
        lowers[1 - below] = middle;
    }
#pragma unroll
    for (int child = 0; child < 2; child++) {
        job.parent[left + child] = (int32)node;
        job.lower[left + child] = lowers[child];
        job.upper[left + child] = uppers[child];
    }
}

// What the children of a node will be.
struct Children {
    Sums totals[2];
    int64 small;  // 0 or 1: the one with fewer rows, the left one if equal
    bool splittable[2];
};

__device__ inline Children divide_node(const Job& job, int64 node, int64 depth) {
    Children made;
    made.totals[0] = load_sums(job.left_totals + 3 * node);
    made.totals[1] = load_sums(job.totals + 3 * node) - made.totals[0];
    made.small = made.totals[1].n < made.totals[0].n ? 1 : 0;
#pragma unroll
    for (int child = 0; child < 2; child++) {
        const bool is_enough = made.totals[child].n >= 2 * job.min_samples_leaf;
        made.splittable[child] = is_enough && depth + 1 < job.max_depth;
    }
    return made;
}

// Create the children of a node at own.left and behind it. They keep the value of `anchor`, or if
// that is -1, have values of their own. Their slots are -1 if they need no histograms.
__device__ __noinline__ static void create_children(
    const Job& job, const State& state, int64 node, const Node& own, const Children& made,
    int64 anchor, int64 small_slot, int64 large_slot) {
    const int64 left = own.left;
    const Limits limits = find_limits(job, state.unit_g, state.unit_h, node, -1);
#pragma unroll
    for (int child = 0; child < 2; child++) {
        Node next = make_node(left + child, own.depth + 1, anchor);
        next.splittable = made.splittable[child];
        next.slot = (int32)(child == made.small ? small_slot : large_slot);
        job.nodes[left + child] = next;
        store_sums(made.totals[child], job.totals + 3 * (left + child));
        if (job.path_smooth > 0.0) {
            const double value = child_value(limits, made.totals[child]);
            job.values[left + child] = anchor >= 0 ? job.values[node] : value;
        }
    }
    note_bounds(job, node, own, limits, made.totals);
}

// List a family; its children have been created.
__device__ inline void list_family(
    const Job& job, int64 k, int64 node, const Node& own, const Children& made, int64 mode,
    int64 small_slot, int64 large_slot, int64 rows_before) {
    Family family;
    family.parent = (int32)node;
    family.left = own.left;
    family.small = (int32)(own.left + made.small);
    family.mode = (int32)mode;
    family.small_slot = (int32)small_slot;
    family.large_slot = (int32)large_slot;
    family.splittable = (made.splittable[0] ? 1 : 0) | (made.splittable[1] ? 2 : 0);
    family.depth = own.depth + 1;
    store_sums(made.totals[0], family.totals[0]);
    store_sums(made.totals[1], family.totals[1]);
    job.families[k] = family;
    job.move_first[k] = rows_before;
    job.cursors[2 * k] = job.cursors[2 * k + 1] = 0;
}

// Leave the records of a node where they are, because its children will not be split.
__device__ inline void leave_records(const Job& job, int64 left) {
    job.first[left] = job.last[left] = job.first[left + 1] = job.last[left + 1] = 0;
}

// Split a node outside of symmetric growth; its children stand at `left`. If they may be split it
// is family k, after so many rows of others; otherwise k is -1.
__device__ inline void split_node_at(
    const Job& job, const State& state, int64 node, int64 left, int64 k, int64 rows_before) {
    Node own = job.nodes[node];
    own.left = (int32)left;
    const Children made = divide_node(job, node, own.depth);
    const int64 small_slot = k >= 0 ? state.n_slots + k : -1;
    const int64 large_slot = k >= 0 ? own.slot : -1;
    create_children(job, state, node, own, made, -1, small_slot, large_slot);
    job.nodes[node].left = own.left;
    job.nodes[node].slot = -1;
    if (k >= 0) list_family(job, k, node, own, made, SUBTRACT, small_slot, large_slot, rows_before);
    else leave_records(job, left);
}
