// The gain of a split and the value of a leaf: kernels/grow/gain.py, operation by operation.
#pragma once
#include "layout.cuh"
#include "runtime/elementary.cuh"

__device__ inline double infinity() { return of_bits(0x7FF0000000000000); }

// Integer sums of rows: gradient, hessian, count.
struct Sums {
    int64 g, h, n;
};

__device__ inline Sums load_sums(const int64* sums) { return {sums[0], sums[1], sums[2]}; }
__device__ inline void store_sums(const Sums& sums, int64* target) {
    target[0] = sums.g;
    target[1] = sums.h;
    target[2] = sums.n;
}
__device__ inline Sums operator+(const Sums& a, const Sums& b) {
    return {a.g + b.g, a.h + b.h, a.n + b.n};
}
__device__ inline Sums operator-(const Sums& a, const Sums& b) {
    return {a.g - b.g, a.h - b.h, a.n - b.n};
}

// What the gains of a node's splits depend on beside sums.
struct Limits {
    double unit_g, unit_h, l1, l2, max_step, min_hessian;
    int64 min_rows;
    double smooth, center, lower, upper, direction;
    bool is_plain;  // values are not limited in any way
};

__device__ inline void note_plain(Limits& limits) {
    const bool is_free = limits.lower == -infinity() && limits.upper == infinity();
    limits.is_plain = is_free && limits.direction == 0.0 && limits.max_step == 0.0 &&
                      limits.smooth == 0.0;
}

// The limits of a node's splits on a feature; -1 if the feature has no order.
__device__ inline Limits find_limits(
    const Job& job, double unit_g, double unit_h, int64 node, int64 f) {
    Limits limits = {unit_g, unit_h, job.l1, job.l2, job.max_delta_step, job.min_child_weight,
                     job.min_samples_leaf, job.path_smooth, 0.0, -infinity(), infinity(), 0.0};
    if (job.path_smooth > 0.0) limits.center = job.values[node];
    if (job.any_direction) {
        limits.lower = job.lower[node];
        limits.upper = job.upper[node];
        if (f >= 0) limits.direction = (double)job.direction[f];
    }
    note_plain(limits);
    return limits;
}

// The same for a split of all values against the missing ones, which have no order.
__device__ inline Limits without_order(Limits limits) {
    limits.direction = 0.0;
    note_plain(limits);
    return limits;
}

// Values

// The value that minimizes the second-order loss of a leaf.
__device__ inline double leaf_value(
    double gradient, double hessian, double l1, double l2, double max_step) {
    const double curvature = hessian + l2;
    if (curvature <= 0.0) return 0.0;
    double weight = larger_of(absolute(gradient) - l1, 0.0) / curvature;
    if (max_step > 0.0) weight = smaller_of(weight, max_step);
    return gradient > 0.0 ? -weight : weight;
}

// The score of any value: what that value takes off the loss, twice.
__device__ inline double score_of_value(
    double gradient, double hessian, double l1, double l2, double value) {
    const double step = 2.0 * gradient * value + (hessian + l2) * value * value;
    return -(step + 2.0 * l1 * absolute(value));
}

// Draw the value of a node with few rows to that of its parent; `smooth` is positive.
__device__ inline double smooth_value(double value, int64 n_rows, double smooth, double parent) {
    const double share = (double)n_rows / ((double)n_rows + smooth);
    return share * value + (1.0 - share) * parent;
}

// The score of the best value.
__device__ inline double best_score(double gradient, double hessian, double l1, double l2) {
    const double size = larger_of(absolute(gradient) - l1, 0.0), curvature = hessian + l2;
    return curvature > 0.0 ? size * size / curvature : 0.0;
}

struct Judgment {
    double value, score;
    bool is_bound;  // a bound changed the value
};

__device__ inline Judgment judge_child(
    double gradient, double hessian, int64 n_rows, const Limits& limits) {
    const double size = larger_of(absolute(gradient) - limits.l1, 0.0);
    const double curvature = hessian + limits.l2;
    double weight = curvature > 0.0 ? size / curvature : 0.0;
    bool is_given = limits.max_step > 0.0;
    if (is_given && weight > limits.max_step) weight = limits.max_step;
    const double best = curvature > 0.0 ? size * size / curvature : 0.0;
    double free = gradient > 0.0 ? -weight : weight;
    if (limits.smooth > 0.0) {
        free = smooth_value(free, n_rows, limits.smooth, limits.center);
        is_given = true;
    }
    double value = free < limits.lower ? limits.lower : free;
    value = value > limits.upper ? limits.upper : value;
    const bool is_bound = value != free;
    if (!is_bound && !is_given) return {value, best, false};
    return {value, score_of_value(gradient, hessian, limits.l1, limits.l2, value), is_bound};
}

// Value of a child from its integer totals, before the learning rate.
__device__ inline double child_value(const Limits& limits, const Sums& totals) {
    const double gradient = (double)totals.g * limits.unit_g;
    return judge_child(gradient, (double)totals.h * limits.unit_h, totals.n, limits).value;
}

// Score of a node from its integer totals.
__device__ inline double node_score(const Limits& limits, const Sums& totals) {
    const double gradient = (double)totals.g * limits.unit_g;
    const double hessian = (double)totals.h * limits.unit_h;
    if (limits.smooth > 0.0)
        return score_of_value(gradient, hessian, limits.l1, limits.l2, limits.center);
    return judge_child(gradient, hessian, totals.n, limits).score;
}

// Gains

// Gain of the split that sends `left` of the totals left, over a given score of the node; -inf if
// a child is too small or constraints do not allow the split.
__device__ inline double gain_over(
    double parent, const Limits& limits, const Sums& left, const Sums& totals) {
    const Sums right = totals - left;
    const double hessian_left = float_of(left.h) * limits.unit_h;
    const double hessian_right = float_of(right.h) * limits.unit_h;
    const bool enough = left.n >= limits.min_rows && right.n >= limits.min_rows &&
                        hessian_left >= limits.min_hessian && hessian_right >= limits.min_hessian;
    if (!enough) return -infinity();
    const double gradient_left = float_of(left.g) * limits.unit_g;
    const double gradient_right = float_of(right.g) * limits.unit_g;
    if (limits.is_plain) {
        const double score_left = best_score(gradient_left, hessian_left, limits.l1, limits.l2);
        const double score_right = best_score(gradient_right, hessian_right, limits.l1, limits.l2);
        return 0.5 * ((score_left + score_right) - parent);
    }
    const Judgment a = judge_child(gradient_left, hessian_left, left.n, limits);
    const Judgment b = judge_child(gradient_right, hessian_right, right.n, limits);
    if (limits.direction * a.value > limits.direction * b.value) return -infinity();
    // Two values at the same bound gain nothing, but rounding might say otherwise.
    if (a.is_bound && b.is_bound && a.value == b.value) return -infinity();
    return 0.5 * ((a.score + b.score) - parent);
}

// Gain of the split that sends `left` of `totals` left.
__device__ inline double split_gain(const Limits& limits, const Sums& left, const Sums& totals) {
    return gain_over(node_score(limits, totals), limits, left, totals);
}

// Add the gain of a node to that of its level; -inf adds nothing.
__device__ inline double add_gain(double gain, double total) {
    if (gain > -infinity()) return gain + (total > -infinity() ? total : 0.0);
    return total;
}

// Choosing

// An integer that is ordered as the gains are; what is not a number comes before all gains.
__device__ inline int64 order_of(double gain) {
    const int64 bits = bits_of(gain != gain ? -infinity() : gain);
    return bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF);
}

// Whether missing values go left if a node has none: with the larger child, left if both are equal.
__device__ inline bool follows_larger(int64 n_left, int64 n_rows) { return 2 * n_left >= n_rows; }
