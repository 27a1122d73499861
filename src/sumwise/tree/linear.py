"""LinearEnsemble: a linear model after each round of boosting."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sumwise.data.matrix import Matrix, read_chunks
from sumwise.data.sparse import SparseMatrix
from sumwise.errors import ParameterError
from sumwise.kernels.linear.dense import add_linear_scores
from sumwise.kernels.linear.sparse import add_stored_scores
from sumwise.kernels.runtime.threads import Team
from sumwise.losses.links import LINKS
from sumwise.tree.tree import make_writable


@dataclass(frozen=True)
class LinearEnsemble:
    """A linear model, with the interface of a :class:`TreeEnsemble` except for its trees.

    The raw score of a row is the base score plus the intercept plus the values times the
    coefficients, added in the order of the features. A missing value adds nothing.

    Attributes
    ----------
    coefficient : ndarray of shape (n_rounds, n_outputs, n_features)
        Coefficients after each round; the last ones are those of the model.
    intercept : ndarray of shape (n_rounds, n_outputs)
        Intercepts after each round.
    base_score : ndarray of shape (n_outputs,)
        Score before the first round.
    link : str
        Name of the function from scores to predictions.
    """

    coefficient: np.ndarray
    intercept: np.ndarray
    base_score: np.ndarray
    link: str

    def __repr__(self) -> str:
        outputs = f", {self.n_outputs} outputs" if self.n_outputs > 1 else ""
        return (
            f"<{type(self).__name__}: {self.n_rounds:,} rounds, "
            f"{self.n_features:,} features{outputs}, link {self.link!r}>"
        )

    @property
    def n_features(self) -> int:
        return int(self.coefficient.shape[2])

    @property
    def n_trees(self) -> int:
        return 0

    @property
    def n_outputs(self) -> int:
        return int(self.base_score.size)

    @property
    def n_rounds(self) -> int:
        return int(self.coefficient.shape[0])

    def truncate(self, n_rounds: int) -> "LinearEnsemble":
        """Return the model of the first rounds."""
        return self.take_rounds(0, n_rounds)

    def take_rounds(self, first: int, last: int) -> "LinearEnsemble":
        """Return the model of the changes in the rounds from ``first`` up to ``last``."""
        coefficient, intercept = self.coefficient[first:last], self.intercept[first:last]
        if first:
            coefficient = coefficient - self.coefficient[first - 1]
            intercept = intercept - self.intercept[first - 1]
        return replace(self, coefficient=coefficient, intercept=intercept)

    def predict_raw(self, X: Matrix, team: Team, is_last: bool = False) -> np.ndarray:
        """Return raw scores, (n_rows, n_outputs); ``is_last`` makes no difference."""
        raw = self._start_scores(X)
        self._add_scores(X, self.n_rounds - 1, raw, team)
        return raw

    def staged_predict_raw(self, X: Matrix, team: Team) -> Iterator[np.ndarray]:
        """Yield raw scores after each round; each array is new."""
        raw = self._start_scores(X)
        for _ in self.add_stages(X, raw, team):
            yield raw.copy()

    def add_stages(self, X: Matrix, raw: np.ndarray, team: Team) -> Iterator[None]:
        """Set ``raw`` (n_rows, n_outputs), the scores to start from, to those after each round."""
        start = raw.copy()
        for round_idx in range(self.n_rounds):
            raw[:] = start
            self._add_scores(X, round_idx, raw, team)
            yield

    def _add_scores(self, X: Matrix, round_idx: int, raw: np.ndarray, team: Team) -> None:
        add_scores(X, self.intercept[round_idx], self.coefficient[round_idx], raw, team)

    def predict_mean(self, raw: np.ndarray) -> np.ndarray:
        """Return predictions (n_rows,) or class probabilities (n_rows, n_classes)."""
        return LINKS[self.link](raw)

    def apply(self, X: Matrix, team: Team) -> np.ndarray:
        """Raise an error: there are no leaves."""
        raise ParameterError("a model with booster='linear' has no trees, and so no leaves")

    def _start_scores(self, X: Matrix) -> np.ndarray:
        raw = np.empty((X.shape[0], self.n_outputs))
        raw[:] = self.base_score
        return raw


def add_scores(
    X: Matrix, intercept: np.ndarray, coefficient: np.ndarray, raw: np.ndarray, team: Team
) -> None:
    """Add the scores of a linear model to ``raw`` (n_rows, n_outputs)."""
    raw += intercept
    own = make_writable(coefficient)
    if isinstance(X, SparseMatrix):
        team.run(add_stored_scores, X.by_row, own, raw)
        return
    for first, part in read_chunks(X):
        team.run(add_linear_scores, part, own, raw[first : first + part.n_rows])
