// The multinomial loss: gradients, hessians and values, as in kernels/losses/multinomial.py.
#include "layout.cuh"
#include "losses/peak.cuh"
#include "runtime/grid.cuh"

// The highest score of a row; scores of a class are n_rows apart.
__device__ inline double find_highest(const double* scores, int64 n_rows, int64 n_classes) {
    double highest = scores[0];
    for (int64 k = 1; k < n_classes; k++) highest = larger_of(highest, scores[k * n_rows]);
    return highest;
}

extern "C" __global__ void multinomial_gradient(GradientTask task, int64 n_classes) {
    const double* target = (const double*)task.target;
    const int64 n_rows = task.n_rows;
    const double factor = (double)n_classes / ((double)n_classes - 1.0);
    for (int64 i = first_item(); i < n_rows; i += item_step()) {
        const double* scores = task.raw + i;
        double *gradient = task.gradient + i, *hessian = task.hessian + i;
        const double highest = find_highest(scores, n_rows, n_classes);
        double total = 0.0;
        for (int64 k = 0; k < n_classes; k++) {
            const double e = exp_of(scores[k * n_rows] - highest);
            gradient[k * n_rows] = e;
            total += e;
        }
        const int64 label = (int64)target[i];
        for (int64 k = 0; k < n_classes; k++) {
            double g = gradient[k * n_rows] / total;
            double h = factor * g * (1.0 - g);
            if (k == label) g -= 1.0;
            if (task.weight) {
                g *= task.weight[i];
                h *= task.weight[i];
            }
            gradient[k * n_rows] = g;
            hessian[k * n_rows] = h;
        }
    }
}

extern "C" __global__ void multinomial_value(ValueTask task, int64 n_classes) {
    const double* target = (const double*)task.target;
    Peak peak;
    for (int64 i = first_item(); i < task.n_chosen; i += item_step()) {
        const int64 row = task.rows[i];
        const double* scores = task.raw + row;
        const double highest = find_highest(scores, task.n_rows, n_classes);
        double total = 0.0;
        for (int64 k = 0; k < n_classes; k++) total += exp_of(scores[k * task.n_rows] - highest);
        const int64 label = (int64)target[row];
        const double weight = task.weight ? task.weight[row] : 1.0;
        const double loss = (highest - scores[label * task.n_rows]) + log_of(total);
        task.losses[i] = weight * loss;
        peak.see(weight * loss, weight);
    }
    peak.tell(task);
}
