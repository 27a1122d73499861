"""What kernels of losses are passed, and the program that they make up."""

from sumwise.cuda.runtime.program import Program
from sumwise.cuda.runtime.structs import make_header, structure

# Rows whose gradients and hessians are written.
GradientTask = structure(
    "GradientTask",
    """
    const void* target;
    const double* raw;  // [n_outputs][n_rows], as gradient and hessian are
    const double* weight;  // null if all are one
    double* gradient;
    double* hessian;
    int64 n_rows;
""",
)

# Rows whose mean loss is found.
ValueTask = structure(
    "ValueTask",
    """
    const void* target;
    const double* raw;  // [n_outputs][n_rows]
    const double* weight;  // null if all are one
    const uint32* rows;  // [n_chosen]
    double* losses;  // [n_chosen]
    uint64* peaks;  // of losses and of weights; zero at first
    uint64* sums;  // of both, zero at first
    double* mean;
    int64 n_rows;
    int64 n_chosen;
""",
)

LOSSES = Program(
    "losses",
    ("losses/pointwise.cu", "losses/multinomial.cu", "losses/mean.cu"),
    make_header(GradientTask, ValueTask),
)
