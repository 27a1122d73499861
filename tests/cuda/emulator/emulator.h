// What CUDA C++ has beyond C++, for kernels that are executed on the CPU (see runtime.cpp).
//
// Included before the sources of a program, and after no other header: names of the C library must
// not hide that a source uses what CUDA does not have. Overloads are those of CUDA, no more. Those
// that the project's rules forbid (fmin of doubles, fused multiply-add) are not there.
// __global__ and __launch_bounds__ are replaced by compile.py.
#pragma once

#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
// Implies static inside of functions, and may follow extern: just what __shared__ needs. The
// variables of a program lie in one segment, which is filled with poison before each block.
#define __shared__ thread_local

typedef unsigned long size_t;
extern "C" {
int printf(const char*, ...);
void* memcpy(void*, const void*, size_t);
void* memset(void*, int, size_t);
}

// --- vectors ---

#define EMULATOR_PAIR(name, kind)                                                    \
    struct __align__(2 * sizeof(kind)) name { kind x, y; };                          \
    inline name make_##name(kind x, kind y) { return {x, y}; }
#define EMULATOR_QUAD(name, kind)                                                    \
    struct __align__(4 * sizeof(kind) < 16 ? 4 * sizeof(kind) : 16) name { kind x, y, z, w; }; \
    inline name make_##name(kind x, kind y, kind z, kind w) { return {x, y, z, w}; }
EMULATOR_PAIR(char2, signed char)
EMULATOR_PAIR(uchar2, unsigned char)
EMULATOR_PAIR(short2, short)
EMULATOR_PAIR(ushort2, unsigned short)
EMULATOR_PAIR(int2, int)
EMULATOR_PAIR(uint2, unsigned)
EMULATOR_PAIR(longlong2, long long)
EMULATOR_PAIR(ulonglong2, unsigned long long)
EMULATOR_PAIR(float2, float)
EMULATOR_PAIR(double2, double)
EMULATOR_QUAD(char4, signed char)
EMULATOR_QUAD(uchar4, unsigned char)
EMULATOR_QUAD(short4, short)
EMULATOR_QUAD(ushort4, unsigned short)
EMULATOR_QUAD(int4, int)
EMULATOR_QUAD(uint4, unsigned)
EMULATOR_QUAD(float4, float)
struct uint3 { unsigned x, y, z; };

// --- threads ---

// The fiber that runs sees its own values: for its code they are constant.
extern "C" const uint3 threadIdx, blockIdx, blockDim, gridDim;
constexpr int warpSize = 32;
extern thread_local __align__(128) unsigned long long shared_memory[];

extern "C" {
/// Wait for all threads of the block; return how many have passed a predicate that holds.
int emulator_meet_block(const char* what, int predicate, const char* file, int line);
/// Wait for all lanes of the warp; return the values that they have passed.
const unsigned long long* emulator_meet_warp(
    const char* what, unsigned mask, unsigned long long value, const char* file, int line);
[[noreturn]] void emulator_fail(const char* what, const char* file, int line);
}

#define EMULATOR_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(EMULATOR_HERE) { emulator_meet_block("__syncthreads", 0, file, line); }
inline int __syncthreads_count(int predicate, EMULATOR_HERE) {
    return emulator_meet_block("__syncthreads_count", predicate, file, line);
}
inline int __syncthreads_or(int predicate, EMULATOR_HERE) {
    return emulator_meet_block("__syncthreads_or", predicate, file, line) != 0;
}
inline int __syncthreads_and(int predicate, EMULATOR_HERE) {
    return emulator_meet_block("__syncthreads_and", predicate, file, line) == (int)blockDim.x;
}
inline void __syncwarp(unsigned mask = 0xffffffff, EMULATOR_HERE) {
    emulator_meet_warp("__syncwarp", mask, 0, file, line);
}
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
[[noreturn]] inline void __trap(EMULATOR_HERE) { emulator_fail("__trap", file, line); }
inline long long clock64() { return 0; }
inline int clock() { return 0; }

// --- warps ---

inline unsigned __ballot_sync(unsigned mask, int predicate, EMULATOR_HERE) {
    const auto* values = emulator_meet_warp("__ballot_sync", mask, predicate != 0, file, line);
    unsigned ballot = 0;
    for (int lane = 0; lane < 32; ++lane) ballot |= (unsigned)values[lane] << lane;
    return ballot;
}
inline int __any_sync(unsigned mask, int predicate, EMULATOR_HERE) {
    return __ballot_sync(mask, predicate, file, line) != 0;
}
inline int __all_sync(unsigned mask, int predicate, EMULATOR_HERE) {
    return __ballot_sync(mask, predicate, file, line) == 0xffffffff;
}

namespace emulator {
template <class T>
T exchange(const char* what, unsigned mask, T value, int source, const char* file, int line) {
    unsigned long long word = 0;
    __builtin_memcpy(&word, &value, sizeof(T));
    const unsigned long long* words = emulator_meet_warp(what, mask, word, file, line);
    __builtin_memcpy(&value, words + source, sizeof(T));
    return value;
}
inline int lane() { return threadIdx.x & 31; }
inline int segment(int width) { return lane() & -width; }
inline int lane_of(int source, int width) { return segment(width) | (source & (width - 1)); }
inline int lane_up(unsigned delta, int width) {
    const int source = lane() - (int)delta;
    return source < segment(width) ? lane() : source;
}
inline int lane_down(unsigned delta, int width) {
    const int source = lane() + (int)delta;
    return source >= segment(width) + width ? lane() : source;
}
inline int lane_xor(int bits, int width) {
    const int source = lane() ^ bits;
    return source >= segment(width) + width ? lane() : source;
}
}  // namespace emulator

#define EMULATOR_SHUFFLES(kind)                                                                 \
    inline kind __shfl_sync(unsigned mask, kind value, int source, int width = 32, EMULATOR_HERE) { \
        return emulator::exchange(                                                              \
            "__shfl_sync", mask, value, emulator::lane_of(source, width), file, line);          \
    }                                                                                           \
    inline kind __shfl_up_sync(                                                                 \
        unsigned mask, kind value, unsigned delta, int width = 32, EMULATOR_HERE) {             \
        return emulator::exchange(                                                              \
            "__shfl_up_sync", mask, value, emulator::lane_up(delta, width), file, line);        \
    }                                                                                           \
    inline kind __shfl_down_sync(                                                               \
        unsigned mask, kind value, unsigned delta, int width = 32, EMULATOR_HERE) {             \
        return emulator::exchange(                                                              \
            "__shfl_down_sync", mask, value, emulator::lane_down(delta, width), file, line);    \
    }                                                                                           \
    inline kind __shfl_xor_sync(                                                                \
        unsigned mask, kind value, int bits, int width = 32, EMULATOR_HERE) {                   \
        return emulator::exchange(                                                              \
            "__shfl_xor_sync", mask, value, emulator::lane_xor(bits, width), file, line);       \
    }
EMULATOR_SHUFFLES(int)
EMULATOR_SHUFFLES(unsigned)
EMULATOR_SHUFFLES(long long)
EMULATOR_SHUFFLES(unsigned long long)
EMULATOR_SHUFFLES(float)
EMULATOR_SHUFFLES(double)

#define EMULATOR_MATCH(kind)                                                                    \
    inline unsigned __match_any_sync(unsigned mask, kind value, EMULATOR_HERE) {                \
        unsigned long long word = 0;                                                            \
        __builtin_memcpy(&word, &value, sizeof(value));                                         \
        const auto* words = emulator_meet_warp("__match_any_sync", mask, word, file, line);     \
        unsigned same = 0;                                                                      \
        for (int lane = 0; lane < 32; ++lane) same |= (unsigned)(words[lane] == word) << lane;  \
        return same;                                                                            \
    }
EMULATOR_MATCH(int)
EMULATOR_MATCH(unsigned)
EMULATOR_MATCH(long long)
EMULATOR_MATCH(unsigned long long)

// --- atomics: threads are switched at barriers only, so plain operations are atomic ---

// Not inlined where accesses are watched: the caller is what is reported.
#ifdef EMULATOR_CHECK_ACCESSES
extern "C" void emulator_touch_atomic(void* address, int n_bytes);
#define EMULATOR_UNWATCHED inline __attribute__((no_sanitize("thread"), noipa))
#else
inline void emulator_touch_atomic(void*, int) {}
#define EMULATOR_UNWATCHED inline
#endif

#define EMULATOR_ATOMIC(name, kind, updated)                  \
    EMULATOR_UNWATCHED kind name(kind* address, kind value) { \
        emulator_touch_atomic(address, sizeof(kind));         \
        const kind old = *address;                            \
        *address = (updated);                                 \
        return old;                                           \
    }
#define EMULATOR_ATOMICS_BITS(kind)                           \
    EMULATOR_ATOMIC(atomicAnd, kind, old & value)             \
    EMULATOR_ATOMIC(atomicOr, kind, old | value)              \
    EMULATOR_ATOMIC(atomicXor, kind, old ^ value)             \
    EMULATOR_UNWATCHED kind atomicCAS(kind* address, kind expected, kind value) { \
        emulator_touch_atomic(address, sizeof(kind));         \
        const kind old = *address;                            \
        if (old == expected) *address = value;                \
        return old;                                           \
    }
#define EMULATOR_ATOMICS_ORDER(kind)                          \
    EMULATOR_ATOMIC(atomicMin, kind, value < old ? value : old) \
    EMULATOR_ATOMIC(atomicMax, kind, value > old ? value : old)
EMULATOR_ATOMIC(atomicAdd, int, (int)((unsigned)old + (unsigned)value))
EMULATOR_ATOMIC(atomicAdd, unsigned, old + value)
EMULATOR_ATOMIC(atomicAdd, unsigned long long, old + value)
EMULATOR_ATOMIC(atomicSub, int, (int)((unsigned)old - (unsigned)value))
EMULATOR_ATOMIC(atomicSub, unsigned, old - value)
EMULATOR_ATOMIC(atomicExch, int, value)
EMULATOR_ATOMIC(atomicExch, unsigned, value)
EMULATOR_ATOMIC(atomicExch, unsigned long long, value)
EMULATOR_ATOMIC(atomicExch, float, value)
EMULATOR_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
EMULATOR_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)
EMULATOR_ATOMICS_BITS(int)
EMULATOR_ATOMICS_BITS(unsigned)
EMULATOR_ATOMICS_BITS(unsigned long long)
EMULATOR_ATOMICS_ORDER(int)
EMULATOR_ATOMICS_ORDER(unsigned)
EMULATOR_ATOMICS_ORDER(long long)
EMULATOR_ATOMICS_ORDER(unsigned long long)

// --- loads and stores with hints for caches ---

template <class T> T __ldg(const T* address) { return *address; }
template <class T> T __ldcg(const T* address) { return *address; }
template <class T> T __ldca(const T* address) { return *address; }
template <class T> T __ldcs(const T* address) { return *address; }
template <class T> T __ldlu(const T* address) { return *address; }
template <class T> T __ldcv(const T* address) { return *address; }
template <class T> void __stwb(T* address, T value) { *address = value; }
template <class T> void __stcg(T* address, T value) { *address = value; }
template <class T> void __stcs(T* address, T value) { *address = value; }
template <class T> void __stwt(T* address, T value) { *address = value; }

// --- integers ---

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(x); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(x); }
inline unsigned long long __brevll(unsigned long long x) {
    unsigned long long reversed = 0;
    for (int bit = 0; bit < 64; ++bit) reversed |= (x >> bit & 1) << (63 - bit);
    return reversed;
}
inline unsigned __brev(unsigned x) { return (unsigned)(__brevll(x) >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)((unsigned long long)a * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)((((unsigned long long)high << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31));
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    const unsigned long long bytes = (unsigned long long)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i)
        result |= (unsigned)(bytes >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
    return result;
}

#define EMULATOR_ORDER(kind)                                      \
    inline kind min(kind a, kind b) { return b < a ? b : a; }     \
    inline kind max(kind a, kind b) { return a < b ? b : a; }
EMULATOR_ORDER(int)
EMULATOR_ORDER(unsigned)
EMULATOR_ORDER(long long)
EMULATOR_ORDER(unsigned long long)
// Of NaN and of -0.0 they do not give what the CPU's kernels give: write b > a ? b : a.
double min(double, double) = delete;
double max(double, double) = delete;
inline int abs(int x) { return x < 0 ? -x : x; }
inline long long abs(long long x) { return x < 0 ? -x : x; }
inline long long llabs(long long x) { return abs(x); }

// --- floating point: only what is the same to the bit everywhere ---

template <class To, class From> To emulator_cast(From value) {
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To bits;
    __builtin_memcpy(&bits, &value, sizeof(bits));
    return bits;
}
inline long long __double_as_longlong(double x) { return emulator_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return emulator_cast<double>(x); }
inline int __float_as_int(float x) { return emulator_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return emulator_cast<unsigned>(x); }
inline float __int_as_float(int x) { return emulator_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return emulator_cast<float>(x); }
inline int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return (int)__double_as_longlong(x); }
inline double __hiloint2double(int high, int low) {
    return emulator_cast<double>((unsigned long long)(unsigned)high << 32 | (unsigned)low);
}
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double x) { return __builtin_sqrt(x); }
inline double sqrt(double x) { return __builtin_sqrt(x); }
inline float sqrtf(float x) { return __builtin_sqrtf(x); }
inline double fabs(double x) { return __builtin_fabs(x); }
inline float fabsf(float x) { return __builtin_fabsf(x); }
inline double abs(double x) { return __builtin_fabs(x); }
inline double floor(double x) { return __builtin_floor(x); }
inline double ceil(double x) { return __builtin_ceil(x); }
inline double trunc(double x) { return __builtin_trunc(x); }
inline double rint(double x) { return __builtin_rint(x); }
inline double nearbyint(double x) { return __builtin_nearbyint(x); }
inline double copysign(double x, double y) { return __builtin_copysign(x, y); }
inline double ldexp(double x, int exponent) { return __builtin_ldexp(x, exponent); }
inline bool isnan(double x) { return __builtin_isnan(x); }
inline bool isinf(double x) { return __builtin_isinf(x); }
inline bool isfinite(double x) { return __builtin_isfinite(x); }
inline bool signbit(double x) { return __builtin_signbit(x) != 0; }
inline bool isnan(float x) { return __builtin_isnan(x); }
inline bool isinf(float x) { return __builtin_isinf(x); }
inline bool isfinite(float x) { return __builtin_isfinite(x); }
inline bool signbit(float x) { return __builtin_signbit(x) != 0; }

// The GPU takes the nearest integer in the range, and a NaN for 0 or for the lowest of 64 bits.
inline long long emulator_round(double x) {
    if (x != x || x < -0x1p63) return -0x7fffffffffffffff - 1;
    return x >= 0x1p63 ? 0x7fffffffffffffff : (long long)x;
}
inline long long __double2ll_rn(double x) { return emulator_round(rint(x)); }
inline long long __double2ll_rz(double x) { return emulator_round(trunc(x)); }
inline long long __double2ll_rd(double x) { return emulator_round(floor(x)); }
inline long long __double2ll_ru(double x) { return emulator_round(ceil(x)); }
inline int emulator_round_int(double x) {
    if (x != x) return 0;
    return x >= 0x1p31 ? 0x7fffffff : x <= -0x1p31 ? -0x7fffffff - 1 : (int)x;
}
inline int __double2int_rn(double x) { return emulator_round_int(rint(x)); }
inline int __double2int_rz(double x) { return emulator_round_int(trunc(x)); }
inline long long llrint(double x) { return __double2ll_rn(x); }
inline double __ll2double_rn(long long x) { return (double)x; }
inline double __ull2double_rn(unsigned long long x) { return (double)x; }
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
inline float __double2float_rn(double x) { return (float)x; }

// --- how kernels are called: compile.py adds a table of them ---

struct EmulatorKernel {
    const char* name;
    void (*call)(void** arguments);
    const char* kinds;  // of each argument: pointer, integer, double, structure
    const long long* sizes;
    long long n_arguments;
    long long most_threads;
};

namespace emulator {
template <class T> struct Argument {
    static constexpr char kind = __is_class(T) ? 's' : 'i';
};
template <class T> struct Argument<T*> { static constexpr char kind = 'p'; };
template <> struct Argument<double> { static constexpr char kind = 'd'; };

template <int...> struct Indices {};
template <int n, int... rest> struct Count : Count<n - 1, n - 1, rest...> {};
template <int... indices> struct Count<0, indices...> { using type = Indices<indices...>; };

template <auto kernel, class Signature> struct Caller;
template <auto kernel, class... Arguments> struct Caller<kernel, void (*)(Arguments...)> {
    static_assert(((sizeof(Arguments) == 8 || (__is_class(Arguments) && sizeof(Arguments) % 8 == 0)) && ...),
                  "an argument of a kernel takes eight bytes or is a structure of such");
    static constexpr char kinds[] = {Argument<Arguments>::kind..., 0};
    static constexpr long long sizes[] = {(long long)sizeof(Arguments)..., 0};

    template <int... indices> EMULATOR_UNWATCHED static void unpack(void** arguments, Indices<indices...>) {
        kernel(*(Arguments*)arguments[indices]...);
    }
    static void call(void** arguments) {
        unpack(arguments, typename Count<sizeof...(Arguments)>::type());
    }
};

constexpr long long most_threads(long long n_threads = 1024, long long = 0, long long = 0) {
    return n_threads;
}
template <auto kernel> constexpr EmulatorKernel describe(const char* name, long long most_threads) {
    using Call = Caller<kernel, decltype(kernel)>;
    return {name, Call::call, Call::kinds, Call::sizes, sizeof(Call::sizes) / 8 - 1, most_threads};
}
}  // namespace emulator
