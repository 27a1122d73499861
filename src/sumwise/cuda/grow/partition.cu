// Move the records of nodes that are split to their children; see kernels/grow/partition.py.
#include "grow/dividing.cuh"
#include "grow/split_test.cuh"
#include "runtime/elementary.cuh"
#include "runtime/scan.cuh"

// Records that a thread has under way, and fewest records of a block.
constexpr int32 MOVED_RECORDS = 8;
constexpr int64 LEAST_MOVED = 2048;
constexpr uint32 CLEARED_WORDS = 8;  // of a thread at a time
constexpr int64 LEFT = 0, RIGHT = 1;

// Set the histograms to zero that will be built next: a block takes a part of one at a time. The
// last blocks begin, because the first ones have the records if these are few.
__device__ inline void clear_histograms(const Job& job) {
    const uint32 length = (uint32)job.histogram_length, n_part = CLEARED_WORDS * blockDim.x;
    const uint32 n_parts = (length + n_part - 1) / n_part;
    const uint32 n_all = (uint32)job.state->n_families * n_parts;
    for (uint32 part = gridDim.x - 1 - blockIdx.x; part < n_all; part += gridDim.x) {
        const uint32 k = part / n_parts;
        if (job.families[k].mode == NO_HISTOGRAMS) continue;
        int64* target = built_histogram(job, k);
        const uint32 first = part % n_parts * n_part + threadIdx.x;
#pragma unroll
        for (uint32 j = 0; j < CLEARED_WORDS; ++j) {
            const uint32 i = first + j * blockDim.x;
            if (i < length) target[i] = 0;
        }
    }
}

// Which bins of a node go left. If no node splits by a set, one comparison tells.
struct OrderedBins {
    uint64 step;
    __device__ OrderedBins(const Job& job, int32 node) : step(pack_step(job.nodes[node])) {}
    __device__ bool operator()(uint8 code) const { return is_left_code(step, code); }
};

// Otherwise bits of all bins, whatever the split is. All threads make them.
struct AnyBins {
    const uint32* left;

    __device__ AnyBins(const Job& job, int32 node) {
        __shared__ uint32 words[SET_WORDS];
        const uint64 step = pack_step(job.nodes[node]);
        const SetTest test = {job.node_sets};
        for (int32 bin = threadIdx.x; bin < 32 * SET_WORDS; bin += blockDim.x) {
            const uint32 word = __ballot_sync(ALL_LANES, test(step, node, (uint8)bin));
            if ((bin & 31) == 0) words[bin / 32] = word;
        }
        __syncthreads();
        left = words;
    }
    __device__ bool operator()(uint8 code) const { return left[code / 32] >> (code % 32) & 1; }
};

// Move records [begin, end) of the parent of family k. Places are reserved by one atomic addition a
// side: left ones from the front, right ones from the back. A warp has neighboring records.
template <class Bins>
__device__ inline void move_records(const Job& job, int64 k, int64 begin, int64 end) {
    __shared__ uint32 lefts[MOST_WARPS];
    __shared__ int64 reserved[2];
    const int32 lane = own_lane(), warp = own_warp(), n_warps = blockDim.x >> 5;
    const int32 parent = job.families[k].parent, depth = job.families[k].depth;
    const Bins goes_left(job, parent);
    const uint8* column = job.columns + job.nodes[parent].feature * job.n_table_rows;
    const uint64* source = node_records(job, depth - 1) + job.first[parent];
    uint64* target_left = node_records(job, depth) + job.first[parent];
    uint64* target_right = node_records(job, depth) + job.last[parent] - 1;
    const uint32 n_chunk = MOVED_RECORDS * blockDim.x;
    const uint32 n_before = MOVED_RECORDS * 32 * warp;  // records of the chunk before the warp's
    for (int64 chunk = begin; chunk < end; chunk += n_chunk) {
        const uint32 n = (uint32)(end - chunk < n_chunk ? end - chunk : n_chunk);
        uint64 records[MOVED_RECORDS];
        uint8 codes[MOVED_RECORDS];
        uint32 left_lanes[MOVED_RECORDS];
#pragma unroll
        for (int32 j = 0; j < MOVED_RECORDS; ++j) {
            const uint32 i = n_before + 32 * j + lane;
            records[j] = source[chunk + (i < n ? i : n - 1)];
        }
#pragma unroll
        for (int32 j = 0; j < MOVED_RECORDS; ++j) codes[j] = column[records[j] >> 32];
        uint32 n_left = 0;
#pragma unroll
        for (int32 j = 0; j < MOVED_RECORDS; ++j) {
            const bool is_left = n_before + 32 * j + lane < n && goes_left(codes[j]);
            left_lanes[j] = __ballot_sync(ALL_LANES, is_left);
            n_left += __popc(left_lanes[j]);
        }
        if (lane == 0) lefts[warp] = n_left;
        __syncthreads();
        uint32 left = 0, all_left = 0;
        for (int32 other = 0; other < n_warps; ++other) {
            left += other < warp ? lefts[other] : 0;
            all_left += lefts[other];
        }
        if (threadIdx.x <= RIGHT) {
            const uint32 n_side = threadIdx.x == LEFT ? all_left : n - all_left;
            reserved[threadIdx.x] = (int64)atomicAdd(job.cursors + 2 * k + threadIdx.x, n_side);
        }
        __syncthreads();
        uint64* next_left = target_left + reserved[LEFT];
        uint64* next_right = target_right - reserved[RIGHT];
#pragma unroll
        for (int32 j = 0; j < MOVED_RECORDS; ++j) {
            const uint32 i = n_before + 32 * j + lane;
            const uint32 place = left + __popc(left_lanes[j] & ((1u << lane) - 1));
            if (left_lanes[j] >> lane & 1) next_left[place] = records[j];
            else if (i < n) *(next_right - (i - place)) = records[j];
            left += __popc(left_lanes[j]);
        }
    }
}

// Note where the records of a family's children are; return how many rows are to be summed.
__device__ inline int64 note_children(const Job& job, int64 k) {
    const Family& family = job.families[k];
    const int64 n_left = (int64)atomicExch(job.cursors + 2 * k + LEFT, (uint64)0);
    job.cursors[2 * k + RIGHT] = 0;
    const int64 begin = job.first[family.parent], end = job.last[family.parent];
    job.first[family.left] = begin;
    job.last[family.left] = job.first[family.left + 1] = begin + n_left;
    job.last[family.left + 1] = end;
    if (family.mode == NO_HISTOGRAMS) return 0;
    return family.small == family.left ? n_left : end - begin - n_left;
}

// By the block that finishes last: note all children, and how their rows are divided.
__device__ inline void finish_partition(const Job& job) {
    __shared__ ScanMemory memory;
    const int64 n_families = job.state->n_families;
    int64 before = 0;
    for (int64 chunk = 0; chunk < n_families; chunk += blockDim.x) {
        const int64 k = chunk + threadIdx.x;
        const int64 n_rows = k < n_families ? note_children(job, k) : 0;
        const Scanned rows = scan_block(n_rows, memory);
        if (k < n_families) job.build_first[k] = before + rows.before;
        before += rows.total;
    }
    if (threadIdx.x == 0) {
        job.build_first[n_families] = before;
        job.state->n_done = 0;
    }
}

template <class Bins>
__device__ inline void partition_families(const Job& job) {
    __shared__ bool is_last;
    const int64 n_families = job.state->n_families;
    if (n_families == 0) return;
    clear_histograms(job);
    const int64 n_rows = job.move_first[n_families];
    // Blocks that move records, and one at least, which notes that there are none.
    const int64 n_movers = larger_of((int64)1, count_sharers(n_rows, LEAST_MOVED, gridDim.x));
    if (blockIdx.x >= n_movers) return;
    const Span span = share_sequence(n_rows, LEAST_MOVED, blockIdx.x, gridDim.x);
    int64 k = span.begin < span.end ? find_place(job.move_first, n_families, span.begin) : 0;
    for (int64 at = span.begin; at < span.end; ++k) {
        const int64 first = job.move_first[k], family_end = job.move_first[k + 1];
        const int64 stop = family_end < span.end ? family_end : span.end;
        if (at < stop) move_records<Bins>(job, k, at - first, stop - first);
        at = stop;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        const uint64 n_before = atomicAdd((uint64*)&job.state->n_done, (uint64)1);
        is_last = n_before + 1 == (uint64)n_movers;
    }
    __syncthreads();
    if (is_last) finish_partition(job);
}

extern "C" __global__ void partition_rows(Job job) { partition_families<OrderedBins>(job); }

extern "C" __global__ void partition_rows_by_set(Job job) { partition_families<AnyBins>(job); }
