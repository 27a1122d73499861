"""How the rows of an ensemble's members are drawn: each member gets a weight for every row.

Where rows have sample weights, a row of weight 2 should be as good as the row twice. Drawing with
replacement (``Bootstrap``, ``PoissonBootstrap``) therefore draws rows in proportion to their
weights, and the counts are all that members see; so do scikit-learn's forests and bagging from
version 1.7 on. Drawing without replacement cannot: a row is taken at most once. ``Pasting`` and
``BayesianBootstrap`` draw as if rows weighed the same and then multiply by the weights.
"""

from numbers import Real
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from sumwise.errors import ParameterError
from sumwise.kernels.runtime import random
from sumwise.kernels.sampling import bootstrap as resample
from sumwise.parts import Part, check_rate


@runtime_checkable
class Resampler(Protocol):
    """Draws the row weights of members."""

    gives_counts: bool
    leaves_rows_out: bool

    def check(self) -> None:
        """Raise ParameterError if a parameter cannot be used."""

    def draw_member(
        self, seed: int, member: int, n_rows: int, sample_weight: np.ndarray | None = None
    ) -> np.ndarray:
        """Return a weight for every row; rows of weight zero are out of the member's bag."""


def accumulate_weights(sample_weight: np.ndarray | None) -> np.ndarray:
    """Return what kernels draw rows by: running sums of weights, nothing where there are none."""
    return np.empty(0) if sample_weight is None else np.cumsum(sample_weight, dtype=np.float64)


def list_drawn_rows(drawn: np.ndarray) -> np.ndarray:
    """Return the rows of a bag, ascending; counts repeat them, weights do not."""
    return (
        np.repeat(np.arange(drawn.size), drawn) if drawn.dtype.kind == "u" else drawn.nonzero()[0]
    )


class _Counting(Part):
    """Draws counts: how often a member sees each row."""

    kind: ClassVar[np.int64]
    gives_counts: ClassVar[bool] = True
    leaves_rows_out: ClassVar[bool] = True

    def __init__(self, rate: float = 1.0) -> None:
        self.rate = rate

    def check(self) -> None:
        if isinstance(self.rate, bool) or not isinstance(self.rate, Real) or not self.rate > 0:
            raise ParameterError(
                f"{type(self).__name__}(rate={self.rate!r}): must be a positive number"
            )

    def count_draws(self, n_rows: int) -> int:
        """Return how many rows are drawn, or drawn in the mean: at least one."""
        return max(1, round(self.rate * n_rows))

    def draw_member(
        self, seed: int, member: int, n_rows: int, sample_weight: np.ndarray | None = None
    ) -> np.ndarray:
        """Return how often a member sees each row."""
        counts = np.empty(n_rows, dtype=np.uint32)
        key = random.make_key(seed, random.MEMBER_ROWS, member)
        cumulative = accumulate_weights(sample_weight)
        resample.fill_counts(self.kind, key, self.count_draws(n_rows), cumulative, counts)
        return counts


class Bootstrap(_Counting):
    """Draw rows with replacement: each member misses about 37% of them.

    Rows with sample weights are drawn in proportion to these.

    Parameters
    ----------
    rate : float, default=1.0
        How many rows are drawn, as a share of the rows there are; may exceed 1.

    Examples
    --------
    >>> from sumwise import Bootstrap
    >>> int(Bootstrap().draw_member(seed=0, member=0, n_rows=8).sum())
    8
    """

    kind = resample.BOOTSTRAP


class PoissonBootstrap(_Counting):
    """Draw each row's count on its own from a Poisson distribution.

    Nearly the bootstrap for many rows. No row's count depends on another's, so that parts of the
    data can be drawn apart. The total differs from member to member. The mean of a row with a
    sample weight is in proportion to it.

    Parameters
    ----------
    rate : float, default=1.0
        Mean count of a row; may exceed 1.

    Examples
    --------
    >>> from sumwise import PoissonBootstrap
    >>> float(PoissonBootstrap(rate=0.5).draw_member(seed=0, member=0, n_rows=1000).mean().round(1))
    0.5
    """

    kind = resample.POISSON


class Pasting(_Counting):
    """Draw rows without replacement.

    Rows are drawn as if they weighed the same; their sample weights then count in the members.

    Parameters
    ----------
    rate : float, default=0.5
        Share of the rows, in (0, 1].

    Examples
    --------
    >>> from sumwise import Pasting
    >>> int(Pasting(rate=0.25).draw_member(seed=0, member=0, n_rows=8).sum())
    2
    """

    kind = resample.PASTING

    def __init__(self, rate: float = 0.5) -> None:
        super().__init__(rate)

    def check(self) -> None:
        check_rate(self, "rate")

    def draw_member(
        self, seed: int, member: int, n_rows: int, sample_weight: np.ndarray | None = None
    ) -> np.ndarray:
        """Return 1 for rows that are drawn, or their sample weight; and 0 for others."""
        counts = super().draw_member(seed, member, n_rows)
        return counts if sample_weight is None else counts * sample_weight
