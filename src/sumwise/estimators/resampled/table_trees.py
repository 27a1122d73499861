"""Members of an ensemble, and those that are decision trees on one table.

Such trees are kept as one forest, which predicts all of them at once. Members are estimators as all
others are, made when they are asked for.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from sumwise.lazy import lazy
from sumwise.tree.forest_view import narrow_features


def draw_seed(random_state: Any) -> int:
    """Return the seed that an estimator with this ``random_state`` draws first."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


@dataclass(frozen=True, eq=False)
class TableTrees:
    """All members of an ensemble whose members are trees on one table.

    Attributes
    ----------
    model : DecisionTreeClassifier or DecisionTreeRegressor
        Has the trees of all members, and so predicts their mean.
    recipe : Recipe
        How they were made: ``make_member`` returns the unfitted estimator of a number, and
        ``draw_features`` its features, None for all.
    """

    model: Any
    recipe: Any

    @property
    def n_members(self) -> int:
        return int(self.model.forest_.n_trees)

    @lazy
    def members(self) -> list[Any]:
        """Each tree as an estimator of its own, for the features it was given."""
        return [self._make_member(number) for number in range(self.n_members)]

    def _make_member(self, number: int) -> Any:
        model, member = self.model, self.recipe.make_member(number)
        forest = model.forest_.select(number, number + 1)
        features = self.recipe.draw_features(number)
        names = getattr(model, "feature_names_in_", None)
        schema = model.schema_
        if features is not None:
            forest, schema = narrow_features(forest, features), schema.select(features)
            names = None if names is None else names[features]
        member.forest_, member.schema_ = forest, schema
        member.n_features_in_ = forest.n_features
        if names is not None:
            member.feature_names_in_ = names
        if is_classifier(model):
            member.classes_ = model.classes_
        return member

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone: what is derived from them is not pickled."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


class MembersMixin:
    """Access to the fitted members, as scikit-learn's ensembles have it.

    An ensemble has either ``_members``, a list, or ``_trees``, a :class:`TableTrees`.
    """

    _trees: Any
    _members: list[Any]

    @property
    def estimators_(self) -> list[Any]:
        """The fitted members; trees that grew on one table are made when they are asked for."""
        if "_trees" in self.__dict__:
            return list(self._trees.members)
        if "_members" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no estimators_ before fit")
        return self._members

    @estimators_.setter
    def estimators_(self, members: list[Any]) -> None:
        self.__dict__.pop("_trees", None)
        self._members = members

    def _forget_members(self) -> None:
        for name in ("_members", "_trees"):
            self.__dict__.pop(name, None)

    def _count_members(self) -> int:
        return self._trees.n_members if "_trees" in self.__dict__ else len(self.estimators_)

    def __sklearn_is_fitted__(self) -> bool:
        return "_trees" in self.__dict__ or "_members" in self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        # What is a property now was an attribute in older pickles.
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
        """True, fitted or not: no estimator is an empty list."""
        return True
