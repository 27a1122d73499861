"""CudaRefitter: refits leaves on a device, with the methods and the bytes of LeafRefitter."""

from dataclasses import replace
from typing import NoReturn

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

# Trees that may have more nodes are refitted when their number of nodes is known.
_MOST_PADDED = 4096


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
        self._n_nodes = 2 * grower.settings.limits(rows.size)[0] - 1
        self._finder = DeviceLocationFinder(team, target, weight, rows, self._n_nodes)

    def weigh(self, rows: DeviceArray, weight: DeviceArray, factor: DeviceArray) -> None:
        """Change the weights of rows for the next trees: to factors, times weights if any."""
        self._finder.weigh(rows, weight, factor)

    def refit(
        self,
        tree: Tree | PendingTree,
        rows: DeviceArray,
        scores: DeviceArray,
        location: Location,
    ) -> Tree | PendingTree:
        """Return the tree just grown with new values, and add them to the scores of its rows.

        Nothing waits for the device, unless there are monotone constraints, or trees may be large.
        """
        grower, leaf = self._grower, self._grower.gather_leaves()
        refitted: Tree | PendingTree
        if grower.has_directions or self._n_nodes > _MOST_PADDED:
            refitted = self.find_values(tree, rows, scores, location)
            value = self._team.device.upload(refitted.value)
        else:
            rule, grown = self._make_rule(location), grower.grown_tree
            value = self._finder.find_grown(rule, rows, leaf, *grown, scores)
            refitted = grower.replace_values(value, _refuse_value)
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
        finished = finish_tree(tree)
        leaf, anchor = self._grower.get_leaves(finished)
        nodes = finished.left, anchor, finished.weight
        value = self._finder.find(self._make_rule(location), rows, leaf, *nodes, scores).to_host()
        if not np.isfinite(value).all():
            _refuse_value()
        return replace(finished, value=self._grower.constrain_values(value)[:, None])

    def _make_rule(self, location: Location) -> RefitRule:
        settings = self._grower.settings
        return RefitRule(
            float(location.level),
            float(location.delta),
            int(location.influence),
            float(settings.max_delta_step),
            float(settings.learning_rate),
        )


def _refuse_value() -> NoReturn:
    raise TrainingError("a leaf's value is not finite: targets are too large in magnitude")
