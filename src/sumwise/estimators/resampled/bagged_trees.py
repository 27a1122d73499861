"""Bagging of decision trees: X is read and binned once, and members grow side by side.

The bins come from all rows, not from those of each bag.
"""

from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier

from sumwise.combine.classes import one_hot
from sumwise.errors import DataError
from sumwise.estimators.forests.base import TrainingSet
from sumwise.estimators.forests.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from sumwise.estimators.forests.forests import tell_trees
from sumwise.estimators.input.class_weights import balance_classes
from sumwise.estimators.input.jobs import start_team
from sumwise.estimators.resampled.table_trees import TableTrees
from sumwise.kernels.runtime.threads import Team
from sumwise.lazy import lazy
from sumwise.training.forest import ForestPlan, draw_bags, grow_forest
from sumwise.training.progress import show_progress
from sumwise.tree.forest import Forest
from sumwise.tree.forest_grower import RowTable


def can_grow_together(recipe: Any, is_class: bool) -> bool:
    """Whether members of a recipe can share one table.

    Members that differ in parameters cannot, nor can those that know features by places which
    differ from member to member.
    """
    learner = recipe.estimator
    if type(learner) is not (DecisionTreeClassifier if is_class else DecisionTreeRegressor):
        return False
    draws_features = recipe.n_drawn_features != recipe.n_features
    names_features = learner.monotonic_cst is not None or not (
        learner.categorical_features is None or isinstance(learner.categorical_features, str)
    )
    return (
        recipe.perturb is None
        and recipe.n_features is not None
        and not recipe.bootstrap_features
        and not recipe.fit_params
        and not (draws_features and names_features)
        and (not is_class or learner.class_weight in (None, "balanced"))
    )


@dataclass(frozen=True, eq=False)
class BaggedTrees(TableTrees):
    """All members of a bagging that are trees on one table; their mean is what it predicts."""

    @lazy
    def voter(self) -> Any:
        """The model whose leaves hold a label each, in place of probabilities."""
        model = copy(self.model)
        value = model.forest_.value
        if value.shape[1] == 1:  # of the second of two classes
            votes = (value > 1.0 - value).astype(np.float64)
        else:
            votes = one_hot(value.argmax(axis=1), value.shape[1])
        model.forest_ = replace(model.forest_, value=votes)
        return model

    def average(self, X: Any, method: str, n_jobs: int | None) -> np.ndarray:
        """Return the mean of what a method of the members says; of labels, their shares."""
        model = copy(self.voter if self._votes_with_labels(method) else self.model)
        if n_jobs is not None:
            model.n_jobs = n_jobs
        return model.predict_proba(X) if is_classifier(model) else model.predict(X)

    def average_out_of_bag(
        self, rows: np.ndarray, in_bag: np.ndarray, method: str, team: Team
    ) -> "OutOfBagValues":
        """Return the same for the binned rows of ``fit``, of members that did not see a row."""
        model = self.voter if self._votes_with_labels(method) else self.model
        total, n_trees = model.forest_.sum_values(rows, team, in_bag)
        with np.errstate(invalid="ignore"):
            values = total / n_trees[:, np.newaxis]
        shaped = model._find_shares(values) if is_classifier(model) else model._flatten(values)
        return OutOfBagValues(shaped, n_trees > 0)

    def _votes_with_labels(self, method: str) -> bool:
        return is_classifier(self.model) and method == "predict"


class OutOfBagValues(NamedTuple):
    """Means of the members that did not see a row, and which rows have some."""

    values: np.ndarray
    is_covered: np.ndarray


def grow_together(
    recipe: Any,
    X: Any,
    y: np.ndarray,
    weight: np.ndarray | None,
    last: int,
    old: BaggedTrees | None,
    oob_method: str | None,
    n_jobs: int | None,
    is_shown: bool,
) -> tuple[BaggedTrees, OutOfBagValues | None]:
    """Grow the members from those of ``old`` on up to number ``last``.

    With ``oob_method``, a method of the members, also predict rows out of bag.
    """
    reader = clone(recipe.estimator)
    if n_jobs is not None:
        reader.n_jobs = n_jobs
    train = reader._read_training(X, y, weight, None if old is None else old.model)
    train = _weigh_draws(reader, replace(train, seed=recipe.seed), y)
    draws_features = recipe.n_drawn_features != recipe.n_features
    with start_team(reader.n_jobs, last * reader._count_steps(train.matrix)) as team:
        table = reader._bin_rows(train, team)
        plan = replace(
            reader._make_plan(train, table, recipe.n_drawn_features, last),
            resampler=recipe.sampling,
            tree_features=recipe.draw_features if draws_features else None,
            keep_bags=oob_method is not None,
        )
        reader.forest_, in_bag = _grow(plan, train, table, team, is_shown)
        trees = BaggedTrees(reader, recipe)
        if oob_method is None:
            return trees, None
        return trees, trees.average_out_of_bag(table.bins, in_bag, oob_method, team)


def _weigh_draws(reader: Any, train: TrainingSet, y: np.ndarray) -> TrainingSet:
    """Refuse draws without weight, and balance the classes of each bag if that is asked for."""
    is_balanced = getattr(reader, "class_weight", None) is not None

    def weigh(drawn: np.ndarray) -> np.ndarray:
        if not drawn.any():
            raise DataError("the rows drawn for a member all have a weight of zero")
        return balance_classes(reader.classes_, y, drawn) if is_balanced else drawn

    return replace(train, row_weight=None, reweigh=weigh)


def _grow(
    plan: ForestPlan, train: TrainingSet, table: RowTable, team: Team, is_shown: bool
) -> tuple[Forest, np.ndarray]:
    """Return the trees there were and those of the plan, and the rows they have seen."""
    forest = None if train.start is None else train.start.forest_
    bags = []
    if plan.first and plan.keep_bags:
        bags.append(draw_bags(replace(plan, first=0, last=plan.first), table.n_rows, train.weight))
    if plan.first < plan.last:
        with show_progress(is_shown) as shown:
            grown = grow_forest(
                table,
                train.target.target,
                train.target.n_columns,
                tell_trees(plan, shown),
                train.weight,
                None,
                team,
            )
        forest = grown.forest if forest is None else forest.append(grown.forest)
        bags.append(grown.in_bag)
    assert forest is not None
    return forest, np.concatenate(bags) if bags else np.empty((0, 0), dtype=np.uint8)
