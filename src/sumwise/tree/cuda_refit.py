"""CudaRefitter: refits leaves on a device, with the methods and the bytes of LeafRefitter."""

from dataclasses import replace

import numpy as np

from sumwise.cuda.leaves.refit import DeviceLocationFinder
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.team import DeviceTeam
from sumwise.errors import TrainingError
from sumwise.kernels.leaves.refit import RefitRule, add_leaf_values
from sumwise.losses import Location
from sumwise.tree.cuda_grower import CudaGrower
from sumwise.tree.pending_tree import PendingTree, finish_tree
from sumwise.tree.tree import Tree


class CudaRefitter:
    """Sets the leaves of grown trees to locations of their residuals, times the learning rate.

    Parameters
    ----------
    grower : CudaGrower
        Grew the trees.
    target, weight : DeviceArray of float64
        Of all rows of the table; an empty array of weights means ones.
    rows : DeviceArray of uint32
        The rows that trees are grown on or drawn from.
    team : DeviceTeam
    """

    def __init__(
        self,
        grower: CudaGrower,
        target: DeviceArray,
        weight: DeviceArray,
        rows: DeviceArray,
        team: DeviceTeam,
    ) -> None:
        self._grower, self._team = grower, team
        n_nodes = 2 * grower.settings.limits(rows.size)[0] - 1
        self._finder = DeviceLocationFinder(team, target, weight, rows, n_nodes)

    def weigh(self, rows: DeviceArray, weight: DeviceArray, factor: DeviceArray) -> None:
        """Change the weights of rows for the next trees: to factors, times weights if any."""
        self._finder.weigh(rows, weight, factor)

    def refit(
        self,
        tree: Tree | PendingTree,
        rows: DeviceArray,
        scores: DeviceArray,
        location: Location,
    ) -> Tree:
        """Return the tree just grown with new values, and add them to the scores of its rows."""
        leaf, anchor = self._grower.get_leaves(tree)
        refitted = self._set_values(tree, leaf, anchor, rows, scores, location)
        value = self._team.device.upload(refitted.value)
        self._team.run(add_leaf_values, rows, leaf, value, scores)
        return refitted

    def find_values(
        self,
        tree: Tree | PendingTree,
        rows: DeviceArray,
        scores: DeviceArray,
        location: Location,
    ) -> Tree:
        """Return the tree with new values; leave the scores as they are."""
        leaf, anchor = self._grower.get_leaves(tree)
        return self._set_values(tree, leaf, anchor, rows, scores, location)

    def _set_values(
        self,
        tree: Tree | PendingTree,
        leaf: DeviceArray,
        anchor: np.ndarray,
        rows: DeviceArray,
        scores: DeviceArray,
        location: Location,
    ) -> Tree:
        tree, settings = finish_tree(tree), self._grower.settings
        rule = RefitRule(
            float(location.level),
            float(location.delta),
            int(location.influence),
            float(settings.max_delta_step),
            float(settings.learning_rate),
        )
        nodes = tree.left, anchor, tree.weight
        value = self._finder.find(rule, rows, leaf, *nodes, scores).to_host()
        if not np.isfinite(value).all():
            raise TrainingError("a leaf's value is not finite: targets are too large in magnitude")
        return replace(tree, value=self._grower.constrain_values(value)[:, None])
