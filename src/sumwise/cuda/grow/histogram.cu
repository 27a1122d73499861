// Sum the rows of a child of each family into histograms; see kernels/grow/histogram.py.
//
// A block sums 32-bit words in shared memory, `[bin][word][lane]`, and adds them to the 64-bit sums
// in the end. A lane is a bank. Two threads add a row, 16 lanes each, and a warp 16 rows: in step p
// the threads of its row r add lane p ^ r of their halves. These are 32 different lanes, so banks
// never conflict, whatever the data are; and a thread reads its 16 bins by one load. In a narrow
// tile, which has features in the first 16 lanes only, a thread adds a row alone, and a warp 32
// rows: the words of the other lanes are a second copy, for the second half of the warp.
//
// Words of a bin: g, h and rows if values are packed; g and rows if all hessians are the same.
// Exact values have 64 bits: two words for g and two for h, the lower one first, whose carry goes
// to the upper one.
#include "grow/dividing.cuh"
#include "runtime/fixed_point.cuh"

// |g| <= 8191 and h <= 16383 of so many rows fit in 32 bits.
constexpr int64 MOST_PACKED_ROWS = 1 << 18;
// A block with less rows would spend its time with what it does once.
constexpr int64 LEAST_BUILD_ROWS = 1024;
constexpr int32 EVEN_WORDS = 2, PACKED_WORDS = 3, EXACT_WORDS = 5;

// The tile of this block, and who does what.
struct Tile {
    const uint8* bins;  // [row][lane]
    int64 n_bins;
    int64 start;  // in histograms
    bool is_narrow;
    bool is_used;      // a feature of the tile was drawn for the tree
    bool has_feature;  // the lane that the thread adds to the histogram
    int32 lane;

    __device__ Tile(const Job& job) {
        const int64 tile = blockIdx.y;
        const int32* features = job.lane_feature + tile * LANES;
        bins = job.tiles + tile * job.n_table_rows * LANES;
        n_bins = job.tile_bins[tile];
        start = job.tile_start[tile];
        is_narrow = features[LANES / 2] < 0;
        lane = threadIdx.x & (is_narrow ? LANES / 2 - 1 : LANES - 1);
        const uint8* drawn = job.allowed + TREE * job.n_features;
        has_feature = features[lane] >= 0 && drawn[features[lane]];
        is_used = __syncthreads_or(has_feature);
    }
};

// Bins [low, low + n_bins) of a tile, which fit in shared memory.
struct Range {
    uint32* words;
    uint32 low;
    uint32 n_bins;
};

// Where the values of rows come from, and how they are added.
template <int32 N_WORDS>
struct Source {
    __device__ Source(const Job& job) {}
};

template <>
struct Source<EXACT_WORDS> {
    const double *gradient, *hessian;
    double scale_g, scale_h;

    __device__ Source(const Job& job)
        : gradient(job.request->gradient), hessian(job.request->hessian),
          scale_g(job.state->exact_scale_g), scale_h(job.state->exact_scale_h) {}
};

template <int32 N_WORDS>
struct Summand;

template <>
struct Summand<EVEN_WORDS> {
    uint32 g;

    __device__ Summand(const Source<EVEN_WORDS>& source, uint64 record)
        : g((uint32)(int32)(int16)(record >> 16)) {}

    __device__ void add(uint32* place) const {
        atomicAdd(place, g);
        atomicAdd(place + LANES, 1u);
    }
};

template <>
struct Summand<PACKED_WORDS> {
    uint32 g, h;

    __device__ Summand(const Source<PACKED_WORDS>& source, uint64 record)
        : g((uint32)(int32)(int16)(record >> 16)), h((uint32)record & 0xffff) {}

    __device__ void add(uint32* place) const {
        atomicAdd(place, g);
        atomicAdd(place + LANES, h);
        atomicAdd(place + 2 * LANES, 1u);
    }
};

template <>
struct Summand<EXACT_WORDS> {
    uint64 g, h;

    __device__ Summand(const Source<EXACT_WORDS>& source, uint64 record)
        : g((uint64)exact_gradient(source.gradient[record >> 32], source.scale_g)),
          h((uint64)exact_hessian(source.hessian[record >> 32], source.scale_h)) {}

    static __device__ void add_wide(uint32* place, uint64 value) {
        const uint32 low = (uint32)value, old = atomicAdd(place, low);
        atomicAdd(place + LANES, (uint32)(value >> 32) + (old + low < low));
    }

    __device__ void add(uint32* place) const {
        add_wide(place, g);
        add_wide(place + 2 * LANES, h);
        atomicAdd(place + 4 * LANES, 1u);
    }
};

__device__ inline void swap_words(uint32& a, uint32& b, bool swapped) {
    const uint32 old = a;
    a = swapped ? b : a;
    b = swapped ? old : b;
}

// Add a row to 16 lanes; see above. `r` is the row's number in the warp, `words` are those of the
// lanes' half. If the range is not the whole, most bins may be out of it.
template <int32 N_WORDS, bool IS_WHOLE>
__device__ inline void add_half(const Summand<N_WORDS>& summand, uint4 bins, uint32 r,
                                uint32* words, uint32 low, uint32 n_bins) {
    swap_words(bins.x, bins.y, r & 4);
    swap_words(bins.z, bins.w, r & 4);
    swap_words(bins.x, bins.z, r & 8);
    swap_words(bins.y, bins.w, r & 8);
    const uint32 four_bins[4] = {bins.x, bins.y, bins.z, bins.w};
#pragma unroll
    for (uint32 p = 0; p < 16; ++p) {
        // One byte, and three of zero.
        uint32 bin = __byte_perm(four_bins[p >> 2], 0, 0x4440 | ((p ^ r) & 3));
        if (!IS_WHOLE) bin -= low;
        uint8* first = (uint8*)(words + (p ^ r));  // of the lane: the same for all rows
        const uint32 offset = bin * (uint32)(N_WORDS * LANES * sizeof(uint32));
        if (IS_WHOLE || bin < n_bins) summand.add((uint32*)(first + offset));
    }
}

// Add records [0, n) to the words of a range of bins.
template <int32 N_WORDS, bool IS_WHOLE>
__device__ inline void add_records(const Source<N_WORDS>& source, const Tile& tile,
                                   const uint64* records, uint32 n, Range range) {
    const uint32 lane = threadIdx.x & 31, threads = tile.is_narrow ? 0 : 1;  // of a row: logarithm
    const uint32 half = tile.is_narrow ? lane >> 4 : lane & 1;
    // A compiler that knew the bits of r would compute places by `or` where one multiply-add does.
    const uint32 r = __shfl_sync(ALL_LANES, lane >> threads & 15, lane);
    const uint8* bins_of_lanes = tile.bins + (tile.is_narrow ? 0 : 16 * half);
    uint32* words = range.words + 16 * half;
    const uint32 step = blockDim.x >> threads;
    uint32 i = threadIdx.x >> threads;
    // What comes next is under way while a row is added. Beyond the last record: that one again.
    uint64 record = records[i < n ? i : n - 1];
    uint64 next = records[i + step < n ? i + step : n - 1];
    uint4 bins = __ldg((const uint4*)(bins_of_lanes + (record >> 32) * LANES));
    for (; i < n; i += step) {
        const uint32 later = i + 2 * step;
        const uint4 next_bins = __ldg((const uint4*)(bins_of_lanes + (next >> 32) * LANES));
        const uint64 later_record = records[later < n ? later : n - 1];
        const Summand<N_WORDS> summand(source, record);
        add_half<N_WORDS, IS_WHOLE>(summand, bins, r, words, range.low, range.n_bins);
        record = next;
        bins = next_bins;
        next = later_record;
    }
}

// Add the words to 64-bit sums `[statistic][bin][lane]`, and clear them. A warp has a statistic of
// a bin at a time.
template <int32 N_WORDS>
__device__ inline void flush_words(const Tile& tile, Range range, int64 even_h, int64* target) {
    constexpr int32 N_SUMS = N_WORDS == EVEN_WORDS ? 2 : 3;
    const int32 warp = threadIdx.x >> 5, n_warps = blockDim.x >> 5;
    const int32 n = N_SUMS * (int32)range.n_bins;
    const int64 of_statistic = tile.n_bins * LANES;
    // Blocks begin at different places, so that they do not meet.
    const int32 start = (int32)((int64)blockIdx.x * n / gridDim.x);
    for (int32 i = warp; i < n; i += n_warps) {
        const int32 at = i + start < n ? i + start : i + start - n;
        const int32 bin = at / N_SUMS, which = at % N_SUMS;
        const int32 word = N_WORDS == EXACT_WORDS ? 2 * which : which;
        uint32* place = range.words + (bin * N_WORDS + word) * LANES + (threadIdx.x & 31);
        int64 sum = N_WORDS != EXACT_WORDS && which == 0 ? (int64)(int32)*place : *place;
        *place = 0;
        if (N_WORDS == EXACT_WORDS && which < 2) {
            sum |= (int64)((uint64)place[LANES] << 32);
            place[LANES] = 0;
        }
        if (sum == 0 || !tile.has_feature) continue;
        int64* own = target + (range.low + bin) * LANES + tile.lane;
        if (N_WORDS == EVEN_WORDS && which == 1) {
            add_to(own + of_statistic, sum * even_h);
            add_to(own + 2 * of_statistic, sum);
        } else {
            add_to(own + which * of_statistic, sum);
        }
    }
}

// Sum the rows of this block for a range of bins, family after family.
template <int32 N_WORDS, bool IS_WHOLE>
__device__ inline void build_range(const Job& job, const Tile& tile, Span span, Range range) {
    const Source<N_WORDS> source(job);
    for (uint32 i = threadIdx.x; i < range.n_bins * (N_WORDS * LANES); i += blockDim.x)
        range.words[i] = 0;
    __syncthreads();
    int64 k = find_place(job.build_first, job.state->n_families, span.begin);
    for (int64 at = span.begin; at < span.end; ++k) {
        const int64 family_end = job.build_first[k + 1];
        const int64 stop = family_end < span.end ? family_end : span.end;
        const Family& family = job.families[k];
        const uint64* records = node_records(job, family.depth) + job.first[family.small];
        records -= job.build_first[k];
        int64* target = built_histogram(job, k) + tile.start;
        while (at < stop) {
            const int64 n = stop - at < MOST_PACKED_ROWS ? stop - at : MOST_PACKED_ROWS;
            add_records<N_WORDS, IS_WHOLE>(source, tile, records + at, (uint32)n, range);
            __syncthreads();
            flush_words<N_WORDS>(tile, range, job.state->even_h, target);
            __syncthreads();
            at += n;
        }
    }
}

template <int32 N_WORDS>
__device__ inline void build_tile(const Job& job, const Tile& tile, Span span,
                                  int64 shared_bytes) {
    const uint32 n_bins = (uint32)tile.n_bins;
    const uint32 fitting = (uint32)(shared_bytes / (N_WORDS * LANES * sizeof(uint32)));
    Range range = {(uint32*)shared_memory, 0, n_bins};
    if (N_WORDS != EXACT_WORDS && n_bins <= fitting) {
        build_range<N_WORDS, true>(job, tile, span, range);
        return;
    }
    for (; range.low < n_bins; range.low += fitting) {
        const uint32 left = n_bins - range.low;
        range.n_bins = left < fitting ? left : fitting;
        build_range<N_WORDS, false>(job, tile, span, range);
    }
}

// Grid: (blocks, tiles).
extern "C" __global__ void __launch_bounds__(1024) build_histograms(Job job, int64 shared_bytes) {
    const State& state = *job.state;
    if (state.n_families == 0) return;
    const Span span = share_sequence(job.build_first[state.n_families], LEAST_BUILD_ROWS);
    if (span.begin >= span.end) return;
    const Tile tile(job);
    if (!tile.is_used) return;
    if (state.exact) build_tile<EXACT_WORDS>(job, tile, span, shared_bytes);
    else if (state.even_h) build_tile<EVEN_WORDS>(job, tile, span, shared_bytes);
    else build_tile<PACKED_WORDS>(job, tile, span, shared_bytes);
}
