// All functions of a number, of arrays of them: see test_elementary.py.
#include "layout.cuh"
#include "losses/influence.cuh"
#include "runtime/fixed_point.cuh"
#include "runtime/grid.cuh"
#include "runtime/random.cuh"
#include "runtime/sort.cuh"

extern "C" __global__ void evaluate(const double* x, int64 n, int64* out) {
    for (int64 i = first_item(); i < n; i += item_step()) {
        const double value = x[i];
        out[i] = bits_of(exp_of(value));
        out[n + i] = bits_of(log_of(absolute(value)));
        out[2 * n + i] = bits_of(log1p_exp(value));
        out[3 * n + i] = bits_of(round_to_integer(value));
        out[4 * n + i] = nearest_integer(value);
        out[5 * n + i] = bits_of(float_of(bits_of(value)));
        out[6 * n + i] = bits_of(power_scale(absolute(value), 1125899906842624.0));
        out[7 * n + i] = exact_hessian(absolute(value), 1024.0);
        out[8 * n + i] = bits_of(tanh_of(value));
        out[9 * n + i] = bits_of(influence(value, i % 3, 0.75));
        out[10 * n + i] = (int64)key_of_float(value);
        out[11 * n + i] = bits_of(value_of_key((uint64)bits_of(value)));
        out[12 * n + i] = (int64)extend_key((uint64)bits_of(value), (uint64)i);
        out[13 * n + i] = bits_of(uniform((uint64)bits_of(value), (uint64)i));
        out[14 * n + i] = bits_of(exact_limit((int64)((uint64)bits_of(value) >> (2 + (i & 31)))));
    }
}
