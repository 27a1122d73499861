"""Rounds: the trees so far, and what was measured after each round."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sumwise.data.matrix import Matrix
from sumwise.kernels.threads import Team
from sumwise.tree import Tree, TreeEnsemble


@dataclass(frozen=True)
class BoostingResult:
    """The rounds that are kept, and how the scores went over all rounds."""

    ensemble: TreeEnsemble
    history: dict[str, np.ndarray]


@dataclass(frozen=True)
class Past:
    """Rounds that a fit starts from.

    Attributes
    ----------
    ensemble : TreeEnsemble
        Their trees.
    history : mapping of str to ndarray
        What was measured when they were trained.
    matrices : sequence of ndarray or ColumnMatrix
        The rows of the table as they were before binning, in one or more matrices: old trees know
        thresholds, not the bins of this fit.
    """

    ensemble: TreeEnsemble
    history: Mapping[str, np.ndarray]
    matrices: Sequence[Matrix]

    def add_rounds(self, raw: np.ndarray, team: Team) -> Iterator[int]:
        """Add one round after the other to raw scores (n_outputs, n_rows); yield its number.

        Values are added in the order of the trees, as in training: so are the bits.
        """
        scores = np.ascontiguousarray(raw.T)
        ends = np.cumsum([X.shape[0] for X in self.matrices])
        parts = np.split(scores, ends[:-1])
        stages = [
            self.ensemble.add_stages(X, part, team)
            for X, part in zip(self.matrices, parts, strict=True)
        ]
        for round_number, _ in enumerate(zip(*stages, strict=True), start=1):
            raw[:] = scores.T
            yield round_number


class Rounds:
    """Grows by a tree at a time, and by what is measured after each round.

    Parameters
    ----------
    base_score : ndarray of shape (n_outputs,)
    link : str
    n_features : int
    past : TreeEnsemble or None
        Rounds to start from.
    """

    def __init__(
        self, base_score: np.ndarray, link: str, n_features: int, past: TreeEnsemble | None = None
    ) -> None:
        self._base_score = base_score
        self._link = link
        self._n_features = n_features
        self._past = past
        self._n_past = 0 if past is None else past.n_trees
        self._trees: list[Tree] = []
        self._scores: dict[str, list[float]] = {}

    @property
    def n_trees(self) -> int:
        return self._n_past + len(self._trees)

    @property
    def n_rounds(self) -> int:
        return self.n_trees // self._base_score.size

    def add(self, tree: Tree) -> None:
        """Add the next tree; the trees of a round come in the order of the outputs."""
        self._trees.append(tree)

    def record(self, scores: Mapping[str, float]) -> None:
        """Keep what was measured after a round."""
        for name, value in scores.items():
            self._scores.setdefault(name, []).append(value)

    def scores(self, name: str) -> list[float]:
        """What was measured under a name, a value a round."""
        return self._scores[name]

    def make_history(self, n_rounds: int | None = None) -> dict[str, np.ndarray]:
        """What was measured in the first rounds, or in all."""
        return {name: np.array(values[:n_rounds]) for name, values in self._scores.items()}

    def make_ensemble(self, n_rounds: int) -> TreeEnsemble:
        """The ensemble of the first rounds."""
        n_outputs = self._base_score.size
        trees = self._trees[: max(0, n_rounds * n_outputs - self._n_past)]
        if self._past is not None and not trees:
            return self._past.truncate(n_rounds)
        outputs = np.arange(len(trees)) % n_outputs
        new = TreeEnsemble.from_trees(
            trees, outputs.tolist(), self._base_score, self._link, self._n_features
        )
        return new if self._past is None else self._past.append(new)
