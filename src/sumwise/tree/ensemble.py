"""TreeEnsemble: trees, the outputs they add to, and the raw scores they give."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from sumwise.data.matrix import Matrix, read_chunks
from sumwise.errors import ParameterError
from sumwise.kernels.leaves.linear import Models, add_model_predictions
from sumwise.kernels.runtime.threads import Team
from sumwise.lazy import lazy
from sumwise.losses.links import LINKS
from sumwise.tree.predictor import Predictor
from sumwise.tree.tree import LeafModels, Tree, no_sets

# What an ensemble of fewer rounds may be; see TreeEnsemble.
STAGES = ("sum", "mean", "rescaled")
# Leaves of so many bytes are found at a time: they are of all rows, and of some of the rounds.
_LEAF_BYTES = 1 << 28
_BY_TREE = ("start", "output")
_BY_SET = ("set_node", "set_size", "set_categories")
_BY_NODE = ("feature", "threshold", "missing_left", "left", "value", "gain", "n_rows", "weight")


@dataclass(frozen=True)
class TreeEnsemble:
    """Trees laid end to end. The raw score of a row is the base score plus its leaves' values,
    added in the order of the trees.

    Attributes
    ----------
    start : ndarray of int64, shape (n_trees,)
        First node of each tree.
    output : ndarray of int32, shape (n_trees,)
        The output (class) each tree adds to.
    feature, threshold, missing_left, left, value, gain, n_rows, weight : ndarray
        As in :class:`Tree`, with one value a node; ``left`` counts over all trees.
    set_node, set_size, set_categories : ndarray of int32
        As in :class:`Tree`, with ``set_node`` counted over all trees; empty without categories.
    base_score : ndarray of float64, shape (n_outputs,)
        Score before the first tree.
    link : str
        Name of the function from scores to predictions.
    n_features : int
        Features a row must have.
    trees_per_round : int
        Trees of a round for each output.
    stages : {"sum", "mean", "rescaled"}
        What fewer rounds are: "sum", the first trees as they are; "mean", the same with values
        that are shares of fewer trees; "rescaled", not known, for later rounds changed values.
    models : LeafModels or None
        Linear models of the leaves, if they have any.
    """

    start: np.ndarray
    output: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    left: np.ndarray
    value: np.ndarray
    gain: np.ndarray
    n_rows: np.ndarray
    weight: np.ndarray
    base_score: np.ndarray
    link: str
    n_features: int
    set_node: np.ndarray = field(default_factory=no_sets)
    set_size: np.ndarray = field(default_factory=no_sets)
    set_categories: np.ndarray = field(default_factory=no_sets)
    trees_per_round: int = 1
    stages: str = "sum"
    models: LeafModels | None = None

    @classmethod
    def from_trees(
        cls,
        trees: Sequence[Tree],
        output: Sequence[int],
        base_score: np.ndarray,
        link: str,
        n_features: int,
        trees_per_round: int = 1,
        stages: str = "sum",
    ) -> "TreeEnsemble":
        """Join trees; tree i adds to ``output[i]``."""
        ends = np.cumsum([tree.n_nodes for tree in trees], dtype=np.int64)
        start = np.concatenate(([0], ends[:-1])).astype(np.int64)
        left = np.concatenate([t.left for t in trees])
        left = np.where(left < 0, -1, left + np.repeat(start, np.diff(ends, prepend=0)))
        set_node = np.concatenate([t.set_node for t in trees])
        set_node = set_node + np.repeat(start, [t.set_node.size for t in trees])
        return cls(
            start=start,
            output=np.array(output, dtype=np.int32),
            feature=np.concatenate([t.feature for t in trees]),
            threshold=np.concatenate([t.threshold for t in trees]),
            missing_left=np.concatenate([t.missing_left for t in trees]),
            left=left.astype(np.int32),
            value=np.concatenate([t.value[:, 0] for t in trees]),
            gain=np.concatenate([t.gain for t in trees]),
            n_rows=np.concatenate([t.n_rows for t in trees]),
            weight=np.concatenate([t.weight for t in trees]),
            base_score=base_score,
            link=link,
            n_features=n_features,
            set_node=set_node.astype(np.int32),
            set_size=np.concatenate([t.set_size for t in trees]),
            set_categories=np.concatenate([t.set_categories for t in trees]),
            trees_per_round=trees_per_round,
            stages=stages,
            models=LeafModels.join([(t.models, t.n_nodes) for t in trees]),
        )

    def __repr__(self) -> str:
        n_leaves = int((self.feature < 0).sum())
        outputs = f", {self.n_outputs} outputs" if self.n_outputs > 1 else ""
        linear = "" if self.models is None else " with linear models"
        return (
            f"<{type(self).__name__}: {self.n_trees:,} trees in {self.n_rounds:,} rounds, "
            f"{n_leaves:,} leaves{linear}, {self.n_features:,} features{outputs}, "
            f"link {self.link!r}>"
        )

    @property
    def n_trees(self) -> int:
        return int(self.start.size)

    @property
    def n_outputs(self) -> int:
        return int(self.base_score.size)

    @property
    def n_rounds(self) -> int:
        return self.n_trees // self._trees_a_round

    @property
    def _trees_a_round(self) -> int:
        return self.n_outputs * self.trees_per_round

    def to_tree(self, number: int) -> Tree:
        """Return one tree, with nodes numbered within it."""
        first = int(self.start[number])
        last = int(self.start[number + 1]) if number + 1 < self.n_trees else self.feature.size
        left = self.left[first:last]
        sets = slice(*np.searchsorted(self.set_node, [first, last]))
        ends = np.concatenate([[0], np.cumsum(self.set_size)])
        return Tree(
            feature=self.feature[first:last],
            threshold=self.threshold[first:last],
            split_bin=np.zeros(last - first, dtype=np.uint8),
            missing_left=self.missing_left[first:last],
            left=np.where(left < 0, -1, left - first).astype(np.int32),
            value=self.value[first:last].reshape(last - first, -1),
            gain=self.gain[first:last],
            n_rows=self.n_rows[first:last],
            weight=self.weight[first:last],
            set_node=(self.set_node[sets] - first).astype(np.int32),
            set_size=self.set_size[sets],
            set_categories=self.set_categories[ends[sets.start] : ends[sets.stop]],
            models=None if self.models is None else self.models.take(slice(first, last)),
        )

    def truncate(self, n_rounds: int) -> "TreeEnsemble":
        """Return the ensemble of the first rounds."""
        return self.take_rounds(0, min(n_rounds, self.n_rounds))

    def take_rounds(self, first: int, last: int) -> "TreeEnsemble":
        """Return the ensemble of the rounds from ``first`` up to ``last``, on the base score."""
        n_rounds = last - first
        self._check_stages(n_rounds)
        trees = slice(first * self._trees_a_round, last * self._trees_a_round)
        ends = np.append(self.start, self.feature.size)[[trees.start, trees.stop]]
        nodes, sets = slice(*ends), slice(*np.searchsorted(self.set_node, ends))
        n_before = self.set_size[: sets.start].sum()
        by_tree = {k: getattr(self, k)[trees] for k in _BY_TREE}
        by_node = {k: getattr(self, k)[nodes] for k in _BY_NODE}
        by_set = {k: getattr(self, k)[sets] for k in _BY_SET[:2]}
        n_categories = by_set["set_size"].sum()
        if self.stages == "mean" and n_rounds < self.n_rounds:
            by_node["value"] = by_node["value"] * (self.n_rounds / n_rounds)
        if nodes.start:  # nodes are counted over all trees
            by_tree["start"] = by_tree["start"] - nodes.start
            left = by_node["left"]
            by_node["left"] = np.where(left < 0, -1, left - nodes.start).astype(left.dtype)
            by_set["set_node"] = (by_set["set_node"] - nodes.start).astype(np.int32)
        return replace(
            self,
            **by_tree,
            **by_node,
            **by_set,
            set_categories=self.set_categories[n_before : n_before + n_categories],
            models=None if self.models is None else self.models.take(nodes),
        )

    def append(self, other: "TreeEnsemble") -> "TreeEnsemble":
        """Return the ensemble of these trees and the trees of another, which follow."""
        n_nodes = self.feature.size
        moved = replace(
            other,
            start=other.start + n_nodes,
            left=np.where(other.left < 0, -1, other.left + n_nodes).astype(np.int32),
            set_node=(other.set_node + n_nodes).astype(np.int32),
        )
        joined: dict[str, Any] = {
            k: np.concatenate([getattr(self, k), getattr(moved, k)])
            for k in _BY_TREE + _BY_NODE + _BY_SET
        }
        sizes = n_nodes, other.feature.size
        parts = zip((self.models, other.models), sizes, strict=True)
        joined["models"] = LeafModels.join(list(parts))
        return replace(self, **joined)

    def predict_raw(self, X: Matrix, team: Team, is_last: bool = False) -> np.ndarray:
        """Raw scores, shape (n_rows, n_outputs); ``is_last`` if no other rows will be predicted."""
        raw = self._start_scores(X)
        if self.models is None:
            self._predictor.add_values(X, raw, team, is_last)
        else:
            deque(self._add_model_stages(X, raw, team), maxlen=0)
        return raw

    def staged_predict_raw(self, X: Matrix, team: Team) -> Iterator[np.ndarray]:
        """Raw scores after each round; each array is new."""
        raw = self._start_scores(X)
        for _ in self.add_stages(X, raw, team):
            yield raw.copy()

    def add_stages(self, X: Matrix, raw: np.ndarray, team: Team) -> Iterator[None]:
        """Add the values of one round after the other to ``raw`` (n_rows, n_outputs)."""
        self._check_stages(1)
        if self.models is not None:
            yield from self._add_model_stages(X, raw, team)
        elif self.stages == "mean":
            yield from self._add_mean_stages(X, raw, team)
        else:
            yield from self._predictor.add_stages(X, self._trees_a_round, raw, team)

    def _add_mean_stages(self, X: Matrix, raw: np.ndarray, team: Team) -> Iterator[None]:
        start, total = raw.copy(), np.zeros_like(raw)
        stages = self._predictor.add_stages(X, self._trees_a_round, total, team)
        for n_rounds, _ in enumerate(stages, start=1):
            raw[:] = start + total * (self.n_rounds / n_rounds)
            yield

    def _add_model_stages(self, X: Matrix, raw: np.ndarray, team: Team) -> Iterator[None]:
        """Add the values of leaves with linear models, round by round."""
        for first_tree, leaves in self.read_rounds(X, team):
            trees = slice(first_tree, first_tree + leaves.shape[1])
            own = self.start[trees].copy(), self.output[trees].copy()
            for first, part in read_chunks(X):
                rows = slice(first, first + part.n_rows)
                arrays = leaves[rows], *own, self._models, raw[rows]
                team.run(add_model_predictions, part, *arrays)
            yield

    def read_rounds(self, X: Matrix, team: Team) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the first tree of each round, and the leaves of rows in its trees.

        Leaves have shape (n_rows, n_trees) and count within their trees.
        """
        n_trees = self._trees_a_round
        n_at_once = max(1, _LEAF_BYTES // (4 * n_trees * max(1, X.shape[0])))
        for first in range(0, self.n_rounds, n_at_once):
            some = self.take_rounds(first, min(first + n_at_once, self.n_rounds))
            leaves = some.apply(X, team)
            for k in range(0, some.n_trees, n_trees):
                yield first * n_trees + k, np.ascontiguousarray(leaves[:, k : k + n_trees])

    def _check_stages(self, n_rounds: int) -> None:
        if self.stages == "rescaled" and n_rounds < self.n_rounds:
            raise ParameterError(
                "the model of fewer rounds is not known: with booster=Dart(...) later rounds have "
                "rescaled the trees of earlier ones; fit with that many rounds"
            )

    def predict_mean(self, raw: np.ndarray) -> np.ndarray:
        """Predictions (n_rows,) or class probabilities (n_rows, n_classes) from raw scores."""
        return LINKS[self.link](raw)

    def apply(self, X: Matrix, team: Team) -> np.ndarray:
        """The leaf of each row in each tree, shape (n_rows, n_trees), numbered within the tree."""
        leaves = np.empty((X.shape[0], self.n_trees), dtype=np.int32)
        self._predictor.find_leaves(X, leaves, team)
        return leaves

    def _start_scores(self, X: Matrix) -> np.ndarray:
        raw = np.empty((X.shape[0], self.n_outputs))
        raw[:] = self.base_score
        return raw

    @lazy
    def _models(self) -> Models:
        assert self.models is not None
        return self.models.for_kernels(self.value)

    @lazy
    def _predictor(self) -> Predictor:
        return Predictor(
            self.start,
            self.output,
            self.feature,
            self.threshold,
            self.missing_left,
            self.left,
            self.value,
            (self.set_node, self.set_size, self.set_categories) if self.set_node.size else None,
        )

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone: what is derived from them is not pickled."""
        return {f.name: getattr(self, f.name) for f in fields(self)}
