"""The leaderboard: what was tried, how well it predicts unseen rows, and what it is worth."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from sumwise.lazy import late_function

ENSEMBLE = "ensemble"
CHOSEN, NOT_CHOSEN = "chosen", "not chosen"


class LeaderboardEntry(NamedTuple):
    """What is known of a member, or of the ensemble.

    Attributes
    ----------
    name : str
        Of the member; "ensemble" for the ensemble.
    score : float
        The metric on rows that the models had not seen; NaN if it was not finished. That of the
        ensemble comes from weights that were learned from other rows.
    std_error : float
        Its standard error over rows.
    weight : float
        Share in the ensemble.
    seconds : float
        Time of training, over all folds.
    n_folds : int
        Finished fits.
    n_rounds : float
        Mean number of rounds of boosting, or of trees; 0 for other models.
    status : str
        "chosen", "not chosen", or why it was not finished.
    """

    name: str
    score: float
    std_error: float
    weight: float
    seconds: float
    n_folds: int
    n_rounds: float
    status: str


class Leaderboard(Sequence[LeaderboardEntry]):
    """All members that were tried, the best first, after the ensemble.

    It is a sequence of :class:`LeaderboardEntry`; ``to_frame`` makes a frame of pandas of it.

    Parameters
    ----------
    entries : sequence of LeaderboardEntry
    metric : str
        The name of the score.
    greater_is_better : bool
    """

    def __init__(
        self, entries: Sequence[LeaderboardEntry], metric: str, greater_is_better: bool
    ) -> None:
        self.metric, self.greater_is_better = metric, greater_is_better
        sign = -1.0 if greater_is_better else 1.0

        def rank(entry: LeaderboardEntry) -> tuple[bool, float]:
            known = not np.isnan(entry.score)
            return entry.name != ENSEMBLE, sign * entry.score if known else np.inf

        self.entries = tuple(sorted(entries, key=rank))

    def __len__(self) -> int:
        return len(self.entries)

    @overload
    def __getitem__(self, place: int) -> LeaderboardEntry: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[LeaderboardEntry]: ...
    def __getitem__(self, place: Any) -> Any:
        return self.entries[place]

    def __iter__(self) -> Iterator[LeaderboardEntry]:
        return iter(self.entries)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return columns by name."""
        columns = zip(*self.entries, strict=True)
        return dict(zip(LeaderboardEntry._fields, map(list, columns), strict=True))

    def to_frame(self) -> Any:
        """Return a frame of pandas."""
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ImportError:
            raise ImportError("to_frame needs pandas; to_dict has the same columns") from None

        return pd.DataFrame(self.to_dict())

    _repr_html_ = late_function("sumwise.report.notebook", "show_leaderboard")

    def __repr__(self) -> str:
        """Return an aligned table."""
        header = ["", self.metric, "std error", "weight", "seconds", "folds", "status"]
        lines = [header, *map(_format, self.entries)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if place in (0, len(header) - 1) else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )


def _format(entry: LeaderboardEntry) -> list[str]:
    score, error = (
        "" if np.isnan(value) else f"{value:{form}}"
        for value, form in ((entry.score, ".6g"), (entry.std_error, ".2g"))
    )
    weight = f"{entry.weight:.3f}" if entry.weight else ""
    return [
        entry.name,
        score,
        error,
        weight,
        f"{entry.seconds:.1f}",
        str(entry.n_folds),
        "" if entry.name == ENSEMBLE else entry.status,
    ]
