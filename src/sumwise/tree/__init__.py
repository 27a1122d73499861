"""Trees: one flat tree, ensembles of them, and the grower that makes them."""

from sumwise.tree.constraints import TreeConstraints
from sumwise.tree.ensemble import TreeEnsemble
from sumwise.tree.grower import GrowthSettings, TreeGrower
from sumwise.tree.refit import LeafRefitter
from sumwise.tree.solve import LeafSolver
from sumwise.tree.tree import Tree

__all__ = [
    "GrowthSettings",
    "LeafRefitter",
    "LeafSolver",
    "Tree",
    "TreeConstraints",
    "TreeEnsemble",
    "TreeGrower",
]
