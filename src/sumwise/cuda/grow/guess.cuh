// Leaf-wise growth splits one node after the other, and each split decides what comes next. To
// split several at once, it guesses, as kernels/grow/nursery.py does: if no other child were to
// come, these nodes would be next. Their children wait until it is their parent's turn.
//
// Nodes stand in the order in which they were made; `anchor` is the number that a node has in the
// tree, -1 for a guess. When the tree is complete its nodes are put in order, and guesses that did
// not come true are dropped.
#pragma once
#include "grow/children.cuh"
#include "grow/dividing.cuh"
#include "runtime/scan.cuh"

constexpr int64 MOST_PLACES = 704;
constexpr int64 FEW_FAMILIES = 4, SPLITS_PER_FAMILY = 6;
// What is known of a node: it has a split; its children may be split, too; it is a leaf of the
// tree; it is a leaf of the tree that is being guessed; it has few rows.
constexpr uint32 HAS_SPLIT = 1, MAY_GROW = 2, IS_LEAF = 4, IS_GUESSED = 8, IS_SMALL = 16;
// Places fit in so many bits. A node without a split comes after all others.
constexpr int32 PLACE_BITS = 10;
constexpr int64 LAST_ORDER = -0x7FFFFFFFFFFFFFFF - 1;
static_assert(MOST_PLACES <= 1 << PLACE_BITS);

// All nodes, as the first warp sees them.
struct Places {
    int64 order[MOST_PLACES];  // of gains
    int32 left[MOST_PLACES];
    int32 number[MOST_PLACES];  // in the tree, -1 for a guess
    uint8 known[MOST_PLACES];
    // What it has found: nodes that get children, and which family they are, -1 for none.
    int32 split[MOST_PLACES / 2];
    int32 family[MOST_PLACES / 2];
    int32 n_splits, n_families, n_places, n_leaves, is_complete;
};

__device__ inline void load_places(const Job& job, const State& state, Places& shared) {
#pragma unroll 1
    for (int64 place = threadIdx.x; place < state.n_nodes; place += blockDim.x) {
        const Node own = job.nodes[place];
        const int64 n_rows = job.totals[3 * place + 2], n_left = job.left_totals[3 * place + 2];
        const bool is_enough = larger_of(n_left, n_rows - n_left) >= 2 * job.min_samples_leaf;
        shared.order[place] = own.feature >= 0 ? order_of(own.gain + 0.0) : LAST_ORDER;
        shared.left[place] = own.left;
        shared.number[place] = own.anchor;
        uint32 known = own.feature >= 0 ? HAS_SPLIT : 0;
        if (known && is_enough && own.depth + 1 < job.max_depth) known |= MAY_GROW;
        if (n_rows <= job.guess_rows) known |= IS_SMALL;
        shared.known[place] = (uint8)known;
    }
    __syncthreads();
#pragma unroll 1
    for (int64 place = threadIdx.x; place < state.n_nodes; place += blockDim.x) {
        const int32 left = shared.left[place];
        const bool is_split = left >= 0 && shared.number[left] >= 0;
        if (shared.number[place] >= 0 && !is_split) shared.known[place] |= IS_LEAF;
    }
    __syncthreads();
}

// By a warp: the node that is split first of those of which all this is known, -1 for none. By
// gain, then by number; guesses come last.
__device__ inline int32 find_first(const Places& shared, int32 n_places, uint32 known) {
    int64 order = LAST_ORDER;
    int32 first = 0x7FFFFFFF;  // number << PLACE_BITS | place
#pragma unroll 2
    for (int32 place = own_lane(); place < n_places; place += 32) {
        const int32 number = shared.number[place];
        const int32 turn = number >= 0 ? number : (int32)MOST_PLACES + place;
        const int32 own = turn << PLACE_BITS | place;
        const bool is_known = (shared.known[place] & known) == known;
        const int64 own_order = is_known ? shared.order[place] : LAST_ORDER;
        const bool takes = own_order > order || (own_order == order && own < first);
        order = takes ? own_order : order;
        first = takes ? own : first;
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        const int64 other_order = __shfl_xor_sync(ALL_LANES, order, distance);
        const int32 other = __shfl_xor_sync(ALL_LANES, first, distance);
        const bool takes = other_order > order || (other_order == order && other < first);
        order = takes ? other_order : order;
        first = takes ? other : first;
    }
    return order == LAST_ORDER ? -1 : first & ((1 << PLACE_BITS) - 1);
}

// By one thread: note that a node gets children.
__device__ inline int32 add_children(Places& shared, int32 place, int32 family) {
    const int32 left = shared.n_places;
    shared.n_places += 2;
    shared.split[shared.n_splits] = place;
    shared.family[shared.n_splits++] = family;
    shared.left[place] = left;
    for (int32 child = left; child < left + 2; child++) {
        shared.left[child] = shared.number[child] = -1;
        shared.known[child] = 0;
        shared.order[child] = LAST_ORDER;
    }
    return left;
}

// By a warp: split the leaves of the tree in their order, as far as their children are known or
// will not be split.
__device__ inline void split_known(const Job& job, Places& shared) {
    while (true) {
        __syncwarp();
        const int32 n_leaves = shared.n_leaves, n_places = shared.n_places;
        const int32 first = n_leaves < job.max_leaves
                                ? find_first(shared, n_places, HAS_SPLIT | IS_LEAF) : -1;
        const bool is_complete = first < 0;
        const bool must_wait = !is_complete && shared.left[first] < 0 &&
                               (shared.known[first] & MAY_GROW) && n_leaves + 1 < job.max_leaves;
        __syncwarp();
        if (is_first_lane()) {
            shared.is_complete = is_complete;
            if (!is_complete && !must_wait) {
                int32 left = shared.left[first];
                if (left < 0) left = add_children(shared, first, -1);
                shared.known[first] &= (uint8)~IS_LEAF;
                for (int32 child = 0; child < 2; child++) {
                    shared.number[left + child] = 2 * n_leaves - 1 + child;
                    shared.known[left + child] |= IS_LEAF;
                }
                shared.n_leaves = n_leaves + 1;
            }
        }
        if (is_complete || must_wait) break;
    }
    __syncwarp();
}

// By a warp: list the leaf that is split next, and nodes that will be split soon unless better ones
// come.
__device__ inline void list_guesses(const Job& job, Places& shared) {
    const int64 n_more = job.max_leaves - shared.n_leaves;
    const int64 most = smaller_of(job.most_families,
                                  larger_of(FEW_FAMILIES, n_more / SPLITS_PER_FAMILY));
    const int32 n_places = shared.n_places;
    for (int32 place = own_lane(); place < n_places; place += 32)
        if (shared.known[place] & IS_LEAF) shared.known[place] |= IS_GUESSED;
    // The last split needs no histograms.
#pragma unroll 1
    for (int64 n_left = n_more; n_left > 1; n_left--) {
        __syncwarp();
        const int32 first = find_first(shared, n_places, HAS_SPLIT | IS_GUESSED);
        const int32 n_families = shared.n_families;
        if (first < 0 || n_families >= most) break;
        const int32 left = shared.left[first];
        const int64 n_waiting = (shared.n_places - 1) / 2 - (shared.n_leaves - 1);
        __syncwarp();
        if (!is_first_lane()) continue;
        shared.known[first] &= (uint8)~IS_GUESSED;
        if (left >= 0 && left < n_places) {
            shared.known[left] |= IS_GUESSED;
            shared.known[left + 1] |= IS_GUESSED;
        } else if (shared.known[first] & MAY_GROW) {
            const bool is_small = shared.known[first] & IS_SMALL;
            if (n_families == 0 || (is_small && n_waiting < job.most_guesses))
                add_children(shared, first, shared.n_families++);
        }
    }
    __syncwarp();
}

// Create the children of the nodes that were found; list families.
__device__ inline void create_found(const Job& job, const State& state, const Places& shared) {
    __shared__ ScanMemory scan_memory;
    int64 n_moved = 0;
#pragma unroll 1
    for (int64 begin = 0; begin < shared.n_splits; begin += blockDim.x) {
        const int64 i = begin + threadIdx.x;
        const bool takes_part = i < shared.n_splits;
        const int64 node = takes_part ? shared.split[i] : 0;
        const int64 k = takes_part ? shared.family[i] : -1;
        const int64 n_rows = k >= 0 ? job.last[node] - job.first[node] : 0;
        const Scanned moved = scan_block(n_rows, scan_memory);
        if (takes_part)
            split_node_at(job, state, node, shared.left[node], k, n_moved + moved.before);
        n_moved += moved.total;
    }
    if (threadIdx.x == 0) job.move_first[shared.n_families] = n_moved;
    __syncthreads();
#pragma unroll 1
    for (int64 place = threadIdx.x; place < shared.n_places; place += blockDim.x)
        job.nodes[place].anchor = shared.number[place];
    __syncthreads();
}

__device__ inline void copy_set(const uint32* source, int64 from, uint32* target, int64 to) {
#pragma unroll 1
    for (int64 word = 0; word < SET_WORDS; word++)
        target[to * SET_WORDS + word] = source[from * SET_WORDS + word];
}

// Put the nodes of the complete tree in order, without guesses.
__device__ inline void order_nodes(const Job& job, const Places& shared) {
    const int64 n_nodes = 2 * shared.n_leaves - 1;
#pragma unroll 1
    for (int64 place = threadIdx.x; place < shared.n_places; place += blockDim.x) {
        const int32 number = shared.number[place], left = shared.left[place];
        if (number < 0) continue;
        Node own = job.nodes[place];
        own.left = left >= 0 ? shared.number[left] : -1;
        job.ordered[number] = own;
        if (job.has_parents) {
            job.ordered_bounds[2 * number] = job.lower[place];
            job.ordered_bounds[2 * number + 1] = job.upper[place];
        }
        if (job.ordered_sets) copy_set(job.node_sets, place, job.ordered_sets, number);
    }
    __syncthreads();
#pragma unroll 1
    for (int64 number = threadIdx.x; number < n_nodes; number += blockDim.x) {
        job.nodes[number] = job.ordered[number];
        if (job.has_parents) {
            job.lower[number] = job.ordered_bounds[2 * number];
            job.upper[number] = job.ordered_bounds[2 * number + 1];
        }
        if (job.ordered_sets) copy_set(job.ordered_sets, number, job.node_sets, number);
    }
}

// By a block, after the splits of new nodes are known: what is split next. Returns the next state.
__device__ inline State split_with_guesses(const Job& job, const State& state) {
    __shared__ Places shared;
    if (threadIdx.x == 0) {
        shared.n_splits = shared.n_families = 0;
        shared.n_places = (int32)state.n_nodes;
        shared.n_leaves = (int32)state.n_leaves;
    }
    load_places(job, state, shared);
    if (threadIdx.x < 32) {
        split_known(job, shared);
        if (!shared.is_complete) list_guesses(job, shared);
    }
    __syncthreads();
    create_found(job, state, shared);
    State next = state;
    next.n_nodes = shared.n_places;
    next.n_leaves = shared.n_leaves;
    next.n_families = shared.n_families;
    next.n_slots = state.n_slots + shared.n_families;
    if (shared.is_complete) {
        order_nodes(job, shared);
        next.n_nodes = 2 * shared.n_leaves - 1;
        next.status = DONE;
    }
    return next;
}
