// Sum the rows of a child of each family into histograms; see kernels/grow/histogram.py.
//
// A block sums 32-bit words in shared memory, `[bin][word][lane]`, and adds them to the 64-bit sums
// in the end. A lane is a bank. Two threads add a row, 16 lanes each, and a warp 16 rows: in step p
// the threads of its row r add lane p ^ r of their halves. These are 32 different lanes, so banks
// never conflict, whatever the data are; and a thread reads its 16 bins by one load. In a narrow
// tile, which has features in the first 16 lanes only, a thread adds a row alone, and a warp 32
// rows: the words of the other lanes are a second copy, for the second half of the warp.
//
// If rows are few, most time would go into clearing and adding up words. Then a block sums a slice
// of the tile, 8 lanes, and a thread adds a row alone. Banks may conflict, which costs less.
//
// Words of a bin: g, h and rows if values are packed; g and rows if all hessians are the same.
// Exact values have 64 bits: two words for g and two for h, the lower one first, whose carry goes
// to the upper one.
#include "grow/dividing.cuh"
#include "runtime/fixed_point.cuh"
#include "runtime/node_sums.cuh"

// |g| <= 8191 and h <= 16383 of so many rows fit in 32 bits.
constexpr int64 MOST_PACKED_ROWS = 1 << 18;
// A block with less rows would spend its time with what it does once.
constexpr int64 LEAST_BUILD_ROWS = 1024, LEAST_SLICED_ROWS = 512;
constexpr int32 SLICE = 8;
constexpr int32 EVEN_WORDS = 2, PACKED_WORDS = 3, EXACT_WORDS = 5;

// The tile of this block, its part of the rows and lanes, and who does what.
struct Tile {
    const uint8* bins;  // [row][lane]
    int64 n_bins;
    int64 start;  // in histograms
    Span span;    // of rows
    bool is_narrow;
    bool is_sliced;
    bool has_feature;  // the lane that the thread adds to the histogram; it was drawn for the tree
    int32 lane;

    __device__ Tile(const Job& job, int64 n_rows, int64 sliced_rows) {
        const int64 tile = blockIdx.y;
        const int32* features = job.lane_feature + tile * LANES;
        bins = job.tiles + tile * job.n_table_rows * LANES;
        n_bins = job.tile_bins[tile];
        start = job.tile_start[tile];
        // The lanes in use are the first ones.
        int32 n_slices = 1, lane_mask = LANES - 1;
#pragma unroll
        for (int32 slice = 1; slice < LANES / SLICE; ++slice)
            n_slices += features[slice * SLICE] >= 0;
        is_narrow = n_slices <= LANES / 2 / SLICE;
        is_sliced = n_slices <= gridDim.x && n_rows <= sliced_rows;
        lane = 0;
        if (is_sliced) {
            const int32 part = (int32)blockIdx.x / n_slices;
            lane = ((int32)blockIdx.x - part * n_slices) * SLICE;
            lane_mask = SLICE - 1;
            bins += lane;
            span = share_sequence(n_rows, LEAST_SLICED_ROWS, part, gridDim.x / n_slices);
        } else {
            if (is_narrow) lane_mask = LANES / 2 - 1;
            span = share_sequence(n_rows, LEAST_BUILD_ROWS, blockIdx.x, gridDim.x);
        }
        lane += threadIdx.x & lane_mask;
        const uint8* drawn = job.allowed + TREE * job.n_features;
        has_feature = features[lane] >= 0 && drawn[features[lane]];
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

    template <int32 WIDTH>
    __device__ void add(uint32* place) const {
        atomicAdd(place, g);
        atomicAdd(place + WIDTH, 1u);
    }
};

template <>
struct Summand<PACKED_WORDS> {
    uint32 g, h;

    __device__ Summand(const Source<PACKED_WORDS>& source, uint64 record)
        : g((uint32)(int32)(int16)(record >> 16)), h((uint32)record & 0xffff) {}

    template <int32 WIDTH>
    __device__ void add(uint32* place) const {
        atomicAdd(place, g);
        atomicAdd(place + WIDTH, h);
        atomicAdd(place + 2 * WIDTH, 1u);
    }
};

template <>
struct Summand<EXACT_WORDS> {
    uint64 g, h;

    __device__ Summand(const Source<EXACT_WORDS>& source, uint64 record)
        : g((uint64)exact_gradient(source.gradient[record >> 32], source.scale_g)),
          h((uint64)exact_hessian(source.hessian[record >> 32], source.scale_h)) {}

    template <int32 WIDTH>
    __device__ void add(uint32* place) const {
        add_wide(place, place + WIDTH, g);
        add_wide(place + 2 * WIDTH, place + 3 * WIDTH, h);
        atomicAdd(place + 4 * WIDTH, 1u);
    }
};

__device__ inline void swap_words(uint32& a, uint32& b, bool swapped) {
    const uint32 old = a;
    a = swapped ? b : a;
    b = swapped ? old : b;
}

// The bins of a row that a thread adds: of half the lanes, or of a slice. In step p it adds lane
// p ^ r of them, for which words are swapped once.
template <int32 WIDTH>
struct Bins {
    static constexpr uint32 N = LANES / 2;
    uint4 bytes;

    __device__ void load(const uint8* place) { bytes = __ldg((const uint4*)place); }
    __device__ void get_words(uint32 r, uint32 (&words)[N / 4]) const {
        words[0] = bytes.x, words[1] = bytes.y, words[2] = bytes.z, words[3] = bytes.w;
        swap_words(words[0], words[1], r & 4);
        swap_words(words[2], words[3], r & 4);
        swap_words(words[0], words[2], r & 8);
        swap_words(words[1], words[3], r & 8);
    }
};

template <>
struct Bins<SLICE> {
    static constexpr uint32 N = SLICE;
    uint2 bytes;

    __device__ void load(const uint8* place) { bytes = __ldg((const uint2*)place); }
    __device__ void get_words(uint32 r, uint32 (&words)[N / 4]) const {
        words[0] = bytes.x, words[1] = bytes.y;
        swap_words(words[0], words[1], r & 4);
    }
};

// Add a row to the lanes of a thread; see above. `r` is the row's number in the warp, `words` are
// those of the thread's lanes. If the range is not the whole, most bins may be out of it.
template <int32 N_WORDS, int32 WIDTH, bool IS_WHOLE>
__device__ inline void add_row(const Summand<N_WORDS>& summand, const Bins<WIDTH>& bins, uint32 r,
                               uint32* words, uint32 low, uint32 n_bins) {
    constexpr uint32 N = Bins<WIDTH>::N;
    uint32 four_bins[N / 4];
    bins.get_words(r, four_bins);
#pragma unroll
    for (uint32 p = 0; p < N; ++p) {
        // One byte, and three of zero.
        uint32 bin = __byte_perm(four_bins[p >> 2], 0, 0x4440 | ((p ^ r) & 3));
        if (!IS_WHOLE) bin -= low;
        uint8* first = (uint8*)(words + (p ^ r));  // of the lane: the same for all rows
        const uint32 offset = bin * (uint32)(N_WORDS * WIDTH * sizeof(uint32));
        if (IS_WHOLE || bin < n_bins) summand.template add<WIDTH>((uint32*)(first + offset));
    }
}

// Add records [0, n) to the words of a range of bins.
template <int32 N_WORDS, int32 WIDTH, bool IS_WHOLE>
__device__ inline void add_records(const Source<N_WORDS>& source, const Tile& tile,
                                   const uint64* records, uint32 n, Range range) {
    const bool is_alone = WIDTH == SLICE || tile.is_narrow;  // a thread has all lanes of a row
    const uint32 lane = own_lane(), threads = is_alone ? 0 : 1;  // of a row: logarithm
    const uint32 half = WIDTH == SLICE ? 0 : is_alone ? lane >> 4 : lane & 1;
    // A compiler that knew the bits of r would compute places by `or` where one multiply-add does.
    const uint32 r = __shfl_sync(ALL_LANES, lane >> threads & (Bins<WIDTH>::N - 1), lane);
    const uint8* bins_of_lanes = tile.bins + (is_alone ? 0 : 16 * half);
    uint32* words = range.words + 16 * half;
    const uint32 step = blockDim.x >> threads;
    uint32 i = threadIdx.x >> threads;
    if (i >= n) return;
    // What comes next is under way while a row is added. Beyond the last record: that one again.
    uint64 record = records[i];
    uint64 next = records[i + step < n ? i + step : n - 1];
    Bins<WIDTH> bins, next_bins;
    bins.load(bins_of_lanes + (record >> 32) * LANES);
    for (; i < n; i += step) {
        const uint32 later = i + 2 * step;
        next_bins.load(bins_of_lanes + (next >> 32) * LANES);
        const uint64 later_record = records[later < n ? later : n - 1];
        const Summand<N_WORDS> summand(source, record);
        add_row<N_WORDS, WIDTH, IS_WHOLE>(summand, bins, r, words, range.low, range.n_bins);
        record = next;
        bins = next_bins;
        next = later_record;
    }
}

// Add the words to 64-bit sums `[statistic][bin][lane]`, and clear them. WIDTH threads have a
// statistic of a bin at a time.
template <int32 N_WORDS, int32 WIDTH>
__device__ inline void flush_words(const Tile& tile, Range range, int64 even_h, int64* target) {
    constexpr int32 N_SUMS = N_WORDS == EVEN_WORDS ? 2 : 3;
    const int32 n = N_SUMS * (int32)range.n_bins, step = blockDim.x / WIDTH;
    const int64 of_statistic = tile.n_bins * LANES;
    // Blocks begin at different places, so that they do not meet.
    const int32 start = (int32)(blockIdx.x * (uint32)n / gridDim.x);
    for (int32 i = threadIdx.x / WIDTH; i < n; i += step) {
        const int32 at = i + start < n ? i + start : i + start - n;
        const int32 bin = at / N_SUMS, which = at % N_SUMS;
        const int32 word = N_WORDS == EXACT_WORDS ? 2 * which : which;
        uint32* place = range.words + (bin * N_WORDS + word) * WIDTH + (threadIdx.x & (WIDTH - 1));
        int64 sum = N_WORDS != EXACT_WORDS && which == 0 ? (int64)(int32)*place : *place;
        *place = 0;
        if (N_WORDS == EXACT_WORDS && which < 2) {
            sum |= (int64)((uint64)place[WIDTH] << 32);
            place[WIDTH] = 0;
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
template <int32 N_WORDS, int32 WIDTH, bool IS_WHOLE>
__device__ inline void build_range(const Job& job, const Tile& tile, Range range) {
    const Source<N_WORDS> source(job);
    const Span span = tile.span;
    uint4* words = (uint4*)range.words;
    for (uint32 i = threadIdx.x; i < range.n_bins * (N_WORDS * WIDTH / 4); i += blockDim.x)
        words[i] = {0, 0, 0, 0};
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
            __syncthreads();  // words have been cleared
            add_records<N_WORDS, WIDTH, IS_WHOLE>(source, tile, records + at, (uint32)n, range);
            __syncthreads();
            flush_words<N_WORDS, WIDTH>(tile, range, job.state->even_h, target);
            at += n;
        }
    }
}

template <int32 N_WORDS, int32 WIDTH>
__device__ inline void build_tile(const Job& job, const Tile& tile, int64 shared_bytes) {
    const uint32 n_bins = (uint32)tile.n_bins;
    const uint32 fitting = (uint32)(shared_bytes / (N_WORDS * WIDTH * sizeof(uint32)));
    Range range = {(uint32*)shared_memory, 0, n_bins};
    if ((N_WORDS != EXACT_WORDS || WIDTH == SLICE) && n_bins <= fitting) {
        build_range<N_WORDS, WIDTH, true>(job, tile, range);
        return;
    }
    for (; range.low < n_bins; range.low += fitting) {
        const uint32 left = n_bins - range.low;
        range.n_bins = left < fitting ? left : fitting;
        build_range<N_WORDS, WIDTH, false>(job, tile, range);
        __syncthreads();  // words have been read
    }
}

template <int32 N_WORDS>
__device__ inline void build_share(const Job& job, const Tile& tile, int64 shared_bytes) {
    if (tile.is_sliced) build_tile<N_WORDS, SLICE>(job, tile, shared_bytes);
    else build_tile<N_WORDS, LANES>(job, tile, shared_bytes);
}

// Grid: (blocks, tiles). Tiles are sliced up to so many rows.
extern "C" __global__ void __launch_bounds__(1024) build_histograms(
    Job job, int64 shared_bytes, int64 sliced_rows) {
    const State& state = *job.state;
    const int64 n_families = state.n_families, exact = state.exact, even_h = state.even_h;
    if (n_families == 0) return;
    const Tile tile(job, job.build_first[n_families], sliced_rows);
    if (tile.span.begin >= tile.span.end) return;
    if (!__syncthreads_or(tile.has_feature)) return;
    if (exact) build_share<EXACT_WORDS>(job, tile, shared_bytes);
    else if (even_h) build_share<EVEN_WORDS>(job, tile, shared_bytes);
    else build_share<PACKED_WORDS>(job, tile, shared_bytes);
}
