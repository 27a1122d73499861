"""Gradient-based one-side sampling: all rows with large gradients, and some of the others."""

import numpy as np

from sumwise.errors import ParameterError
from sumwise.kernels.runtime import random
from sumwise.kernels.sampling.by_gradient import N_DIGIT_VALUES, choose_by_gradient
from sumwise.kernels.sampling.peer_by_gradient import choose_by_gradient_among
from sumwise.parts import check_number, check_rate
from sumwise.peers import Shards
from sumwise.sampling.peer_draws import count_candidates, find_runs, keep_keys
from sumwise.sampling.rows import DrawnRows, RowSampler, RowSource


class Goss(RowSampler):
    """Keep the rows with the largest gradients, and draw some of the others at random.

    The ``top_rate * n`` rows with the largest absolute gradients (summed over classes) are kept;
    ties go to earlier rows. From the others, ``other_rate * n`` rows are drawn at random, and their
    gradients and hessians are multiplied by ``(1 - top_rate) / other_rate``, so that sums are
    unbiased. This is algorithm 2 of the LightGBM paper, applied to all rows at once.

    Parameters
    ----------
    top_rate : float, default=0.2
        Share of the rows that are kept, in [0, 1).
    other_rate : float, default=0.1
        Share of the rows that are drawn from the others, in (0, 1]. The sum of both shares is at
        most 1.

    Examples
    --------
    >>> from sumwise import GradientBoostingClassifier, Goss
    >>> GradientBoostingClassifier(sampler=Goss(top_rate=0.3)).sampler
    Goss(top_rate=0.3)
    """

    has_factors = True
    works_among_peers = True

    def __init__(self, top_rate: float = 0.2, other_rate: float = 0.1) -> None:
        self.top_rate = top_rate
        self.other_rate = other_rate

    def check(self) -> None:
        check_number(self, "top_rate", 0.0, 1.0)
        check_rate(self, "other_rate")
        if self.top_rate + self.other_rate > 1:
            raise ParameterError(
                f"Goss(top_rate={self.top_rate}, other_rate={self.other_rate}): together they "
                "must be at most 1"
            )

    def count_drawn(self, n_rows: int) -> tuple[int, int]:
        """Return how many of some rows are kept for their gradients, and drawn of the others."""
        n_top = min(round(self.top_rate * n_rows), n_rows - 1)
        return n_top, min(max(1, round(self.other_rate * n_rows)), n_rows - n_top)

    @property
    def amplify(self) -> float:
        """The factor of rows drawn from the others."""
        return float((1 - self.top_rate) / self.other_rate)

    def draw(self, source: RowSource) -> DrawnRows:
        if source.shards is not None:
            return self._draw_among(source, source.shards)
        n, n_threads = source.rows.size, source.team.n_threads
        n_top, n_other = self.count_drawn(n)
        n_chosen = n_top + n_other
        if "goss" not in source.buffers:
            rows, left_out = (np.empty(size, dtype=np.uint32) for size in (n_chosen, n - n_chosen))
            keys, spare_keys = (np.empty(n, dtype=np.uint64) for _ in range(2))
            counters = np.empty((n_threads, N_DIGIT_VALUES), dtype=np.int64)
            out = (rows, np.empty(n_chosen), left_out)
            source.buffers["goss"] = (keys, spare_keys, counters), out
        scratch, out = source.buffers["goss"]
        source.team.run(
            choose_by_gradient,
            source.gradient,
            source.rows,
            n_top,
            n_other,
            self.amplify,
            random.make_key(source.seed, random.ROWS, source.number),
            scratch,
            out,
        )
        return DrawnRows(*out)

    def _draw_among(self, source: RowSource, shards: Shards) -> DrawnRows:
        """Return this process's rows of the draw that one process with all rows would make."""
        found = choose_by_gradient_among(
            source.gradient,
            source.rows,
            *self.count_drawn(count_candidates(source, shards)),
            self.amplify,
            random.make_key(source.seed, random.ROWS, source.number),
            find_runs(source, shards),
            keep_keys(source),
            shards,
            source.team,
        )
        return DrawnRows(*found)
