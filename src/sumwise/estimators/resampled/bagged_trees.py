"""Bagging of decision trees: X is read and binned once, and members grow side by side.

The bins come from all rows, not from those of each bag.
"""

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from sumwise.errors import DataError
from sumwise.estimators.forests.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from sumwise.estimators.forests.encoding import encodes_categories
from sumwise.estimators.forests.outputs import shape_values, vote_with_labels
from sumwise.estimators.forests.training_set import TrainingSet
from sumwise.estimators.input.class_weights import balance_classes
from sumwise.estimators.input.jobs import start_team
from sumwise.estimators.resampled.averaging import OutOfBagValues
from sumwise.estimators.resampled.bagging_recipe import BaggingRecipe
from sumwise.estimators.resampled.table_trees import DecisionTree, TableTrees, use_threads
from sumwise.kernels.runtime.threads import Team
from sumwise.lazy import lazy
from sumwise.training.forest import sum_out_of_bag
from sumwise.tree.forest_grower import Table


def can_grow_together(recipe: BaggingRecipe, is_class: bool) -> bool:
    """Whether the members of a recipe can share one table.

    They cannot if they differ in parameters, or if a parameter refers to features by their
    position, which differs from member to member.
    """
    learner = recipe.estimator
    if type(learner) is not (DecisionTreeClassifier if is_class else DecisionTreeRegressor):
        return False
    names_features = learner.monotonic_cst is not None or not (
        learner.categorical_features is None or isinstance(learner.categorical_features, str)
    )
    return (
        recipe.perturb is None
        and recipe.n_features is not None
        and not recipe.bootstrap_features
        and not recipe.fit_params
        and not (recipe.draws_features and names_features)
        and (not is_class or learner.class_weight in (None, "balanced"))
    )


@dataclass(frozen=True, eq=False)
class BaggedTrees(TableTrees):
    """All members of a bagging that are trees on one table; it predicts their mean."""

    @lazy
    def voter(self) -> DecisionTree:
        """The model with a label in each leaf, in place of probabilities."""
        assert isinstance(self.model, DecisionTreeClassifier)
        return vote_with_labels(self.model)

    def average(self, X: Any, method: str, n_jobs: int | None) -> np.ndarray:
        """Return the mean of what a method of the members returns; of labels, their shares."""
        model = use_threads(copy(self.choose_model(method)), n_jobs)
        is_class = isinstance(model, DecisionTreeClassifier)
        return model.predict_proba(X) if is_class else model.predict(X)

    def average_out_of_bag(
        self, table: Table, in_bag: np.ndarray, seed: int, method: str, team: Team
    ) -> OutOfBagValues:
        """Return this mean over the members that have not seen a row of ``fit``."""
        model = self.choose_model(method)
        total, n_trees = sum_out_of_bag(model.forest_, table, in_bag, seed, team)
        with np.errstate(invalid="ignore"):
            values = total / n_trees[:, np.newaxis]
        return OutOfBagValues(shape_values(model, values), n_trees > 0)

    def choose_model(self, method: str) -> DecisionTree:
        """Return the model whose mean over the trees is that of a method of the members."""
        votes = isinstance(self.model, DecisionTreeClassifier) and method == "predict"
        return self.voter if votes else self.model


def grow_together(
    recipe: BaggingRecipe,
    X: Any,
    y: np.ndarray,
    weight: np.ndarray | None,
    last: int,
    old: BaggedTrees | None,
    oob_method: str | None,
    n_jobs: int | None,
    is_shown: bool,
) -> tuple[BaggedTrees, OutOfBagValues | None] | None:
    """Grow members up to number ``last``, after those of ``old``.

    With ``oob_method``, a method of the members, also predict out-of-bag rows. None if members have
    to be fitted one by one: they draw features, and encode the categories of these.
    """
    reader = use_threads(clone(recipe.estimator), n_jobs)
    train = TrainingSet.read(reader, X, y, weight, None if old is None else old.model)
    if recipe.draws_features and encodes_categories(train):
        return None
    train = _weigh_draws(reader, replace(train, seed=recipe.seed), y)
    with start_team(reader.n_jobs, last * train.n_steps) as team:
        table = train.bin_rows(team)
        plan = replace(
            train.make_plan(table, recipe.n_drawn_features, last),
            resampler=recipe.sampling,
            tree_features=recipe.draw_features,
            keep_bags=oob_method is not None,
        )
        grown = train.grow(plan, table, team, is_shown)
        reader.forest_ = grown.forest
        trees = BaggedTrees(reader, recipe)
        if oob_method is None:
            return trees, None
        return trees, trees.average_out_of_bag(table, grown.in_bag, plan.seed, oob_method, team)


def _weigh_draws(reader: DecisionTree, train: TrainingSet, y: np.ndarray) -> TrainingSet:
    """Refuse draws without weight, and balance the classes of each bag if that is asked for."""

    def weigh(drawn: np.ndarray) -> np.ndarray:
        if not drawn.any():
            raise DataError("the rows drawn for a member all have a weight of zero")
        if isinstance(reader, DecisionTreeRegressor) or reader.class_weight is None:
            return drawn
        return balance_classes(reader.classes_, y, drawn)

    return replace(train, row_weight=None, reweigh=weigh)
