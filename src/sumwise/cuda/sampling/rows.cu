// Draw rows, as kernels/sampling does: keys that decide, flags of the drawn ones, and both kinds of
// rows in their order.
#include "layout.cuh"
#include "runtime/elementary.cuh"
#include "runtime/random.cuh"
#include "runtime/scan.cuh"

// Keys of rows that are chosen already.
constexpr uint64 TAKEN_KEY = 0xFFFFFFFFFFFFFFFFULL;
// Flags: a row is not chosen, is chosen, or has the highest key of which some are chosen.
constexpr uint8 OTHER = 0, CHOSEN = 1, TIE = 2;

// --- keys ---

// The larger the gradients of a row, the lower its key.
extern "C" __global__ void write_size_keys(
    const double* gradient, int64 n_outputs, int64 n_table_rows, const uint32* rows, int64 n,
    uint64* keys) {
    for (int64 i = first_item(); i < n; i += item_step()) {
        const double* own = gradient + rows[i];
        double size = absolute(own[0]);
        for (int64 k = 1; k < n_outputs; k++) size += absolute(own[k * n_table_rows]);
        keys[i] = 0x7FFFFFFFFFFFFFFFULL ^ (uint64)bits_of(size);
    }
}

// Hashes of the places of rows; `order` lists the places, null for 0, 1, 2, ...
extern "C" __global__ void write_hashes(
    uint64 key, int64 n, int64 shift, const uint32* order, uint64* keys) {
    for (int64 i = first_item(); i < n; i += item_step())
        keys[i] = extend_key(key, order ? order[i] : (uint64)i) >> shift;
}

// Count how often each place is drawn, with replacement.
extern "C" __global__ void count_draws(uint64 key, int64 n, uint32* counts) {
    for (int64 draw = first_item(); draw < n; draw += item_step())
        atomicAdd(counts + (uint64)(uniform(key, (uint64)draw) * (double)n), 1u);
}

// --- flags ---

// Flag the rows of groups that are drawn.
extern "C" __global__ void flag_groups(
    const uint32* group_of, int64 n, const uint8* is_drawn, uint8* flags) {
    for (int64 i = first_item(); i < n; i += item_step())
        flags[i] = is_drawn[group_of[i]] ? CHOSEN : OTHER;
}

// Flag the rows that are drawn at least once.
extern "C" __global__ void flag_drawn(const uint32* counts, int64 n, uint8* flags) {
    for (int64 i = first_item(); i < n; i += item_step()) flags[i] = counts[i] ? CHOSEN : OTHER;
}

// Flag the rows with the lowest keys; TIE for those with the highest key of them.
extern "C" __global__ void flag_lowest(
    const uint64* keys, int64 n, const uint64* bound, uint8* flags) {
    const uint64 highest = *bound;
    for (int64 i = first_item(); i < n; i += item_step()) {
        const uint64 key = keys[i];
        const bool is_chosen = key < highest || key == TAKEN_KEY;
        flags[i] = is_chosen ? CHOSEN : (key == highest ? TIE : OTHER);
    }
}

// Flag the rows with the lowest hashes of their stratum, up to its bound.
extern "C" __global__ void flag_strata(
    uint64 key, const uint32* rows, int64 n, const uint32* stratum_of_row, const uint64* bounds,
    const double* goal, uint8* flags) {
    for (int64 i = first_item(); i < n; i += item_step()) {
        const int64 own = stratum_of_row[rows[i]];
        const bool is_chosen = goal[own] > 0.0 && extend_key(key, (uint64)i) <= bounds[own];
        flags[i] = is_chosen ? CHOSEN : OTHER;
    }
}

// --- places ---

// The number of threads before this one, of the block, for which a condition holds; `total` becomes
// that of all of them. `warps` has an item per warp.
__device__ inline int64 rank_in_block(bool holds, uint32* warps, int64& total) {
    const uint32 votes = __ballot_sync(ALL_LANES, holds);
    const int32 warp = own_warp(), n_warps = blockDim.x / 32;
    if (is_first_lane()) warps[warp] = __popc(votes);
    __syncthreads();
    int64 before = 0;
    total = 0;
    for (int32 w = 0; w < n_warps; w++) {
        if (w < warp) before += warps[w];
        total += warps[w];
    }
    __syncthreads();
    return before + count_lanes_before(votes);
}

// Count the chosen rows and the ties of each tile of TILE_ROWS rows.
extern "C" __global__ void count_flags(const uint8* flags, int64 n, int64* tiles, int64 n_tiles) {
    __shared__ uint32 counts[2];
    for (int64 tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
        if (threadIdx.x < 2) counts[threadIdx.x] = 0;
        __syncthreads();
        const int64 first = tile * TILE_ROWS, last = first + TILE_ROWS < n ? first + TILE_ROWS : n;
        uint64 found = 0;  // both counts
        for (int64 i = first + threadIdx.x; i < last; i += blockDim.x)
            found += flags[i] == CHOSEN ? 1ULL : (flags[i] == TIE ? 1ULL << 32 : 0ULL);
        found = add_lanes(found);
        if (is_first_lane()) {
            atomicAdd(counts, (uint32)found);
            atomicAdd(counts + 1, (uint32)(found >> 32));
        }
        __syncthreads();
        if (threadIdx.x < 2) tiles[2 * tile + threadIdx.x] = counts[threadIdx.x];
        __syncthreads();
    }
}

// One block: replace the counts of tiles by those of all tiles before; behind them are those of
// all.
extern "C" __global__ void add_up_tiles(int64* tiles, int64 n_tiles) {
    __shared__ ScanMemory memory;
    int64 totals[2] = {0, 0};
    for (int64 begin = 0; begin < n_tiles; begin += blockDim.x) {
        const int64 tile = begin + threadIdx.x;
        for (int64 kind = 0; kind < 2; kind++) {
            const int64 own = tile < n_tiles ? tiles[2 * tile + kind] : 0;
            const Scanned counts = scan_block(own, memory);
            if (tile < n_tiles) tiles[2 * tile + kind] = totals[kind] + counts.before;
            totals[kind] += counts.total;
        }
    }
    if (threadIdx.x < 2) tiles[2 * n_tiles + threadIdx.x] = totals[threadIdx.x];
}

// Whether the row at a place is chosen, and how many before it are. The first `n_taken` ties are.
struct Place {
    bool is_chosen;
    int64 n_before;
};

__device__ inline Place find_place(
    uint8 flag, int64 n_taken, int64& n_chosen, int64& n_ties, uint32* warps) {
    int64 all_chosen, all_ties;
    const int64 chosen_before = n_chosen + rank_in_block(flag == CHOSEN, warps, all_chosen);
    const int64 ties_before = n_ties + rank_in_block(flag == TIE, warps, all_ties);
    n_chosen += all_chosen;
    n_ties += all_ties;
    const bool is_chosen = flag == CHOSEN || (flag == TIE && ties_before < n_taken);
    return {is_chosen, chosen_before + (ties_before < n_taken ? ties_before : n_taken)};
}

// The rows of all tiles, with the counts of what is before each tile. A `goal` of null: no ties.
struct Flagged {
    const uint8* flags;
    int64 n;
    const int64* tiles;
    int64 n_tiles;
    const double* goal;
    const int64* below;  // lower keys than that of ties
};

// Call visit(i, place) for all rows.
template <class Visitor>
__device__ inline void visit_places(const Flagged& known, Visitor visit) {
    __shared__ uint32 warps[MOST_WARPS];
    const int64 n_taken = known.goal ? (int64)*known.goal - *known.below : 0;
    for (int64 tile = blockIdx.x; tile < known.n_tiles; tile += gridDim.x) {
        int64 n_chosen = known.tiles[2 * tile], n_ties = known.tiles[2 * tile + 1];
        const int64 first = tile * TILE_ROWS;
        const int64 last = first + TILE_ROWS < known.n ? first + TILE_ROWS : known.n;
        for (int64 begin = first; begin < last; begin += blockDim.x) {
            const int64 i = begin + threadIdx.x;
            const uint8 flag = i < last ? known.flags[i] : OTHER;
            const Place place = find_place(flag, n_taken, n_chosen, n_ties, warps);
            if (i < last) visit(i, place);
        }
    }
}

// Write hashes in place of keys, TAKEN_KEY for the rows that are chosen.
extern "C" __global__ void mark_taken(
    const uint8* flags, int64 n, const int64* tiles, int64 n_tiles, const double* goal,
    const int64* below, uint64 key, int64 shift, uint64* keys) {
    visit_places({flags, n, tiles, n_tiles, goal, below}, [&](int64 i, Place place) {
        keys[i] = place.is_chosen ? TAKEN_KEY : extend_key(key, (uint64)i) >> shift;
    });
}

// Separate the chosen rows from the others, both in their order. Factors, if any, are how often a
// row was drawn; or 1 for rows that were taken before, and `amplify` for others.
extern "C" __global__ void split_rows(
    const uint8* flags, const uint32* rows, int64 n, const int64* tiles, int64 n_tiles,
    const double* goal, const int64* below, const uint32* counts, const uint64* keys,
    double amplify, uint32* chosen, double* factor, uint32* left_out) {
    visit_places({flags, n, tiles, n_tiles, goal, below}, [&](int64 i, Place place) {
        if (!place.is_chosen) {
            left_out[i - place.n_before] = rows[i];
            return;
        }
        chosen[place.n_before] = rows[i];
        if (counts) factor[place.n_before] = (double)counts[i];
        else if (factor) factor[place.n_before] = keys[i] == TAKEN_KEY ? 1.0 : amplify;
    });
}

// --- weights ---

// Multiply the values (n_outputs, n_table_rows) of rows by their factors.
extern "C" __global__ void multiply_rows(
    const uint32* rows, const double* factor, int64 n, double* values, int64 n_outputs,
    int64 n_table_rows) {
    for (int64 i = first_item(); i < n; i += item_step())
        for (int64 k = 0; k < n_outputs; k++) values[k * n_table_rows + rows[i]] *= factor[i];
}

// The weights of a Bayesian bootstrap: (-log(u)) ** temperature.
extern "C" __global__ void draw_bayesian_weights(
    uint64 key, double temperature, const uint32* rows, int64 n, double* out) {
    const double half_step = 1.0 / 9007199254740992.0;
    for (int64 i = first_item(); i < n; i += item_step()) {
        const double weight = -log_of(uniform(key, rows[i]) + half_step);
        out[i] = temperature == 1.0 ? weight : exp_of(temperature * log_of(weight));
    }
}

// The factors of rows by their stratum.
extern "C" __global__ void spread_factors(
    const double* by_stratum, const uint32* stratum_of_row, const uint32* rows, int64 n,
    double* out) {
    for (int64 i = first_item(); i < n; i += item_step())
        out[i] = by_stratum[stratum_of_row[rows[i]]];
}
