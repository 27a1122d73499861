"""Rounds: the trees so far, and what was measured after each round."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sumwise.data.matrix import Matrix
from sumwise.kernels.runtime.threads import Team
from sumwise.tree import Ensemble, Tree, TreeEnsemble


@dataclass(frozen=True)
class BoostingResult:
    """The rounds that are kept, and how the scores went over all rounds."""

    ensemble: Ensemble
    history: dict[str, np.ndarray]


@dataclass(frozen=True)
class Past:
    """Rounds that a fit starts from.

    Attributes
    ----------
    ensemble : TreeEnsemble or LinearEnsemble
        Their trees.
    history : mapping of str to ndarray
        What was measured when they were trained.
    matrices : sequence of ndarray or ColumnMatrix
        The rows of the table as they were before binning, in one or more matrices: old trees know
        thresholds, not the bins of this fit.
    """

    ensemble: Ensemble
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


class Record(ABC):
    """What was measured after each round; and the model of the first rounds."""

    def __init__(self) -> None:
        self._scores: dict[str, list[float]] = {}

    @property
    @abstractmethod
    def n_rounds(self) -> int:
        """Rounds so far."""

    @abstractmethod
    def make_ensemble(self, n_rounds: int) -> Ensemble:
        """The model as it was after ``n_rounds`` rounds."""

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


class Rounds(Record):
    """Grows by a tree at a time, and by what is measured after each round.

    Parameters
    ----------
    base_score : ndarray of shape (n_outputs,)
    link : str
    n_features : int
    past : TreeEnsemble or None
        Rounds to start from.
    trees_per_round : int
        Trees of a round for each output.
    stages : {"sum", "mean", "rescaled"}
        As in :class:`TreeEnsemble`. Trees of a mean are added with whole values.
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
        self._trees: list[Tree] = []
        # (trees there were, tree, factor), in the order of time; and the values of now.
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

    def add(self, tree: Tree) -> None:
        """Add the next tree; the trees of a round come in the order of the outputs."""
        self._trees.append(tree)

    def rescale(self, tree_idx: int, factor: float) -> None:
        """Multiply the values of a tree, from the round on that is complete now.

        The model of fewer rounds has the values from before.
        """
        self._rescaled.append((len(self._trees), tree_idx, factor))
        self._values[tree_idx] = self.get_tree(tree_idx).value * factor

    def get_tree(self, tree_idx: int) -> Tree:
        """A tree of this fit, with its values of now."""
        tree = self._trees[tree_idx]
        return replace(tree, value=self._values[tree_idx]) if tree_idx in self._values else tree

    def _take_trees(self, n_trees: int) -> list[Tree]:
        """The first trees as they were when there were no others."""
        trees = self._trees[:n_trees]
        if self._stages == "mean":
            share = self._base_score.size / max(1, n_trees)
            return [replace(tree, value=tree.value * share) for tree in trees]
        for n_then, tree_idx, factor in self._rescaled:
            if n_then <= n_trees:
                tree = trees[tree_idx]
                trees[tree_idx] = replace(tree, value=tree.value * factor)
        return trees

    def make_ensemble(self, n_rounds: int) -> TreeEnsemble:
        """The ensemble of the first rounds."""
        n_outputs = self._base_score.size
        trees = self._take_trees(max(0, n_rounds * self._trees_a_round - self._n_past))
        if self._past is not None and not trees:
            return self._past.truncate(n_rounds)
        outputs = np.arange(len(trees)) % n_outputs
        new = TreeEnsemble.from_trees(
            trees,
            outputs.tolist(),
            self._base_score,
            self._link,
            self._n_features,
            self._trees_per_round,
            self._stages,
        )
        return new if self._past is None else self._past.append(new)
