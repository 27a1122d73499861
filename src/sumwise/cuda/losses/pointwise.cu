// Losses of one score per row: gradients, hessians and values, as in kernels/losses/pointwise.py.
#include "layout.cuh"
#include "losses/influence.cuh"
#include "losses/peak.cuh"
#include "runtime/grid.cuh"

struct Derivatives {
    double gradient, hessian;
};

// A loss has derive(y, f), measure(y, f) and its parameters. Labels are bytes, other targets
// float64.
struct OfLabels {
    typedef uint8 Target;
};
struct OfNumbers {
    typedef double Target;
};

template <class Loss>
__device__ void fill(const GradientTask& task, const Loss& loss) {
    const typename Loss::Target* target = (const typename Loss::Target*)task.target;
    const double *raw = task.raw, *weight = task.weight;
    for (int64 i = first_item(); i < task.n_rows; i += item_step()) {
        Derivatives found = loss.derive((double)target[i], raw[i]);
        if (weight) {
            found.gradient *= weight[i];
            found.hessian *= weight[i];
        }
        task.gradient[i] = found.gradient;
        task.hessian[i] = found.hessian;
    }
}

template <class Loss>
__device__ void write(const ValueTask& task, const Loss& loss) {
    const typename Loss::Target* target = (const typename Loss::Target*)task.target;
    Peak peak;
    for (int64 i = first_item(); i < task.n_chosen; i += item_step()) {
        const int64 row = task.rows[i];
        const double weight = task.weight ? task.weight[row] : 1.0;
        const double value = weight * loss.measure((double)target[row], task.raw[row]);
        task.losses[i] = value;
        peak.see(value, weight);
    }
    peak.tell(task);
}

// Two classes: y is 0 or 1.

struct Logistic : OfLabels {
    __device__ Derivatives derive(double y, double f) const {
        const double margin = y > 0.5 ? f : -f;
        const double e = exp_of(-absolute(margin));
        const double larger = 1.0 / (1.0 + e);
        const double smaller = e * larger;
        const double miss = margin < 0.0 ? larger : smaller;
        return {y > 0.5 ? -miss : miss, larger * smaller};
    }
    __device__ double measure(double y, double f) const { return log1p_exp(y > 0.5 ? -f : f); }
};

struct Exponential : OfLabels {
    __device__ Derivatives derive(double y, double f) const {
        const double e = exp_of(y > 0.5 ? -f : f);
        return {y > 0.5 ? -e : e, e};
    }
    __device__ double measure(double y, double f) const { return exp_of(y > 0.5 ? -f : f); }
};

extern "C" __global__ void logistic_gradient(GradientTask task) { fill(task, Logistic()); }
extern "C" __global__ void logistic_value(ValueTask task) { write(task, Logistic()); }
extern "C" __global__ void exponential_gradient(GradientTask task) { fill(task, Exponential()); }
extern "C" __global__ void exponential_value(ValueTask task) { write(task, Exponential()); }

// Probabilities

struct CrossEntropy : OfNumbers {
    __device__ Derivatives derive(double y, double f) const {
        const double e = exp_of(-absolute(f));
        const double larger = 1.0 / (1.0 + e);
        const double smaller = e * larger;
        const double p = f >= 0.0 ? larger : smaller;
        const double q = f >= 0.0 ? smaller : larger;
        return {(1.0 - y) * p - y * q, larger * smaller};
    }
    __device__ double measure(double y, double f) const {
        return y * log1p_exp(-f) + (1.0 - y) * log1p_exp(f);
    }
};

extern "C" __global__ void cross_entropy_gradient(GradientTask task) { fill(task, CrossEntropy()); }
extern "C" __global__ void cross_entropy_value(ValueTask task) { write(task, CrossEntropy()); }

// Errors f - y, with a hessian of 1

struct Squared : OfNumbers {
    __device__ Derivatives derive(double y, double f) const { return {f - y, 1.0}; }
    __device__ double measure(double y, double f) const { return 0.5 * (f - y) * (f - y); }
};

struct Quantile : OfNumbers {
    double level, size;
    __device__ Quantile(double level, double size) : level(level), size(size) {}
    __device__ Derivatives derive(double y, double f) const {
        const double above = size * (1.0 - level), below = size * -level;
        return {f > y ? above : (f < y ? below : 0.0), 1.0};
    }
    __device__ double measure(double y, double f) const {
        const double error = y - f;
        return size * (error >= 0.0 ? level * error : (level - 1.0) * error);
    }
};

struct Huber : OfNumbers {
    double delta;
    __device__ Huber(double delta) : delta(delta) {}
    __device__ Derivatives derive(double y, double f) const { return {clip(f - y, delta), 1.0}; }
    __device__ double measure(double y, double f) const {
        const double error = absolute(f - y);
        return error <= delta ? 0.5 * error * error : delta * (error - 0.5 * delta);
    }
};

struct Percentage : OfNumbers {
    __device__ Derivatives derive(double y, double f) const {
        const double part = 1.0 / larger_of(1.0, absolute(y));
        return {f > y ? part : (f < y ? -part : 0.0), 1.0};
    }
    __device__ double measure(double y, double f) const {
        return absolute(f - y) / larger_of(1.0, absolute(y));
    }
};

struct Fair : OfNumbers {
    double c;
    __device__ Fair(double c) : c(c) {}
    __device__ Derivatives derive(double y, double f) const { return {fair_of(f - y, c), 1.0}; }
    __device__ double measure(double y, double f) const {
        const double ratio = absolute(f - y) / c;
        return c * c * (ratio - log_of(1.0 + ratio));
    }
};

struct LogCosh : OfNumbers {
    __device__ Derivatives derive(double y, double f) const { return {tanh_of(f - y), 1.0}; }
    __device__ double measure(double y, double f) const {
        const double error = absolute(f - y);
        return error + log1p_exp(-2.0 * error) - 0.6931471805599453;
    }
};

struct SquaredLog : OfNumbers {
    __device__ Derivatives derive(double y, double f) const { return {f - log_of(1.0 + y), 1.0}; }
    __device__ double measure(double y, double f) const {
        const double error = f - log_of(1.0 + y);
        return 0.5 * error * error;
    }
};

extern "C" __global__ void squared_gradient(GradientTask task) { fill(task, Squared()); }
extern "C" __global__ void squared_value(ValueTask task) { write(task, Squared()); }
extern "C" __global__ void quantile_gradient(GradientTask task, double level, double size) {
    fill(task, Quantile(level, size));
}
extern "C" __global__ void quantile_value(ValueTask task, double level, double size) {
    write(task, Quantile(level, size));
}
extern "C" __global__ void huber_gradient(GradientTask task, double delta) {
    fill(task, Huber(delta));
}
extern "C" __global__ void huber_value(ValueTask task, double delta) { write(task, Huber(delta)); }
extern "C" __global__ void percentage_gradient(GradientTask task) { fill(task, Percentage()); }
extern "C" __global__ void percentage_value(ValueTask task) { write(task, Percentage()); }
extern "C" __global__ void fair_gradient(GradientTask task, double c) { fill(task, Fair(c)); }
extern "C" __global__ void fair_value(ValueTask task, double c) { write(task, Fair(c)); }
extern "C" __global__ void log_cosh_gradient(GradientTask task) { fill(task, LogCosh()); }
extern "C" __global__ void log_cosh_value(ValueTask task) { write(task, LogCosh()); }
extern "C" __global__ void squared_log_gradient(GradientTask task) { fill(task, SquaredLog()); }
extern "C" __global__ void squared_log_value(ValueTask task) { write(task, SquaredLog()); }

// Positive means e^f

struct Poisson : OfNumbers {
    __device__ Derivatives derive(double y, double f) const {
        const double mean = exp_of(f);
        return {mean - y, mean};
    }
    __device__ double measure(double y, double f) const { return exp_of(f) - y * f; }
};

struct Gamma : OfNumbers {
    __device__ Derivatives derive(double y, double f) const {
        const double ratio = y * exp_of(-f);
        return {1.0 - ratio, ratio};
    }
    __device__ double measure(double y, double f) const { return f + y * exp_of(-f); }
};

struct Tweedie : OfNumbers {
    double one, two;
    __device__ Tweedie(double power) : one(1.0 - power), two(2.0 - power) {}
    __device__ Derivatives derive(double y, double f) const {
        const double left = y * exp_of(one * f), right = exp_of(two * f);
        return {right - left, two * right - one * left};
    }
    __device__ double measure(double y, double f) const {
        return exp_of(two * f) / two - y * exp_of(one * f) / one;
    }
};

extern "C" __global__ void poisson_gradient(GradientTask task) { fill(task, Poisson()); }
extern "C" __global__ void poisson_value(ValueTask task) { write(task, Poisson()); }
extern "C" __global__ void gamma_gradient(GradientTask task) { fill(task, Gamma()); }
extern "C" __global__ void gamma_value(ValueTask task) { write(task, Gamma()); }
extern "C" __global__ void tweedie_gradient(GradientTask task, double power) {
    fill(task, Tweedie(power));
}
extern "C" __global__ void tweedie_value(ValueTask task, double power) {
    write(task, Tweedie(power));
}
