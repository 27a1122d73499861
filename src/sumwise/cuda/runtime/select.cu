// Find, in groups of weighted keys, the lowest key up to which the weights reach a goal; see
// select.py.
#include "layout.cuh"
#include "runtime/scan.cuh"
#include "runtime/select.cuh"

constexpr int64 DIGIT_BITS = 8, N_DIGITS = 256, TOP_SHIFT = 56;
constexpr int64 POOL_SHIFT = 48;  // keys of the pool have the digits sought down to this one
// Weights are added up in pieces of PIECE_BITS, a chunk of CHUNK_SIZE at a time.
constexpr int64 PIECE_BITS = 20;
constexpr uint32 PIECE_MASK = (1u << PIECE_BITS) - 1u;
static_assert(CHUNK_SIZE << PIECE_BITS <= 1LL << 32, "sums of a chunk do not overflow");
constexpr uint64 NO_KEY = 0xFFFFFFFFFFFFFFFFULL;

// One block: number the chunks of all groups, and begin with no digit.
extern "C" __global__ void begin_selection(Selection s) {
    __shared__ ScanMemory memory;
    int64 total = 0;
    for (int64 begin = 0; begin < s.n_groups; begin += blockDim.x) {
        const int64 group = begin + threadIdx.x;
        const bool is_group = group < s.n_groups;
        const int64 n = is_group ? (s.size[group] + CHUNK_SIZE - 1) / CHUNK_SIZE : 0;
        const Scanned chunks = scan_block(n, memory);
        if (is_group) {
            s.chunk_first[group] = total + chunks.before;
            s.found[group] = 0;
            s.below[group] = 0;
            s.n_pooled[group] = s.overlaps && s.overlaps[group] >= 0 ? NOT_POOLED : 0;
            s.next[group] = NO_KEY;
        }
        total += chunks.total;
    }
    if (threadIdx.x == 0) s.chunk_first[s.n_groups] = total;
}

// Weigh the keys that have the digits found so far by their next digit. Weights, of up to 51 bits,
// are added up in three pieces, because shared memory has no addition of 64 bits.
extern "C" __global__ void weigh_digits(Selection s, int64 shift) {
    __shared__ uint32 sums[3][N_DIGITS];
    const int64 n_chunks = s.chunk_first[s.n_groups];
    for (int64 number = blockIdx.x; number < n_chunks; number += gridDim.x) {
        bool pooled = shift < POOL_SHIFT;
        const Chunk chunk = find_chunk(s, number, pooled);
        if (chunk.first >= chunk.last) continue;  // the same for all threads
        const uint64* keys = pooled ? s.pool : s.keys;
        const int64* mass = pooled ? s.pool_mass : s.mass;
        for (int64 digit = threadIdx.x; digit < N_DIGITS; digit += blockDim.x)
            for (int64 piece = 0; piece < 3; piece++) sums[piece][digit] = 0;
        __syncthreads();
        const uint64 head = shift == TOP_SHIFT ? 0 : s.found[chunk.group] >> (shift + DIGIT_BITS);
        for (int64 i = chunk.first + threadIdx.x; i < chunk.last; i += blockDim.x) {
            const uint64 own = keys[i] >> shift;
            if (shift == TOP_SHIFT || (own >> DIGIT_BITS) == head) {
                const uint64 digit = own & (N_DIGITS - 1), weight = mass ? (uint64)mass[i] : 1;
                for (int64 piece = 0; piece < 3; piece++) {
                    const uint32 part = (uint32)(weight >> (PIECE_BITS * piece)) & PIECE_MASK;
                    if (part) atomicAdd(sums[piece] + digit, part);
                }
            }
        }
        __syncthreads();
        for (int64 digit = threadIdx.x; digit < N_DIGITS; digit += blockDim.x) {
            uint64 weight = 0;
            for (int64 piece = 0; piece < 3; piece++)
                weight += (uint64)sums[piece][digit] << (PIECE_BITS * piece);
            if (weight) atomicAdd(s.counters + chunk.group * N_DIGITS + digit, weight);
        }
        __syncthreads();
    }
}

// A block of N_DIGITS threads per group: find the next digit of the key sought; clear the counters.
extern "C" __global__ void find_digits(Selection s, int64 shift) {
    __shared__ ScanMemory memory;
    const int64 digit = threadIdx.x;
    for (int64 group = blockIdx.x; group < s.n_groups; group += gridDim.x) {
        if (s.size[group] == 0) continue;  // the same for all threads
        uint64* counter = s.counters + group * N_DIGITS + digit;
        const int64 own = (int64)*counter, below = s.below[group];
        *counter = 0;
        // All threads have read `below` when one of them changes it.
        const int64 low = below + scan_block(own, memory).before, high = low + own;
        const double goal = s.goal[group];
        // Weights are compared as floats, as the CPU does.
        if ((double)low < goal && (double)high >= goal) {
            s.found[group] |= (uint64)digit << shift;
            s.below[group] = low;
            s.upto[group] = high;
        }
    }
}

// Collect the keys that have the digits found so far; find the lowest of those above them.
extern "C" __global__ void pool_keys(Selection s) {
    const int64 n_chunks = s.chunk_first[s.n_groups];
    for (int64 number = blockIdx.x; number < n_chunks; number += gridDim.x) {
        const Chunk chunk = find_chunk(s, number);
        if (s.n_pooled[chunk.group] == NOT_POOLED) continue;  // the same for all threads
        const uint64 head = s.found[chunk.group] >> POOL_SHIFT;
        uint64 lowest = NO_KEY;
        for (int64 begin = chunk.first; begin < chunk.last; begin += blockDim.x) {
            const int64 i = begin + threadIdx.x;
            const uint64 key = i < chunk.last ? s.keys[i] : 0;
            const uint64 own = key >> POOL_SHIFT;
            const bool is_kept = i < chunk.last && own == head;
            if (i < chunk.last && own > head && key < lowest) lowest = key;
            const uint32 kept = __ballot_sync(ALL_LANES, is_kept);
            if (kept == 0) continue;  // the same for all lanes
            uint64 place = 0;
            if (is_first_lane()) place = atomicAdd(s.n_pooled + chunk.group, (uint64)__popc(kept));
            place = __shfl_sync(ALL_LANES, place, 0);
            if (is_kept) {
                const int64 before = (int64)place + count_lanes_before(kept);
                const int64 at = s.first[chunk.group] + before;
                s.pool[at] = key;
                if (s.mass) s.pool_mass[at] = s.mass[i];
            }
        }
        lowest = lowest_lane(lowest);
        if (is_first_lane() && lowest != NO_KEY) atomicMin(s.next + chunk.group, lowest);
    }
}

// Find the lowest key above the one sought, among those that are pooled if any are.
extern "C" __global__ void find_next_keys(Selection s) {
    const int64 n_chunks = s.chunk_first[s.n_groups];
    for (int64 number = blockIdx.x; number < n_chunks; number += gridDim.x) {
        bool pooled = true;
        const Chunk chunk = find_chunk(s, number, pooled);
        const uint64 *keys = pooled ? s.pool : s.keys, found = s.found[chunk.group];
        uint64 lowest = NO_KEY;
        for (int64 i = chunk.first + threadIdx.x; i < chunk.last; i += blockDim.x)
            if (keys[i] > found && keys[i] < lowest) lowest = keys[i];
        lowest = lowest_lane(lowest);
        if (is_first_lane() && lowest != NO_KEY) atomicMin(s.next + chunk.group, lowest);
    }
}
