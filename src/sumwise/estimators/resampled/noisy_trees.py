"""Decision trees on noisy targets: X is read and binned once, and they grow side by side."""

from typing import Any

import numpy as np
from sklearn.base import clone

from sumwise.estimators.forests.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from sumwise.estimators.forests.parameters import draw_seed
from sumwise.estimators.forests.training_set import TrainingSet
from sumwise.estimators.input.jobs import start_team
from sumwise.estimators.resampled.bagged_trees import BaggedTrees
from sumwise.estimators.resampled.recipe import NoiseRecipe
from sumwise.estimators.resampled.table_trees import use_threads
from sumwise.kernels.runtime.threads import Team
from sumwise.training.forest import grow_side_by_side
from sumwise.training.progress import show_progress
from sumwise.tree.forest import BinnedForest


def can_share_table(recipe: NoiseRecipe) -> bool:
    """Whether the members of a recipe are trees whose noisy targets need no check of their own.

    Noise may make counts negative, which each member has to refuse by itself.
    """
    learner = recipe.estimator
    is_tree = type(learner) in (DecisionTreeClassifier, DecisionTreeRegressor)
    return is_tree and not recipe.fit_params and learner.criterion != "poisson"


def grow_noisy_trees(
    recipe: NoiseRecipe,
    X: Any,
    y: np.ndarray,
    weight: np.ndarray | None,
    n_members: int,
    n_jobs: int | None,
    is_shown: bool,
) -> BaggedTrees:
    """Grow the same trees as members that are fitted one by one."""
    reader = use_threads(clone(recipe.estimator), n_jobs)
    train = TrainingSet.read(reader, X, y, weight)
    with (
        start_team(reader.n_jobs, n_members * train.n_steps) as team,
        show_progress(is_shown) as shown,
    ):
        table = train.bin_rows(team)

        def grow(number: int) -> BinnedForest:
            """Return one member, with its own targets and seed."""
            seed = draw_seed(recipe.make_member(number).random_state)
            own = train.retarget(recipe.disturb(number, train.y), seed)
            return own.grow(own.make_plan(table), table, Team(1)).forest

        forests = grow_side_by_side(lambda: grow, 0, n_members, team, shown)
    reader.forest_ = BinnedForest.join(forests)
    return BaggedTrees(reader, recipe)
