// Executes a kernel on the CPU: blocks one after the other, the threads of a block as fibers.
//
// A fiber runs until it meets a barrier or a warp intrinsic, or returns. When all lanes of a warp
// wait at the same intrinsic, they go on; when all threads of a block wait at the same barrier,
// they go on; when neither can happen, the launch fails with a message that says who waits where.
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

namespace {

constexpr int MOST_THREADS = 1024, N_LANES = 32, MOST_WARPS = MOST_THREADS / N_LANES;
constexpr size_t STACK_BYTES = 128 << 10, STACK_GUARD = 4 << 10;
constexpr size_t SHARED_BYTES = 256 << 10, SHARED_GUARD = 4 << 10;
constexpr int POISON = 0xAB;

enum State { NEW, READY, AT_BARRIER, AT_WARP, RETURNED };
enum Order { FORWARD, REVERSED, SHUFFLED };

struct Fiber {
    void* stack_pointer;
    int stack;
    State state;
    const char* what;  // it waits at
    const char* file;
    int line;
    int predicate;
};

struct Index {
    unsigned x, y, z;
};

}  // namespace

extern "C" {
Index threadIdx, blockIdx, blockDim, gridDim;
void emulator_switch(void** save, void* load);
}
extern thread_local unsigned long long shared_memory[];
alignas(128) thread_local unsigned long long shared_memory[(SHARED_BYTES + SHARED_GUARD) / 8];

// Saves what a call must keep, and goes on where the other stack has been left.
#if defined(__x86_64__)
asm(R"(
.text
.type emulator_switch, @function
emulator_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
)");
constexpr int SAVED_WORDS = 8, ENTRY_WORD = 6;
#elif defined(__aarch64__)
asm(R"(
.text
.type emulator_switch, @function
emulator_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
)");
constexpr int SAVED_WORDS = 20, ENTRY_WORD = 11;
#else
#error "the emulator switches stacks on x86-64 and aarch64 only"
#endif

namespace {

// What follows exists once: Python sees to it that there is one launch at a time.
Fiber fibers[MOST_THREADS];
void* scheduler;
bool in_fiber;
int current, n_threads, n_warps;
uint64_t words[MOST_WARPS][2][N_LANES];  // two, as a lane may write the next before others read
int phase[MOST_WARPS];
int n_holding;  // threads of the block whose predicate holds
char* stacks;
int free_stacks[MOST_THREADS], n_free_stacks;
void (*kernel)(void**);
void** kernel_arguments;
const char* kernel_name;
char* message;
size_t message_bytes;
bool failed;
Order order;
uint64_t random_state;
char* library;  // the memory of this library
size_t library_bytes;
size_t dynamic_bytes;  // of shared memory

struct Segment {  // all shared memory, static and dynamic
    char* first;
    size_t n_bytes;
} segment;

// --- errors ---

__attribute__((format(printf, 1, 2))) void fail(const char* format, ...) {
    if (failed) return;
    failed = true;
    int n = snprintf(
        message, message_bytes, "kernel %s, block (%u, %u): ", kernel_name, blockIdx.x, blockIdx.y);
    va_list values;
    va_start(values, format);
    vsnprintf(message + n, message_bytes - n, format, values);
    va_end(values);
}

void describe(int thread, char* text, size_t n_bytes) {
    const Fiber& fiber = fibers[thread];
    if (fiber.state == RETURNED)
        snprintf(text, n_bytes, "thread %d has returned", thread);
    else
        snprintf(text, n_bytes, "thread %d waits at %s (%s:%d)", thread, fiber.what, fiber.file,
                 fiber.line);
}

void fail_of_divergence(int one, int other) {
    char texts[2][512];
    describe(one, texts[0], sizeof(texts[0]));
    describe(other, texts[1], sizeof(texts[1]));
    fail("threads diverge: %s, but %s", texts[0], texts[1]);
}

// --- fibers ---

void leave() {
    Fiber& fiber = fibers[current];
    emulator_switch(&fiber.stack_pointer, scheduler);
}

void enter() {
    kernel(kernel_arguments);
    fibers[current].state = RETURNED;
    leave();
}

void start(Fiber& fiber) {
    fiber.stack = free_stacks[--n_free_stacks];
    // Tops at different offsets, lest all stacks compete for the same lines of the cache.
    char* top = stacks + (fiber.stack + 1) * (STACK_BYTES + STACK_GUARD) - fiber.stack % 61 * 64;
    void** saved = (void**)top - SAVED_WORDS;
    memset(saved, 0, SAVED_WORDS * sizeof(void*));
    saved[ENTRY_WORD] = (void*)enter;
    fiber.stack_pointer = saved;
    fiber.state = READY;
}

void resume(int thread) {
    Fiber& fiber = fibers[thread];
    if (fiber.state == NEW) start(fiber);
    current = thread;
    threadIdx.x = thread;
    in_fiber = true;
    emulator_switch(&scheduler, fiber.stack_pointer);
    in_fiber = false;
    if (fiber.state == RETURNED) free_stacks[n_free_stacks++] = fiber.stack;
}

}  // namespace

#ifdef EMULATOR_CHECK_ACCESSES
#include "accesses.h"
#else
namespace {
void watch(const void*, int64_t) {}
void begin_accesses() {}
void settle_accesses() {}
void order_block() {}
void order_warp(int) {}
}  // namespace
#endif

namespace {

// --- order ---

uint64_t draw(uint64_t n) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % n;
}

void arrange(int* numbers, int n) {
    for (int i = 0; i < n; ++i) numbers[i] = order == REVERSED ? n - 1 - i : i;
    if (order != SHUFFLED) return;
    for (int i = n - 1; i > 0; --i) {
        const int j = (int)draw(i + 1), number = numbers[i];
        numbers[i] = numbers[j];
        numbers[j] = number;
    }
}

uint64_t greatest_divisor(uint64_t a, uint64_t b) { return b == 0 ? a : greatest_divisor(b, a % b); }

struct BlockOrder {  // a permutation without memory
    uint64_t n, factor = 1, shift = 0;

    explicit BlockOrder(uint64_t n) : n(n) {
        if (order != SHUFFLED) return;
        do factor = 1 + draw(n);
        while (greatest_divisor(factor, n) != 1);
        shift = draw(n);
    }
    uint64_t operator[](uint64_t i) const {
        return order == REVERSED ? n - 1 - i : (i * factor + shift) % n;
    }
};

// --- schedule ---

bool same(const char* a, const char* b) { return a == b || strcmp(a, b) == 0; }

bool wait_together(const Fiber& one, const Fiber& other) {
    return one.state == other.state && one.line == other.line && same(one.what, other.what) &&
           same(one.file, other.file);
}

/// Run the lanes of a warp until all wait; return whether they met and can go on.
bool advance(int warp) {
    Fiber* lanes = fibers + warp * N_LANES;
    int numbers[N_LANES];
    arrange(numbers, N_LANES);
    int n_meeting = 0;
    for (int lane : numbers) {
        if (lanes[lane].state <= READY) resume(warp * N_LANES + lane);
        settle_accesses();
        if (failed) return false;
        n_meeting += lanes[lane].state == AT_WARP;
    }
    if (n_meeting == 0) return false;
    for (int lane = 1; lane < N_LANES; ++lane)
        if (!wait_together(lanes[0], lanes[lane])) {
            fail_of_divergence(warp * N_LANES, warp * N_LANES + lane);
            return false;
        }
    for (int lane = 0; lane < N_LANES; ++lane) lanes[lane].state = READY;
    phase[warp] ^= 1;
    if (same(lanes[0].what, "__syncwarp")) order_warp(warp);  // others do not order accesses
    return true;
}

/// Run all warps until each waits at a barrier of the block or has returned.
void advance_all() {
    int warps[MOST_WARPS], n_left = n_warps;
    arrange(warps, n_warps);
    int i = 0;
    while (n_left > 0 && !failed) {
        if (order == SHUFFLED) i = (int)draw(n_left);
        if (advance(warps[i])) continue;
        --n_left;
        for (int k = i; k < n_left; ++k) warps[k] = warps[k + 1];
    }
}

void run_block() {
    for (int i = 0; i < n_threads; ++i) {
        fibers[i].state = NEW;
        free_stacks[i] = i;
    }
    n_free_stacks = n_threads;
    memset(phase, 0, sizeof(phase));
    begin_accesses();
    while (true) {
        advance_all();
        if (failed) return;
        for (int i = 1; i < n_threads; ++i) {
            if (fibers[0].state == RETURNED && fibers[i].state == RETURNED) continue;
            if (!wait_together(fibers[0], fibers[i])) return fail_of_divergence(0, i);
        }
        if (fibers[0].state == RETURNED) return;
        order_block();
        n_holding = 0;
        for (int i = 0; i < n_threads; ++i) {
            n_holding += fibers[i].predicate;
            fibers[i].state = READY;
        }
    }
}

// --- signals ---

/// Fails the launch, instead of ending the process, if a thread touches memory that is not there.
class FaultCatcher {
  public:
    FaultCatcher() {
        stack_t stack{};
        stack.ss_sp = signal_stack;
        stack.ss_size = sizeof(signal_stack);
        sigaltstack(&stack, &old_stack);
        struct sigaction action{};
        action.sa_sigaction = handle;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        for (int i = 0; i < N_SIGNALS; ++i) sigaction(SIGNALS[i], &action, old_actions + i);
        launching_thread = pthread_self();
    }
    ~FaultCatcher() {
        for (int i = 0; i < N_SIGNALS; ++i) sigaction(SIGNALS[i], old_actions + i, nullptr);
        sigaltstack(&old_stack, nullptr);
    }

  private:
    static constexpr int SIGNALS[] = {SIGSEGV, SIGBUS}, N_SIGNALS = 2;
    static inline struct sigaction old_actions[N_SIGNALS];
    static inline stack_t old_stack;
    static inline pthread_t launching_thread;
    static inline char signal_stack[64 << 10];

    static void handle(int number, siginfo_t* info, void*) {
        if (!in_fiber || !pthread_equal(pthread_self(), launching_thread)) {
            for (int i = 0; i < N_SIGNALS; ++i)  // not ours: it happens again, and is handled there
                if (SIGNALS[i] == number) sigaction(number, old_actions + i, nullptr);
            return;
        }
        const char* first = stacks + fibers[current].stack * (STACK_BYTES + STACK_GUARD);
        if (info->si_addr >= first && info->si_addr < first + STACK_GUARD)
            fail("thread %d needs more than %zu bytes of stack", current, STACK_BYTES);
        else
            fail("thread %d touches memory at %p, which is not there", current, info->si_addr);
        leave();
    }
};

// --- shared memory ---

/// Find this library among those that are loaded, and its thread-local variables.
int find_segment(dl_phdr_info* info, size_t, void*) {
    const auto here = (uintptr_t)&fibers;
    size_t n_bytes = 0, shared_bytes = 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& part = info->dlpi_phdr[i];
        if (part.p_type == PT_LOAD) n_bytes = part.p_vaddr + part.p_memsz;
        if (part.p_type == PT_TLS) shared_bytes = part.p_memsz;
    }
    if (here - info->dlpi_addr >= n_bytes) return 0;
    library = (char*)info->dlpi_addr, library_bytes = n_bytes;
    segment = {(char*)info->dlpi_tls_data, shared_bytes};
    return 1;
}

/// Fill all static shared memory, and the dynamic one with what guards its end.
void poison() {
    char *first = (char*)shared_memory, *last = first + sizeof(shared_memory);
    memset(segment.first, POISON, first - segment.first);
    memset(first, POISON, dynamic_bytes + SHARED_GUARD);
    memset(last, POISON, segment.first + segment.n_bytes - last);
}

void check_shared() {
    const auto* bytes = (unsigned char*)shared_memory;
    for (size_t i = dynamic_bytes; i < dynamic_bytes + SHARED_GUARD; ++i)
        if (bytes[i] != POISON)
            return fail("byte %zu of the dynamic shared memory was written, which has %zu bytes", i,
                        dynamic_bytes);
}

}  // namespace

// --- what kernels call ---

extern "C" int emulator_meet_block(const char* what, int predicate, const char* file, int line) {
    Fiber& fiber = fibers[current];
    fiber.what = what, fiber.file = file, fiber.line = line;
    fiber.predicate = predicate != 0;
    fiber.state = AT_BARRIER;
    leave();
    return n_holding;
}

extern "C" const uint64_t* emulator_meet_warp(
    const char* what, unsigned mask, uint64_t value, const char* file, int line) {
    if (mask != 0xffffffff) {
        fail("thread %d passes the mask %#x to %s (%s:%d), which must name all lanes", current, mask,
             what, file, line);
        leave();
    }
    const int warp = current / N_LANES, buffer = phase[warp];
    Fiber& fiber = fibers[current];
    fiber.what = what, fiber.file = file, fiber.line = line;
    words[warp][buffer][current % N_LANES] = value;
    fiber.state = AT_WARP;
    leave();
    return words[warp][buffer];
}

extern "C" void emulator_fail(const char* what, const char* file, int line) {
    fail("thread %d: %s (%s:%d)", current, what, file, line);
    leave();
    __builtin_unreachable();
}

// --- what code calls that g++ has added checks to ---

namespace {
struct Place {  // what the data of all handlers begin with
    const char* file;
    unsigned line, column;
};
}  // namespace

extern "C" {
void __ubsan_handle_type_mismatch_v1(Place* place, void*) {
    emulator_fail("the address is not aligned, or null", place->file, (int)place->line);
}
void __ubsan_handle_out_of_bounds(Place* place, void*) {
    emulator_fail("the index is out of the bounds of the array", place->file, (int)place->line);
}
void __ubsan_handle_shift_out_of_bounds(Place* place, void*, void*) {
    emulator_fail("the value is shifted by too many bits", place->file, (int)place->line);
}
void __ubsan_handle_divrem_overflow(Place* place, void*, void*) {
    emulator_fail("integers are divided by zero", place->file, (int)place->line);
}
void __ubsan_handle_float_cast_overflow(Place* place, void*) {
    emulator_fail("the integer type does not have this value", place->file, (int)place->line);
}
}

// --- what Python calls ---

/// Return memory for the stacks of a block, each with a page before it that cannot be written.
extern "C" __attribute__((visibility("default"))) void* emulator_make_stacks() {
    const size_t n_bytes = MOST_THREADS * (STACK_BYTES + STACK_GUARD);
    void* memory = mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    for (int i = 0; i < MOST_THREADS; ++i)
        mprotect((char*)memory + i * (STACK_BYTES + STACK_GUARD), STACK_GUARD, PROT_NONE);
    return memory;
}

extern "C" __attribute__((visibility("default"))) int emulator_launch(
    const char* name, void (*call)(void**), void** arguments, int64_t n_blocks_x, int64_t n_blocks_y,
    int64_t threads, int64_t shared, int64_t how, uint64_t seed,
    const void* ranges, int64_t n_ranges, void* memory_of_stacks, char* text, int64_t text_bytes) {
    kernel_name = name, kernel = call, kernel_arguments = arguments;
    message = text, message_bytes = (size_t)text_bytes, failed = false;
    n_threads = (int)threads, n_warps = n_threads / N_LANES;
    order = (Order)how, random_state = seed;
    gridDim = {(unsigned)n_blocks_x, (unsigned)n_blocks_y, 1};
    blockDim = {(unsigned)threads, 1, 1};
    threadIdx = blockIdx = {0, 0, 0};
    stacks = (char*)memory_of_stacks;
    shared_memory[0] = 0;  // the segment exists from now on
    dl_iterate_phdr(find_segment, nullptr);
    dynamic_bytes = shared;
    watch(ranges, n_ranges);
    const FaultCatcher catcher;
    const BlockOrder blocks(n_blocks_x * n_blocks_y);
    for (uint64_t i = 0; i < blocks.n && !failed; ++i) {
        blockIdx = {(unsigned)(blocks[i] % n_blocks_x), (unsigned)(blocks[i] / n_blocks_x), 0};
        poison();
        run_block();
        if (!failed) check_shared();
    }
    return failed;
}
