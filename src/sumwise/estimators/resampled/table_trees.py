"""Members of an ensemble, and members that are decision trees on one table.

Such trees are stored as one forest, which predicts all of them at once. The members themselves are
ordinary estimators, created on access.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol

import numpy as np
from sklearn.base import is_classifier

from sumwise.estimators.forests.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from sumwise.lazy import lazy

DecisionTree = DecisionTreeClassifier | DecisionTreeRegressor


class MemberRecipe(Protocol):
    """How the members of an ensemble are made."""

    def make_member(self, number: int) -> Any:
        """Return an unfitted member."""

    def draw_features(self, number: int) -> np.ndarray | None:
        """Return the features of a member, None for all."""


def use_threads(tree: DecisionTree, n_jobs: int | None) -> DecisionTree:
    """Give a tree the number of threads of its ensemble, if that has one; return it."""
    if n_jobs is not None:
        tree.n_jobs = n_jobs
    return tree


@dataclass(frozen=True, eq=False)
class TableTrees:
    """All members of an ensemble whose members are trees on one table.

    Attributes
    ----------
    model : DecisionTreeClassifier or DecisionTreeRegressor
        Has the trees of all members, and so predicts their mean.
    recipe : MemberRecipe
    """

    model: DecisionTree
    recipe: MemberRecipe

    @property
    def n_members(self) -> int:
        return int(self.model.forest_.n_trees)

    @lazy
    def members(self) -> list[Any]:
        """Each tree as a separate estimator, for the features that it was given."""
        return [self._make_member(number) for number in range(self.n_members)]

    def _make_member(self, number: int) -> Any:
        model, member = self.model, self.recipe.make_member(number)
        forest = model.forest_.select(number, number + 1)
        features = self.recipe.draw_features(number)
        names = getattr(model, "feature_names_in_", None)
        schema = model.schema_
        if features is not None:
            forest, schema = forest.narrow_features(features), schema.select(features)
            names = None if names is None else names[features]
        member.forest_, member.schema_ = forest, schema
        if model._encoder is not None:  # then members have all features
            member._encoder = model._encoder
        member.n_features_in_ = schema.n_features
        if names is not None:
            member.feature_names_in_ = names
        if is_classifier(model):
            member.classes_ = model.classes_
        return member

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: what is derived from them is not pickled."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


class MembersMixin:
    """Access to the fitted members, as in scikit-learn's ensembles.

    An ensemble has either ``_members``, a list, or ``_trees``, a :class:`TableTrees`.
    """

    _fitted_privately: ClassVar[tuple[str, ...]] = ("_members", "_trees")
    _trees: TableTrees
    _members: list[Any]

    @property
    def estimators_(self) -> list[Any]:
        """The fitted members; trees that grew on one table are created on access."""
        if "_trees" in self.__dict__:
            return list(self._trees.members)
        if "_members" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no estimators_ before fit")
        return self._members

    @estimators_.setter
    def estimators_(self, members: list[Any]) -> None:
        self.__dict__.pop("_trees", None)
        self._members = members

    def _count_members(self) -> int:
        return self._trees.n_members if "_trees" in self.__dict__ else len(self.estimators_)

    def __sklearn_is_fitted__(self) -> bool:
        return "_trees" in self.__dict__ or "_members" in self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Older pickles have attributes that are properties now.
        own = type(self)
        kept = {k: v for k, v in state.items() if not isinstance(getattr(own, k, None), property)}
        if "estimators_" in state:
            kept["_members"] = state["estimators_"]
        super().__setstate__(kept)  # type: ignore[misc]

    def __len__(self) -> int:
        """Return the number of members."""
        return self._count_members()

    def __getitem__(self, index: Any) -> Any:
        """Return a member, or several for a slice."""
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        """Return an iterator over the members."""
        return iter(self.estimators_)

    def __bool__(self) -> bool:
        """Return True, fitted or not: an estimator is not an empty list."""
        return True
