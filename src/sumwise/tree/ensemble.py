"""TreeEnsemble: trees of boosting, whose values are added up."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sumwise.data.matrix import Matrix, read_chunks
from sumwise.errors import ParameterError
from sumwise.kernels.leaves.linear import Models, add_model_predictions
from sumwise.kernels.runtime.threads import Team
from sumwise.lazy import lazy
from sumwise.losses.links import LINKS
from sumwise.tree.predictor import FEW_ROWS, Predictor
from sumwise.tree.threshold_splits import ThresholdSplits, join_sets
from sumwise.tree.tree import LeafModels, Tree, no_sets
from sumwise.tree.trees import Trees

if TYPE_CHECKING:
    from sumwise.tree.vector_trees import VectorTrees

# What an ensemble of fewer rounds may be; see TreeEnsemble.
STAGES = ("sum", "mean", "rescaled")
# Bytes of leaf numbers that are held at a time: of all rows, in the trees of some rounds.
_LEAF_BYTES = 1 << 28


@dataclass(frozen=True)
class TreeEnsemble(ThresholdSplits, Trees):
    """Trees whose values are added up, each for one output.

    The raw score of a row is the base score plus the values of its leaves, added in the order of
    the trees. The trees of a round are in the order of the outputs.

    Attributes
    ----------
    start, feature, missing_left, left, gain, weight, n_rows : ndarray
        As in :class:`Trees`.
    threshold : ndarray of float64, shape (n_nodes,)
        Values up to the threshold go left.
    value : ndarray of float64, shape (n_nodes,)
        Values of all nodes.
    base_score : ndarray of float64, shape (n_outputs,)
        Score before the first tree.
    link : str
        Name of the function from scores to predictions.
    n_features : int
        Number of features that a row must have.
    set_node, set_size, set_categories : ndarray of int32
        As in :class:`Tree`, with nodes numbered over all trees; empty without categories.
    trees_per_round : int
        Trees per round for each output.
    stages : {"sum", "mean", "rescaled"}
        The model of fewer rounds. "sum": the first trees as they are. "mean": the first trees with
        larger values, because each value is a share of the mean. "rescaled": unknown, because later
        rounds have changed the values of earlier trees.
    models : LeafModels or None
        Linear models of the leaves, if they have any.
    """

    threshold: np.ndarray
    value: np.ndarray
    base_score: np.ndarray
    link: str
    n_features: int
    set_node: np.ndarray = field(default_factory=no_sets)
    set_size: np.ndarray = field(default_factory=no_sets)
    set_categories: np.ndarray = field(default_factory=no_sets)
    trees_per_round: int = 1
    stages: str = "sum"
    models: LeafModels | None = None

    averages: ClassVar[bool] = False
    by_node: ClassVar[tuple[str, ...]] = (*Trees.by_node, "threshold", "value")

    @classmethod
    def from_trees(
        cls,
        trees: Sequence[Tree],
        base_score: np.ndarray,
        link: str,
        n_features: int,
        trees_per_round: int = 1,
        stages: str = "sum",
    ) -> "TreeEnsemble":
        """Join trees of one value column, in the order of rounds and outputs."""
        by_node: dict[str, Any] = {
            name: np.concatenate([getattr(tree, name) for tree in trees])
            for name in cls.by_node
            if name != "value"
        }
        return cls(
            start=np.cumsum([0, *(tree.n_nodes for tree in trees)], dtype=np.int64),
            **by_node,
            value=np.concatenate([tree.value[:, 0] for tree in trees]),
            base_score=base_score,
            link=link,
            n_features=n_features,
            trees_per_round=trees_per_round,
            stages=stages,
            **cls._join_rest(trees),
        )

    def __repr__(self) -> str:
        outputs = f", {self.n_outputs} outputs" if self.n_outputs > 1 else ""
        linear = "" if self.models is None else " with linear models"
        return (
            f"<{type(self).__name__}: {self.n_trees:,} trees in {self.n_rounds:,} rounds, "
            f"{self.n_leaves:,} leaves{linear}, {self.n_features:,} features{outputs}, "
            f"link {self.link!r}>"
        )

    @property
    def n_outputs(self) -> int:
        return int(self.base_score.size)

    @property
    def output(self) -> np.ndarray:
        """The output (class) that each tree adds to."""
        return np.arange(self.n_trees, dtype=np.int32) % np.int32(self.n_outputs)

    def node_values(self) -> np.ndarray:
        return self.value[:, None]

    def combine(self, sums: np.ndarray) -> np.ndarray:
        return (sums.T + self.base_score).T

    def _select_rest(self, first: int, last: int, nodes: slice) -> dict[str, Any]:
        models = None if self.models is None else self.models.take(nodes)
        return self._select_sets(nodes) | {"models": models}

    @classmethod
    def _join_rest(cls, parts: "Sequence[TreeEnsemble | Tree]") -> dict[str, Any]:
        models = LeafModels.join([(part.models, part.n_nodes) for part in parts])
        return join_sets(parts) | {"models": models}

    # --- rounds ---

    @property
    def n_rounds(self) -> int:
        return self.n_trees // self._round_size

    @property
    def _round_size(self) -> int:
        """Number of trees in a round."""
        return self.n_outputs * self.trees_per_round

    def truncate(self, n_rounds: int) -> "TreeEnsemble":
        """Return the ensemble of the first rounds."""
        return self.take_rounds(0, min(n_rounds, self.n_rounds))

    def take_rounds(self, first: int, last: int) -> "TreeEnsemble":
        """Return the ensemble of the rounds from ``first`` up to ``last``, on the base score."""
        n_rounds = last - first
        self._check_stages(n_rounds)
        taken = self.select(first * self._round_size, last * self._round_size)
        if self.stages == "mean" and n_rounds < self.n_rounds:
            return replace(taken, value=taken.value * (self.n_rounds / n_rounds))
        return taken

    def _check_stages(self, n_rounds: int) -> None:
        if self.stages == "rescaled" and n_rounds < self.n_rounds:
            raise ParameterError(
                "the model of fewer rounds is not known: with booster=Dart(...) later rounds have "
                "rescaled the trees of earlier ones; fit with that many rounds"
            )

    # --- prediction ---

    def predict_raw(self, X: Matrix, team: Team, is_last: bool = False) -> np.ndarray:
        raw = self._start_scores(X)
        if self.models is not None:
            deque(self._add_model_stages(X, raw, team), maxlen=0)
        elif X.shape[0] > FEW_ROWS and not is_last and self._joined is not None:
            self._joined.add_values(X, raw, team)
        else:
            self._predictor.add_values(X, raw, team, is_last)
        return raw

    def staged_predict_raw(self, X: Matrix, team: Team) -> Iterator[np.ndarray]:
        """Yield raw scores after each round; each array is new."""
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
            yield from self._predictor.add_stages(X, self._round_size, raw, team)

    def _add_mean_stages(self, X: Matrix, raw: np.ndarray, team: Team) -> Iterator[None]:
        start, total = raw.copy(), np.zeros_like(raw)
        stages = self._predictor.add_stages(X, self._round_size, total, team)
        for n_rounds, _ in enumerate(stages, start=1):
            raw[:] = start + total * (self.n_rounds / n_rounds)
            yield

    def _add_model_stages(self, X: Matrix, raw: np.ndarray, team: Team) -> Iterator[None]:
        """Add the values of leaves with linear models, round by round."""
        output = self.output
        for first_tree, leaves in self.read_rounds(X, team):
            trees = slice(first_tree, first_tree + leaves.shape[1])
            own = self.start[trees].copy(), output[trees].copy()
            for first, part in read_chunks(X):
                rows = slice(first, first + part.n_rows)
                arrays = leaves[rows], *own, self._models, raw[rows]
                team.run(add_model_predictions, part, *arrays)
            yield

    def read_rounds(self, X: Matrix, team: Team) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the first tree of each round, and the leaves of rows in the trees of the round.

        Leaves have shape (n_rows, trees of a round) and are numbered within their trees.
        """
        n_trees = self._round_size
        n_at_once = max(1, _LEAF_BYTES // (4 * n_trees * max(1, X.shape[0])))
        for first in range(0, self.n_rounds, n_at_once):
            some = self.take_rounds(first, min(first + n_at_once, self.n_rounds))
            leaves = some.apply(X, team)
            for k in range(0, some.n_trees, n_trees):
                yield first * n_trees + k, np.ascontiguousarray(leaves[:, k : k + n_trees])

    def predict_mean(self, raw: np.ndarray) -> np.ndarray:
        """Return predictions (n_rows,) or class probabilities (n_rows, n_classes)."""
        return LINKS[self.link](raw)

    def apply(self, X: Matrix, team: Team) -> np.ndarray:
        leaves = np.empty((X.shape[0], self.n_trees), dtype=np.int32)
        self._predictor.find_leaves(X, leaves, team)
        return leaves

    def _start_scores(self, X: Matrix) -> np.ndarray:
        raw = np.empty((X.shape[0], self.n_outputs))
        raw[:] = self.base_score
        return raw

    @lazy
    def _joined(self) -> "VectorTrees | None":
        """The same trees with one value per output, if those of all outputs have equal splits."""
        if self.n_outputs == 1 or self.set_node.size:
            return None
        from sumwise.tree.vector_trees import join_equal_trees  # few models need it

        nodes = {name: getattr(self, name) for name in self.by_node if name != "value"}
        return join_equal_trees(self.start, self.n_outputs, self.value, nodes, self.n_features)

    @lazy
    def _models(self) -> Models:
        assert self.models is not None
        return self.models.for_kernels(self.value)

    @lazy
    def _predictor(self) -> Predictor:
        return Predictor(
            self.start[:-1],
            self.output,
            self.feature,
            self.threshold,
            self.missing_left,
            self.find_children().astype(np.int32),
            self.value,
            (self.set_node, self.set_size, self.set_categories) if self.set_node.size else None,
        )
