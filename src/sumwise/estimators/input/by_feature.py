"""Parameters with a value for each feature: an array, or a dict by feature name."""

import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, Self

import numpy as np

from sumwise.data.categories.encoder import CategoryEncoder
from sumwise.data.thresholds import MAX_BINS, MOST_BINS
from sumwise.errors import ParameterError
from sumwise.estimators.input.parameters import check_integer
from sumwise.parts import is_number
from sumwise.sampling import Columns


class KnowsFeatures(Protocol):
    """An estimator that has read X; ``feature_names_in_`` is set if X has names."""

    n_features_in_: int


@dataclass(frozen=True)
class FeatureParameter:
    """A parameter with values for features, and the features of X.

    ``owner`` is the class name of the estimator, ``name`` and ``value`` are those of the parameter.
    ``by_feature`` has the values: the parameter itself, or an attribute of it. ``names`` are the
    names of the features, empty if X has none.
    """

    owner: str
    name: str
    value: Any
    by_feature: Any
    n_features: int
    names: Sequence[str]

    @classmethod
    def of(cls, owner: KnowsFeatures, name: str, attribute: str = "") -> Self:
        """Return a parameter of an estimator."""
        value = getattr(owner, name)
        by_feature = getattr(value, attribute) if attribute else value
        names = getattr(owner, "feature_names_in_", ())
        return cls(type(owner).__name__, name, value, by_feature, owner.n_features_in_, names)

    def read(self, default: Any, rule: str, check: Callable[[str, Any], Any]) -> list[Any]:
        """Return one value per feature.

        Features that a dict does not name have the ``default``. ``rule`` describes valid values of
        the parameter. ``check`` takes the position of a value, and the value, and returns the
        checked value.
        """
        if isinstance(self.by_feature, Mapping):
            values = [default] * self.n_features
            for key, value in self.by_feature.items():
                values[self.find(key, by_index=False)] = check(repr(key), value)
            return values
        items = None if isinstance(self.by_feature, str) else list_items(self.by_feature)
        if items is None or len(items) != self.n_features:
            found = "" if items is None else f", not {len(items)}"
            self.refuse(f"must be {rule} for each of {self.n_features} features{found}")
        return [check(str(feature), value) for feature, value in enumerate(items)]

    def find(self, feature: Any, by_index: bool = True) -> int:
        """Return the index of a feature given by its name or, if allowed, by its index."""
        if isinstance(feature, str):
            if not len(self.names):
                self.refuse(f"X has no feature names, so {feature!r} is unknown")
            places = np.flatnonzero(np.asarray(self.names, dtype=object) == feature)
            if not places.size:
                self.refuse(f"X has no feature {feature!r}")
            return int(places[0])
        if not by_index or not is_number(feature, numbers.Integral):
            self.refuse(f"{feature!r} is not a feature")
        if not 0 <= feature < self.n_features:
            self.refuse(f"feature {feature} is not one of 0 to {self.n_features - 1}")
        return int(feature)

    def refuse(self, rule: str) -> NoReturn:
        """Raise an error that shows the parameter and its valid values."""
        raise ParameterError(f"{self.owner}: {self.name}={self.value!r}; {rule}")

    def refuse_item(self, place: str, item: Any, rule: str) -> NoReturn:
        """Raise an error that shows the value of one feature and the valid ones."""
        raise ParameterError(f"{self.owner}: {self.name}[{place}]={item!r}; {rule}")


def list_items(values: Any) -> list[Any] | None:
    """Return an iterable as a list, None for anything else."""
    try:
        return list(values) if isinstance(values, Iterable) else None
    except TypeError:  # an array without dimensions
        return None


def check_max_bins(owner: object, max_bins: Any) -> None:
    """Refuse ``max_bins`` that are invalid for any X."""
    if isinstance(max_bins, str) or (
        not isinstance(max_bins, Mapping) and list_items(max_bins) is None
    ):
        check_integer(owner, "max_bins", 2, MOST_BINS)


def read_max_bins(owner: KnowsFeatures, encoder: CategoryEncoder | None) -> int | np.ndarray:
    """Return ``max_bins``: one number, or one for each column of the (encoded) table."""
    parameter = FeatureParameter.of(owner, "max_bins")

    def check(place: str, value: Any) -> int:
        if not is_number(value, numbers.Integral) or not 2 <= value <= MOST_BINS:
            rule = f"must be an integer of at least 2 and at most {MOST_BINS}"
            parameter.refuse_item(place, value, rule)
        return int(value)

    if is_number(parameter.value, numbers.Integral):
        return int(parameter.value)
    rule = f"an integer of 2 to {MOST_BINS}, a dict of feature names, or an array with one"
    by_feature = parameter.read(MAX_BINS, rule, check)
    return np.array(_spread(by_feature, encoder, max), dtype=np.int64)


def read_weights(
    owner: KnowsFeatures, columns: Columns | None, encoder: CategoryEncoder | None
) -> Columns | None:
    """Return column sampling with a weight for each column of the (encoded) table."""
    if columns is None or columns.weights is None:
        return columns
    parameter = FeatureParameter.of(owner, "columns", "weights")

    def check(place: str, value: Any) -> float:
        if not is_number(value) or not 0 <= value < np.inf:
            rule = f"weights[{place}] is {value!r}; it must be a finite number of at least 0"
            parameter.refuse(rule)
        return float(value)

    rule = "of weights that are None, a dict of feature names, or an array with one"
    by_feature = parameter.read(1.0, rule, check)
    if not any(by_feature):
        parameter.refuse("all weights are 0, which leaves no feature to split on")
    weights = _spread(by_feature, encoder, min)
    return Columns(columns.by_tree, columns.by_level, columns.by_node, weights)


def _spread(
    by_feature: list[Any], encoder: CategoryEncoder | None, combine: Callable[[Iterable[Any]], Any]
) -> list[Any]:
    """Return values by column; ``combine`` joins those of a column made of several features."""
    if encoder is None:
        return by_feature
    return [combine(by_feature[f] for f in column.features) for column in encoder.columns]
