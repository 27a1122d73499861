"""Row sampling for the members of an ensemble: every member gets one weight per row.

A row with a sample weight of 2 should count like the same row twice. ``Bootstrap`` and
``PoissonBootstrap``, which draw with replacement, therefore draw rows in proportion to their
weights, and members see the counts only; scikit-learn's forests and bagging do the same since
version 1.7. Without replacement this is impossible, because a row is drawn at most once.
``Pasting`` and ``BayesianBootstrap`` draw without weights and multiply by them afterwards.
"""

from numbers import Real
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from sumwise.errors import ParameterError
from sumwise.kernels.runtime import random
from sumwise.kernels.sampling import bootstrap as resample
from sumwise.kernels.sampling.lowest_hashes import draw_lowest
from sumwise.parts import Part, check_rate


@runtime_checkable
class Resampler(Protocol):
    """Draws the row weights of members."""

    gives_counts: ClassVar[bool]
    leaves_rows_out: ClassVar[bool]

    def check(self) -> None:
        """Raise ParameterError if a parameter cannot be used."""

    def draw_member(
        self, seed: int, member: int, n_rows: int, sample_weight: np.ndarray | None = None
    ) -> np.ndarray:
        """Return one weight per row; rows of weight zero are out of bag."""


def accumulate_weights(sample_weight: np.ndarray | None) -> np.ndarray:
    """Return the cumulative weights that kernels draw rows by; empty without weights."""
    return np.empty(0) if sample_weight is None else np.cumsum(sample_weight, dtype=np.float64)


def list_drawn_rows(drawn: np.ndarray) -> np.ndarray:
    """Return the rows of a bag, ascending; rows are repeated by counts, but not by weights."""
    return (
        np.repeat(np.arange(drawn.size), drawn) if drawn.dtype.kind == "u" else drawn.nonzero()[0]
    )


class _Counting(Part):
    """Draws counts: how often each row is in the sample of a member."""

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
        """Return the (expected) number of drawn rows, at least one."""
        return max(1, round(self.rate * n_rows))

    def draw_member(
        self, seed: int, member: int, n_rows: int, sample_weight: np.ndarray | None = None
    ) -> np.ndarray:
        """Return how often each row is drawn."""
        counts = np.empty(n_rows, dtype=np.uint32)
        key = random.make_key(seed, random.MEMBER_ROWS, member)
        cumulative = accumulate_weights(sample_weight)
        resample.fill_counts(self.kind, key, self.count_draws(n_rows), cumulative, counts)
        return counts


class Bootstrap(_Counting):
    """Draw rows with replacement: each member misses about 37% of them.

    With sample weights, rows are drawn in proportion to them.

    Parameters
    ----------
    rate : float, default=1.0
        The number of drawn rows as a share of all rows; may exceed 1.

    Examples
    --------
    >>> from sumwise import Bootstrap
    >>> int(Bootstrap().draw_member(seed=0, member=0, n_rows=8).sum())
    8
    """

    kind = resample.BOOTSTRAP


class PoissonBootstrap(_Counting):
    """Draw the count of each row independently from a Poisson distribution.

    With many rows this is close to the bootstrap. Counts are independent, so that partitions of the
    data can be sampled separately. The total varies between members. With sample weights, the
    expected count of a row is proportional to its weight.

    Parameters
    ----------
    rate : float, default=1.0
        Expected count of a row; may exceed 1.

    Examples
    --------
    >>> from sumwise import PoissonBootstrap
    >>> float(PoissonBootstrap(rate=0.5).draw_member(seed=0, member=0, n_rows=1000).mean().round(1))
    0.5
    """

    kind = resample.POISSON


class Pasting(_Counting):
    """Draw rows without replacement.

    All rows are equally likely; the sample weights of drawn rows are passed to the members.

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

    def __init__(self, rate: float = 0.5) -> None:
        super().__init__(rate)

    def check(self) -> None:
        check_rate(self, "rate")

    def draw_member(
        self, seed: int, member: int, n_rows: int, sample_weight: np.ndarray | None = None
    ) -> np.ndarray:
        """Return 1, or the sample weight, for drawn rows, and 0 for others."""
        key = random.make_key(seed, random.MEMBER_ROWS, member)
        rows = np.arange(n_rows, dtype=np.uint32)
        counts = np.zeros(n_rows, dtype=np.uint32)
        counts[draw_lowest(key, rows, self.count_draws(n_rows)).rows] = 1
        return counts if sample_weight is None else counts * sample_weight
