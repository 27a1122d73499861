"""Trees: one tree, finished trees of boosting and forests, and what grows them."""

from typing import TYPE_CHECKING

from sumwise.lazy import import_on_use
from sumwise.tree.constraints import TreeConstraints
from sumwise.tree.ensemble import TreeEnsemble
from sumwise.tree.grower import TreeGrower
from sumwise.tree.growth import GrowthSettings
from sumwise.tree.leaf_models import LeafModeler, LinearLeaves
from sumwise.tree.linear import LinearEnsemble
from sumwise.tree.parallel import Parallel
from sumwise.tree.tree import LeafModels, Tree
from sumwise.tree.trees import Trees

if TYPE_CHECKING:
    from sumwise.tree.feature_grower import FeatureGrower
    from sumwise.tree.paged_grower import PagedGrower
    from sumwise.tree.refit import LeafRefitter, LocationFinder
    from sumwise.tree.solve import LeafSolver, StepFinder, smooth_paths
    from sumwise.tree.vector_grower import VectorGrower
    from sumwise.tree.voting_grower import VotingGrower

# The model of boosting, and the model of any estimator that can be saved.
Ensemble = TreeEnsemble | LinearEnsemble
Model = Trees | LinearEnsemble

__all__ = [
    "Ensemble",
    "FeatureGrower",
    "GrowthSettings",
    "LeafModeler",
    "LeafModels",
    "LeafRefitter",
    "LeafSolver",
    "LinearEnsemble",
    "LinearLeaves",
    "LocationFinder",
    "Model",
    "PagedGrower",
    "Parallel",
    "StepFinder",
    "Tree",
    "TreeConstraints",
    "TreeEnsemble",
    "TreeGrower",
    "Trees",
    "VectorGrower",
    "VotingGrower",
    "smooth_paths",
]

# A plain fit needs none of these.
__getattr__ = import_on_use(
    __name__,
    {
        "FeatureGrower": "sumwise.tree.feature_grower",
        "LeafRefitter": "sumwise.tree.refit",
        "LeafSolver": "sumwise.tree.solve",
        "LocationFinder": "sumwise.tree.refit",
        "PagedGrower": "sumwise.tree.paged_grower",
        "StepFinder": "sumwise.tree.solve",
        "VectorGrower": "sumwise.tree.vector_grower",
        "VotingGrower": "sumwise.tree.voting_grower",
        "smooth_paths": "sumwise.tree.solve",
    },
)
