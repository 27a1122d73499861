"""Rounds: the trees so far, and what was measured after each round."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sumwise.data.matrix import Matrix
from sumwise.kernels.runtime.threads import Team
from sumwise.tree import Ensemble, Tree, TreeEnsemble
from sumwise.tree.pending_tree import PendingTree, finish_tree


@dataclass(frozen=True)
class BoostingResult:
    """The rounds that a fit keeps, and the scores measured after each round."""

    ensemble: Ensemble
    history: dict[str, np.ndarray]


def replay_rounds(
    ensemble: Ensemble, matrices: Sequence[Matrix], raw: np.ndarray, team: Team
) -> Iterator[int]:
    """Add an ensemble to raw scores (n_outputs, n_rows) round by round; yield the round numbers.

    ``matrices`` hold the rows before binning, because old trees have thresholds, not the bins of
    this fit. Values are added in the order of the trees, as in training, so the bits are the same.
    """
    scores = np.ascontiguousarray(raw.T)
    ends = np.cumsum([X.shape[0] for X in matrices])
    own_scores = np.split(scores, ends[:-1])
    stages = [
        ensemble.add_stages(X, own, team) for X, own in zip(matrices, own_scores, strict=True)
    ]
    for round_number, _ in enumerate(zip(*stages, strict=True), start=1):
        raw[:] = scores.T
        yield round_number


class Record(ABC):
    """The scores measured after each round, and the model of the first rounds.

    Attributes
    ----------
    n_recorded : int
        Number of rounds that are complete: all their trees are grown, and their scores measured.
    """

    def __init__(self) -> None:
        self._scores: dict[str, list[float]] = {}
        self.n_recorded = 0

    @property
    @abstractmethod
    def n_rounds(self) -> int:
        """Number of rounds so far."""

    @abstractmethod
    def make_ensemble(self, n_rounds: int) -> Ensemble:
        """Return the model as it was after ``n_rounds`` rounds."""

    def record(self, scores: Mapping[str, float]) -> None:
        """Record the scores measured after a round, which ends it."""
        self.n_recorded += 1
        for name, value in scores.items():
            self._scores.setdefault(name, []).append(value)

    def scores(self, name: str) -> list[float]:
        """Return the values recorded under a name, one per round."""
        return self._scores[name]

    def make_history(self, n_rounds: int | None = None) -> dict[str, np.ndarray]:
        """Return the scores of the first rounds, or of all."""
        return {name: np.array(values[:n_rounds]) for name, values in self._scores.items()}


class Rounds(Record):
    """Rounds of trees, added one tree at a time.

    Every change of scale is recorded, so the model of any earlier round can be made again.

    Parameters
    ----------
    base_score : ndarray of shape (n_outputs,)
    link : str
    n_features : int
    past : TreeEnsemble or None
        Rounds to start from.
    trees_per_round : int
        Trees per round and output.
    stages : {"sum", "mean", "rescaled"}
        As in :class:`TreeEnsemble`. The trees of a mean are added unscaled.
    """

    def __init__(
        self,
        base_score: np.ndarray,
        link: str,
        n_features: int,
        past: TreeEnsemble | None = None,
        trees_per_round: int = 1,
        stages: str = "sum",
    ) -> None:
        super().__init__()
        self._base_score = base_score
        self._link = link
        self._n_features = n_features
        self._past = past
        self._n_past = 0 if past is None else past.n_trees
        self._trees_per_round = trees_per_round
        self._stages = stages
        self._trees: list[Tree | PendingTree] = []
        # (number of trees at that time, tree, factor), in order of time; and the current values.
        self._rescaled: list[tuple[int, int, float]] = []
        self._values: dict[int, np.ndarray] = {}

    @property
    def n_trees(self) -> int:
        return self._n_past + len(self._trees)

    @property
    def n_rounds(self) -> int:
        return self.n_trees // self._trees_a_round

    @property
    def _trees_a_round(self) -> int:
        return self._base_score.size * self._trees_per_round

    def add(self, tree: Tree | PendingTree) -> None:
        """Add the next tree; the trees of a round come in the order of the outputs.

        A tree that is still on a device is waited for when it is needed.
        """
        self._trees.append(tree)

    def rescale(self, tree_idx: int, factor: float) -> None:
        """Multiply the values of a tree, from the current round on.

        Models of fewer rounds keep the old values.
        """
        self._rescaled.append((len(self._trees), tree_idx, factor))
        self._values[tree_idx] = self.get_tree(tree_idx).value * factor

    def get_tree(self, tree_idx: int) -> Tree:
        """Return a tree of this fit with its current values."""
        tree = finish_tree(self._trees[tree_idx])
        return replace(tree, value=self._values[tree_idx]) if tree_idx in self._values else tree

    def _take_trees(self, n_trees: int) -> list[Tree]:
        """Return the first trees with the values they had when there were no others."""
        trees = [finish_tree(tree) for tree in self._trees[:n_trees]]
        if self._stages == "mean":
            share = self._base_score.size / max(1, n_trees)
            return [replace(tree, value=tree.value * share) for tree in trees]
        for n_then, tree_idx, factor in self._rescaled:
            if n_then <= n_trees:
                tree = trees[tree_idx]
                trees[tree_idx] = replace(tree, value=tree.value * factor)
        return trees

    def make_ensemble(self, n_rounds: int) -> TreeEnsemble:
        """Return the ensemble of the first rounds."""
        trees = self._take_trees(max(0, n_rounds * self._trees_a_round - self._n_past))
        if self._past is not None and not trees:
            return self._past.truncate(n_rounds)
        new = TreeEnsemble.from_trees(
            trees,
            self._base_score,
            self._link,
            self._n_features,
            self._trees_per_round,
            self._stages,
        )
        return new if self._past is None else self._past.append(new)
