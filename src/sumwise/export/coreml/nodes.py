"""Nodes of trees in Core ML's specification."""

from typing import Any

import numpy as np


class NodeWriter:
    """Adds the nodes of one tree to an ensemble; a node is referred to by its number."""

    def __init__(self, ensemble: Any, tree: int) -> None:
        self._ensemble, self._tree = ensemble, tree
        self._nodes: list[Any] = []

    def _add(self, behavior: str) -> Any:
        made = self._ensemble.nodes.add(treeId=self._tree, nodeId=len(self._nodes))
        made.nodeBehavior = made.TreeNodeBehavior.Value(behavior)
        self._nodes.append(made)
        return made

    def add_leaf(self, values: np.ndarray) -> int:
        """Add a leaf; it lists the values that are not 0, and one at least."""
        made = self._add("LeafNode")
        for place in np.flatnonzero(values) if np.any(values) else [0]:
            made.evaluationInfo.add(
                evaluationIndex=int(place), evaluationValue=float(values[place])
            )
        return int(made.nodeId)

    def add_split(
        self,
        feature: int,
        threshold: float,
        goes_missing_left: bool,
        behavior: str = "LessThanEqual",
    ) -> int:
        """Add a split, whose children are set by :meth:`link`."""
        made = self._add(f"BranchOnValue{behavior}")
        made.branchFeatureIndex, made.branchFeatureValue = feature, threshold
        made.missingValueTracksTrueChild = goes_missing_left
        return int(made.nodeId)

    def link(self, split: int, left: int, right: int) -> int:
        """Set the children of a split, and return the split."""
        made = self._nodes[split]
        made.trueChildNodeId, made.falseChildNodeId = left, right
        return split
