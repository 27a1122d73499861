// Reads a structure and records, to test that they arrive as they were packed.
#include "layout.cuh"

extern "C" __global__ void read_records(Task task) {
    for (int64 i = threadIdx.x; i < task.n; i += blockDim.x) {
        const Split split = task.splits[i];
        task.out[3 * i] = split.bin + N_BINS;
        task.out[3 * i + 1] = split.gain * task.rate * TENTH;
        task.out[3 * i + 2] = task.most == ~0ull ? split.feature : 0;
    }
}
