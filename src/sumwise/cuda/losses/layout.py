"""What kernels of losses are passed."""

from typing import NamedTuple

from sumwise.cuda.runtime.device import Program
from sumwise.cuda.runtime.structs import make_header


class GradientTask(NamedTuple):
    """Rows whose gradients and hessians are written.

    Scores, gradients and hessians have shape (n_outputs, n_rows). ``weight`` is 0 if all are one.
    """

    target: "const void*"  # type: ignore[valid-type]  # noqa: F722
    raw: "const double*"  # type: ignore[valid-type]  # noqa: F722
    weight: "const double*"  # type: ignore[valid-type]  # noqa: F722
    gradient: "double*"  # type: ignore[valid-type]  # noqa: F722
    hessian: "double*"  # type: ignore[valid-type]  # noqa: F722
    n_rows: "int64"  # type: ignore[name-defined]  # noqa: F821


class ValueTask(NamedTuple):
    """Rows whose mean loss is found.

    ``n_rows`` is the length of a row of scores; ``n_chosen`` that of ``rows`` and ``losses``.
    ``peaks`` and ``sums`` are those of losses and of weights, zero at first.
    """

    target: "const void*"  # type: ignore[valid-type]  # noqa: F722
    raw: "const double*"  # type: ignore[valid-type]  # noqa: F722
    weight: "const double*"  # type: ignore[valid-type]  # noqa: F722
    rows: "const uint32*"  # type: ignore[valid-type]  # noqa: F722
    losses: "double*"  # type: ignore[valid-type]  # noqa: F722
    peaks: "uint64*"  # type: ignore[valid-type]  # noqa: F722
    sums: "uint64*"  # type: ignore[valid-type]  # noqa: F722
    mean: "double*"  # type: ignore[valid-type]  # noqa: F722
    n_rows: "int64"  # type: ignore[name-defined]  # noqa: F821
    n_chosen: "int64"  # type: ignore[name-defined]  # noqa: F821
