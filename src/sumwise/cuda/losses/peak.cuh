// The largest magnitudes of losses and of weights: the scales of their exact sums follow from them.
#pragma once
#include "layout.cuh"
#include "runtime/elementary.cuh"
#include "runtime/grid.cuh"

struct Peak {
    uint64 loss = 0, weight = 0;  // bits without the sign: they are ordered as the magnitudes are

    __device__ void see(double own_loss, double own_weight) {
        const uint64 bits = (uint64)bits_of(absolute(own_loss));
        const uint64 weight_bits = (uint64)bits_of(absolute(own_weight));
        loss = bits > loss ? bits : loss;
        weight = weight_bits > weight ? weight_bits : weight;
    }

    // All threads: merge the peaks of the launch.
    __device__ void tell(const ValueTask& task) const {
        const uint64 highest_loss = highest_lane(loss), highest_weight = highest_lane(weight);
        if (is_first_lane()) {
            atomicMax(task.peaks, highest_loss);
            atomicMax(task.peaks + 1, highest_weight);
        }
    }
};
