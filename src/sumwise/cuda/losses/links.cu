// From raw scores to means and probabilities, see kernels/losses/links.py.
#include "layout.cuh"
#include "losses/influence.cuh"
#include "runtime/grid.cuh"

// 1 / (1 + exp(-factor * raw)).
extern "C" __global__ void sigmoid(const double* raw, double factor, int64 n_items, double* out) {
    for (int64 i = first_item(); i < n_items; i += item_step()) {
        double score = factor * raw[i], e = exp_of(-absolute(score));
        double larger = 1.0 / (1.0 + e);
        out[i] = score >= 0.0 ? larger : e * larger;
    }
}

// The same for -factor and for factor, in turns.
extern "C" __global__ void two_sigmoids(const double* raw, double factor, int64 n_items,
                                        double* out) {
    for (int64 i = first_item(); i < n_items; i += item_step()) {
        double score = factor * raw[i], e = exp_of(-absolute(score));
        double larger = 1.0 / (1.0 + e), smaller = e * larger;
        out[2 * i] = score <= 0.0 ? larger : smaller;
        out[2 * i + 1] = score >= 0.0 ? larger : smaller;
    }
}

// exp(factor * raw).
extern "C" __global__ void exponential(const double* raw, double factor, int64 n_items,
                                       double* out) {
    for (int64 i = first_item(); i < n_items; i += item_step())
        out[i] = exp_of(factor * raw[i]);
}

// exp(raw) - 1.
extern "C" __global__ void exponential_less_one(const double* raw, int64 n_items, double* out) {
    for (int64 i = first_item(); i < n_items; i += item_step())
        out[i] = tanh_of(0.5 * raw[i]) * (exp_of(raw[i]) + 1.0);
}

// Probabilities of each row of [n_rows][n_classes] scores.
extern "C" __global__ void softmax(const double* raw, int64 n_classes, int64 n_rows, double* out) {
    for (int64 i = first_item(); i < n_rows; i += item_step()) {
        const double* scores = raw + i * n_classes;
        double* own = out + i * n_classes;
        double highest = scores[0], total = 0.0;
        for (int64 k = 1; k < n_classes; ++k) highest = larger_of(highest, scores[k]);
        for (int64 k = 0; k < n_classes; ++k) {
            own[k] = exp_of(scores[k] - highest);
            total += own[k];
        }
        for (int64 k = 0; k < n_classes; ++k) own[k] /= total;
    }
}

// The scores of each row in ascending order.
extern "C" __global__ void sort_scores(const double* raw, int64 n_outputs, int64 n_rows,
                                       double* out) {
    for (int64 i = first_item(); i < n_rows; i += item_step()) {
        double* own = out + i * n_outputs;
        for (int64 k = 0; k < n_outputs; ++k) {
            double score = raw[i * n_outputs + k];
            int64 place = k;
            for (; place > 0 && own[place - 1] > score; --place) own[place] = own[place - 1];
            own[place] = score;
        }
    }
}

// The output with the highest score of each row, the first of equal ones; of a single score,
// whether it is positive. As in NumPy, nan is above all numbers.
extern "C" __global__ void find_highest(const double* raw, int64 n_outputs, int64 n_rows,
                                        int64* out) {
    for (int64 i = first_item(); i < n_rows; i += item_step()) {
        const double* scores = raw + i * n_outputs;
        int64 highest = n_outputs == 1 && scores[0] > 0.0 ? 1 : 0;
        for (int64 k = 1; k < n_outputs && scores[highest] == scores[highest]; ++k)
            if (!(scores[k] <= scores[highest])) highest = k;
        out[i] = highest;
    }
}
