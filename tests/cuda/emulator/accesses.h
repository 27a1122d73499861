// Watches every access to memory, for EmulatedDevice(check_accesses=True): is it in bounds, and does
// another thread of the block access the same byte with no barrier between?
//
// g++ -fsanitize=thread calls a function before each access; those of this file take the place of
// its own library. Included by runtime.cpp. Threads of different blocks are not compared: who waits
// for whom by fences and atomics is not followed.
#include <vector>

namespace {

enum Kind : uint8_t { READ, WRITE, ATOMIC };
const char* const VERBS[] = {"reads", "writes", "updates"};

struct Range {
    uintptr_t first, last;
};

struct Touch {
    uint32_t epoch = 0, warp_epoch = 0;
    uint32_t code = 0;  // where in the library
    uint16_t thread = 0;
    Kind kind = READ;
};

struct Byte {  // who touched it last; the last two of those who do not exclude each other
    Touch write, reads[2], atomics[2];
};

struct Word {
    uintptr_t address = 0;  // divided by eight
    uint64_t block = 0;  // the entry is from this one, or worth nothing
    Byte bytes[8];
};

struct Doubt {  // bytes that two threads write
    uintptr_t address;
    uint8_t value;
    Touch before, now;
} doubts[16];
constexpr int MOST_DOUBTS = sizeof(doubts) / sizeof(Doubt);
int n_doubts;

const Range* arrays;
int64_t n_arrays;
std::vector<Word> table(1 << 10);
size_t n_words;
uint64_t n_blocks_begun;
uint32_t epoch, warp_epochs[MOST_WARPS];

void watch(const void* ranges, int64_t n_ranges) {
    arrays = (const Range*)ranges;
    n_arrays = n_ranges;
}

void order_block() { ++epoch; }
void order_warp(int warp) { ++warp_epochs[warp]; }

void begin_accesses() {
    ++n_blocks_begun;
    n_words = 0;
    n_doubts = 0;
    epoch = 1;
    memset(warp_epochs, 0, sizeof(warp_epochs));
}

Word& find_slot(uintptr_t address) {
    const size_t mask = table.size() - 1;
    size_t slot = (address * 0x9E3779B97F4A7C15u >> 20) & mask;
    while (table[slot].block == n_blocks_begun && table[slot].address != address)
        slot = (slot + 1) & mask;
    return table[slot];
}

Word& find_word(uintptr_t address) {
    if (2 * n_words >= table.size()) {
        std::vector<Word> old(2 * table.size());
        old.swap(table);
        for (const Word& word : old)
            if (word.block == n_blocks_begun) find_slot(word.address) = word;
    }
    Word& word = find_slot(address);
    if (word.block != n_blocks_begun) {
        ++n_words;
        word = Word();
        word.address = address;
        word.block = n_blocks_begun;
    }
    return word;
}

/// Whether an access may happen at the same time as one before.
bool races(const Touch& before, const Touch& now) {
    if (before.epoch != epoch || before.thread == now.thread) return false;
    return before.thread / N_LANES != now.thread / N_LANES || before.warp_epoch == now.warp_epoch;
}

void remember(Touch* last, const Touch& now) {
    const bool takes_first = last[0].thread == now.thread ||
                             (last[1].thread != now.thread && last[0].epoch < last[1].epoch);
    last[takes_first ? 0 : 1] = now;
}

void fail_of_race(const Touch& before, const Touch& now, uintptr_t address) {
    fail("threads race: thread %d %s {%#x} what thread %d %s {%#x}, the byte at %#zx", now.thread,
         VERBS[now.kind], now.code, before.thread, VERBS[before.kind], before.code, (size_t)address);
}

/// See what the last access has written: threads may write the same value.
void settle_accesses() {
    for (int i = 0; i < n_doubts; ++i) {
        const Doubt& doubt = doubts[i];
        if (*(uint8_t*)doubt.address != doubt.value)
            fail_of_race(doubt.before, doubt.now, doubt.address);
    }
    n_doubts = 0;
}

void compare(Byte& byte, const Touch& now, uintptr_t address) {
    const Touch *others[5] = {&byte.write}, **last = others + 1;
    if (now.kind != READ) *last++ = byte.reads, *last++ = byte.reads + 1;
    if (now.kind != ATOMIC) *last++ = byte.atomics, *last++ = byte.atomics + 1;
    for (const Touch** other = others; other < last; ++other) {
        if (!races(**other, now)) continue;
        if (now.kind == WRITE && (*other)->kind == WRITE) {
            if (n_doubts < MOST_DOUBTS) doubts[n_doubts++] = {address, *(uint8_t*)address, **other, now};
        } else {
            fail_of_race(**other, now, address);
            leave();
        }
    }
    if (now.kind == WRITE) byte.write = now;
    else remember(now.kind == READ ? byte.reads : byte.atomics, now);
}

bool is_in(uintptr_t address, const void* first, size_t n_bytes) {
    return address - (uintptr_t)first < n_bytes;
}

bool is_in_array(uintptr_t address, size_t n_bytes) {
    int64_t low = 0, high = n_arrays;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (arrays[middle].first <= address) low = middle + 1;
        else high = middle;
    }
    return low > 0 && address + n_bytes <= arrays[low - 1].last;
}

bool is_in_bounds(uintptr_t address, size_t n_bytes) {
    if (is_in(address, shared_memory, sizeof(shared_memory)))
        return address + n_bytes <= (uintptr_t)shared_memory + dynamic_bytes;
    return is_in(address, segment.first, segment.n_bytes) || is_in_array(address, n_bytes);
}

void touch(const void* pointer, size_t n_bytes, Kind kind, const void* code) {
    const auto address = (uintptr_t)pointer;
    if (!in_fiber || is_in(address, stacks, MOST_THREADS * (STACK_BYTES + STACK_GUARD))) return;
    if (is_in(address, library, library_bytes)) return;  // a table of constants, most likely
    settle_accesses();
    if (failed) leave();
    const auto place = (uint32_t)((uintptr_t)code - (uintptr_t)library);
    if (!is_in_bounds(address, n_bytes)) {
        fail("thread %d %s {%#x} %zu bytes at %p, which are not all in an array or in shared memory",
             current, VERBS[kind], place, n_bytes, pointer);
        leave();
    }
    const Touch now = {epoch, warp_epochs[current / N_LANES], place, (uint16_t)current, kind};
    for (uintptr_t i = address; i < address + n_bytes; ++i)
        compare(find_word(i / 8).bytes[i % 8], now, i);
}

}  // namespace

#define EMULATOR_ACCESSES(n_bytes)                                                              \
    void __tsan_read##n_bytes(void* address) {                                                  \
        touch(address, n_bytes, READ, __builtin_return_address(0));                             \
    }                                                                                           \
    void __tsan_write##n_bytes(void* address) {                                                 \
        touch(address, n_bytes, WRITE, __builtin_return_address(0));                            \
    }                                                                                           \
    void __tsan_unaligned_read##n_bytes(void* address) {                                        \
        touch(address, n_bytes, READ, __builtin_return_address(0));                             \
    }                                                                                           \
    void __tsan_unaligned_write##n_bytes(void* address) {                                       \
        touch(address, n_bytes, WRITE, __builtin_return_address(0));                            \
    }
extern "C" {
EMULATOR_ACCESSES(1)
EMULATOR_ACCESSES(2)
EMULATOR_ACCESSES(4)
EMULATOR_ACCESSES(8)
EMULATOR_ACCESSES(16)
void __tsan_read_range(void* address, size_t n_bytes) {
    touch(address, n_bytes, READ, __builtin_return_address(0));
}
void __tsan_write_range(void* address, size_t n_bytes) {
    touch(address, n_bytes, WRITE, __builtin_return_address(0));
}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}
void emulator_touch_atomic(void* address, int n_bytes) {
    touch(address, n_bytes, ATOMIC, __builtin_return_address(0));
}
}
