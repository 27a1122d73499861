"""Decision trees of noisy targets: X is read and binned once, and they grow side by side."""

import threading
import time
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
from sklearn.base import clone

from sumwise.estimators.forests.base import TrainingSet
from sumwise.estimators.forests.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from sumwise.estimators.input.jobs import start_team
from sumwise.estimators.resampled.bagged_trees import BaggedTrees
from sumwise.estimators.resampled.table_trees import draw_seed
from sumwise.kernels.runtime.threads import ABORT, Team
from sumwise.training.callbacks import RoundState
from sumwise.training.forest import grow_forest
from sumwise.training.progress import show_progress
from sumwise.tree.forest import Forest
from sumwise.tree.forest_grower import RowTable


def can_share_table(recipe: Any) -> bool:
    """Whether members of a recipe are trees whose noisy targets can be checked once, for all.

    Noise may make counts negative, which is for each member to refuse.
    """
    learner = recipe.estimator
    is_tree = type(learner) in (DecisionTreeClassifier, DecisionTreeRegressor)
    return is_tree and not recipe.fit_params and learner.criterion != "poisson"


def grow_noisy_trees(
    recipe: Any,
    X: Any,
    y: np.ndarray,
    weight: np.ndarray | None,
    n_members: int,
    n_jobs: int | None,
    is_shown: bool,
) -> BaggedTrees:
    """Grow the trees that members fitted one by one would be."""
    reader = clone(recipe.estimator)
    if n_jobs is not None:
        reader.n_jobs = n_jobs
    train = reader._read_training(X, y, weight)
    forests: list[Forest | None] = [None] * n_members
    numbers, n_done = count(1), 0  # asking them is atomic
    lock, began = threading.Lock(), time.perf_counter()
    with (
        start_team(reader.n_jobs, n_members * reader._count_steps(train.matrix)) as team,
        show_progress(is_shown) as shown,
    ):
        table = reader._bin_rows(train, team)

        def grow_some(thread: int, n_threads: int, sync: np.ndarray) -> None:
            nonlocal n_done
            while (number := next(numbers)) <= n_members and not sync[ABORT]:
                forests[number - 1] = _grow_tree(recipe, reader, train, table, number - 1)
                with lock:
                    n_done += 1
                    seconds = time.perf_counter() - began
                    for show in shown:
                        show(RoundState(n_done, n_members, {}, seconds, lambda: None))

        team.run(grow_some)
    reader.forest_ = Forest.join([forest for forest in forests if forest is not None])
    return BaggedTrees(reader, recipe)


def _grow_tree(
    recipe: Any, reader: Any, train: TrainingSet, table: RowTable, number: int
) -> Forest:
    """Return one member, on targets of its own and with its own seed."""
    disturbed = recipe.disturb(number, train.y)
    row_weight, reweigh = reader._weigh_classes(disturbed, train.weight)
    target = reader._make_target(disturbed, train.weight)
    member = recipe.make_member(number)
    seed = draw_seed(member.random_state)
    own = replace(train, target=target, row_weight=row_weight, reweigh=reweigh, seed=seed)
    plan = reader._make_plan(own, table, None, last=1)
    grown = grow_forest(
        table, target.target, target.n_columns, plan, own.weight, row_weight, Team(1)
    )
    return grown.forest
