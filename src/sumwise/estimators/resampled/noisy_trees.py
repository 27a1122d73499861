"""Decision trees on noisy targets: X is read and binned once, and they grow side by side."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from sumwise.estimators.forests.base import TrainingSet
from sumwise.estimators.forests.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from sumwise.estimators.forests.parameters import draw_seed
from sumwise.estimators.input.jobs import start_team
from sumwise.estimators.resampled.bagged_trees import BaggedTrees
from sumwise.estimators.resampled.recipe import NoiseRecipe
from sumwise.estimators.resampled.table_trees import DecisionTree, use_threads
from sumwise.kernels.runtime.threads import Team
from sumwise.training.forest import grow_side_by_side
from sumwise.training.progress import show_progress
from sumwise.tree.forest import Forest
from sumwise.tree.forest_grower import RowTable


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
    train = reader._read_training(X, y, weight)
    with (
        start_team(reader.n_jobs, n_members * reader._count_steps(train.matrix)) as team,
        show_progress(is_shown) as shown,
    ):
        table = reader._bin_rows(train, team)

        def grow(number: int) -> Forest:
            return _grow_tree(recipe, reader, train, table, number)

        forests = grow_side_by_side(lambda: grow, 0, n_members, team, shown)
    reader.forest_ = Forest.join(forests)
    return BaggedTrees(reader, recipe)


def _grow_tree(
    recipe: NoiseRecipe, reader: DecisionTree, train: TrainingSet, table: RowTable, number: int
) -> Forest:
    """Return one member, with its own targets and seed."""
    disturbed = recipe.disturb(number, train.y)
    row_weight, reweigh = reader._weigh_classes(disturbed, train.weight)
    own = replace(
        train,
        target=reader._make_target(disturbed, train.weight),
        row_weight=row_weight,
        reweigh=reweigh,
        seed=draw_seed(recipe.make_member(number).random_state),
    )
    return own.grow(reader._make_plan(own, table, None, last=1), table, Team(1)).forest
