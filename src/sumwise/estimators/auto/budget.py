"""Budget: how much of the time is left, and whether another member fits into it."""

import math
import statistics
from collections.abc import Callable

# Share of the time limit that is left for combining the members.
_FOR_COMBINING = 0.05
# The first member is always trained; it may use this share of the time that is left.
_FOR_FIRST = 0.6

# Returns seconds; only differences count.
Clock = Callable[[], float]


class Budget:
    """The time of a fit, by a clock that is given.

    Parameters
    ----------
    limit : float or None
        Seconds; None for no limit.
    clock : callable
        Returns seconds since any moment.

    Attributes
    ----------
    reserved : float
        Seconds that must be left after the search, for refitting members.

    Examples
    --------
    >>> from sumwise.estimators.auto.budget import Budget
    >>> times = iter([0.0, 30.0, 30.0])
    >>> budget = Budget(60.0, lambda: next(times))
    >>> budget.elapsed
    30.0
    >>> budget.remaining  # a twentieth is for combining
    27.0
    """

    def __init__(self, limit: float | None, clock: Clock) -> None:
        self.limit = math.inf if limit is None else float(limit)
        self.clock = clock
        self.reserved = 0.0
        self._start = clock()
        self._seconds: dict[str, list[float]] = {}

    @property
    def is_limited(self) -> bool:
        return self.limit < math.inf

    @property
    def elapsed(self) -> float:
        """Seconds since the fit began."""
        return self.clock() - self._start

    @property
    def remaining(self) -> float:
        """Seconds left for training members."""
        return max(0.0, (1.0 - _FOR_COMBINING) * self.limit - self.reserved - self.elapsed)

    @property
    def is_over(self) -> bool:
        """Whether the whole time is spent."""
        return self.elapsed >= self.limit

    def share_out(self, n_waves: int, is_first: bool = False) -> float:
        """Return the seconds that each of several equal steps may take."""
        return self.remaining * (_FOR_FIRST if is_first else 1.0) / max(1, n_waves)

    def learn(self, family: str, seconds: float) -> None:
        """Remember how long a step of a member has taken."""
        self._seconds.setdefault(family, []).append(seconds)

    def allows(self, family: str, n_waves: int, measured: float | None = None) -> bool:
        """Whether so many steps of a member would probably end in time.

        ``measured`` are the seconds of its last step; without them, the median of its family
        counts. The first of a family may always try.
        """
        known = self._seconds.get(family, [0.0])
        expected = statistics.median(known) if measured is None else measured
        return self.remaining > 0.0 and n_waves * expected <= self.remaining
