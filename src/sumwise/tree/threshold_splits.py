"""ThresholdSplits: what storages of trees share that split by thresholds and sets of categories."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sumwise.data.matrix import Matrix
from sumwise.kernels.predict.coding import CodeColumns
from sumwise.kernels.runtime.threads import Team
from sumwise.tree.predictor import Predictor
from sumwise.tree.split_tests import RowCoder, SplitTests

BY_SET = ("set_node", "set_size", "set_categories")


class HasSets(Protocol):
    """Nodes, some of which split by sets of categories."""

    @property
    def n_nodes(self) -> int: ...
    @property
    def set_node(self) -> np.ndarray: ...
    @property
    def set_size(self) -> np.ndarray: ...
    @property
    def set_categories(self) -> np.ndarray: ...


class ThresholdSplits:
    """Methods of trees that have the arrays of :class:`sumwise.tree.Tree` for their splits."""

    feature: np.ndarray
    threshold: np.ndarray
    set_node: np.ndarray
    set_size: np.ndarray
    set_categories: np.ndarray

    if TYPE_CHECKING:

        @property
        def _predictor(self) -> Predictor: ...

    def find_tests(self) -> SplitTests:
        """Return the tests of all nodes on the codes of :meth:`code_rows`."""
        return self._predictor.find_tests()

    @property
    def code_columns(self) -> CodeColumns:
        """What codes rows: thresholds and sets, by column of codes."""
        return self._predictor.columns

    def code_rows(self, X: Matrix, team: Team) -> Iterator[tuple[int, RowCoder]]:
        """Yield (first row, rows to be coded) for parts of X."""
        return self._predictor.read_rows(X)

    def _decode_splits(self) -> dict[str, np.ndarray]:
        return {name: getattr(self, name) for name in ("threshold", *BY_SET)}

    def fits_categories(self, counts: Mapping[int, int]) -> bool:
        """Whether all categories of the splits are among those of their features."""
        feature_of_category = np.repeat(self.feature[self.set_node], self.set_size)
        features, places = np.unique(feature_of_category, return_inverse=True)
        limits = np.array([counts.get(f, 0) for f in features.tolist()], dtype=np.int64)
        return bool(np.all(self.set_categories < limits[places]))

    def _select_sets(self, nodes: slice) -> dict[str, Any]:
        """Return the sets of some nodes."""
        sets = slice(*np.searchsorted(self.set_node, [nodes.start, nodes.stop]))
        ends = np.append(0, self.set_size.cumsum())
        return {
            "set_node": self.set_node[sets] - np.int32(nodes.start),
            "set_size": self.set_size[sets],
            "set_categories": self.set_categories[ends[sets.start] : ends[sets.stop]],
        }


def join_sets(parts: Sequence[HasSets]) -> dict[str, Any]:
    """Return the sets of trees that are laid end to end."""
    sizes = [part.n_nodes for part in parts]
    first = np.cumsum([0, *sizes[:-1]]).astype(np.int32)
    moved = [part.set_node + n for part, n in zip(parts, first, strict=True)]
    return {
        "set_node": np.concatenate(moved),
        "set_size": np.concatenate([part.set_size for part in parts]),
        "set_categories": np.concatenate([part.set_categories for part in parts]),
    }
