// Scoring by many blocks; see score.cuh.
#include "grow/score.cuh"

extern "C" __global__ void __launch_bounds__(1024) score_nodes(Job job, int64 group) {
    score_children(job, group);
}
