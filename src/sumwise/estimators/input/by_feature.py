"""Parameters with a value for each feature: an array, or a dict by feature name."""

import numbers
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

import numpy as np

from sumwise.data.binning import MAX_BINS, MOST_BINS
from sumwise.data.encoder import CategoryEncoder
from sumwise.errors import ParameterError
from sumwise.sampling import Columns


def read_by_feature(
    estimator: Any,
    name: str,
    given: Any,
    default: Any,
    rule: str,
    check: Callable[[str, Any], Any],
) -> list[Any]:
    """Return a value for each feature of an estimator that knows its features.

    Features that a dict does not name have the ``default``. ``rule`` says what the parameter
    ``name`` may be; ``check`` takes the place of a value, and the value, and returns it checked.
    """
    n_features = estimator.n_features_in_
    if isinstance(given, Mapping):
        places, values = place_names(estimator), [default] * n_features
        for key, value in given.items():
            feature = find_feature(estimator, name, key, places, by_index=False)
            values[feature] = check(repr(key), value)
        return values
    items = None if isinstance(given, str) else list_items(given)
    if items is None or len(items) != n_features:
        found = "" if items is None else f", not {len(items)}"
        refuse(estimator, name, f"must be {rule} for each of {n_features} features{found}")
    return [check(str(feature), value) for feature, value in enumerate(items)]


def list_items(values: Any) -> list[Any] | None:
    """Return what can be iterated over as a list, else None."""
    try:
        return list(values) if isinstance(values, Iterable) else None
    except TypeError:  # an array without dimensions
        return None


def place_names(estimator: Any) -> dict[str, int]:
    """Return the index of each feature by its name; nothing where X has no names."""
    return {name: f for f, name in enumerate(getattr(estimator, "feature_names_in_", ()))}


def find_feature(
    estimator: Any, name: str, feature: Any, places: Mapping[str, int], by_index: bool = True
) -> int:
    """Return the index of a feature, given by that or by its name, which ``places`` tell."""
    if isinstance(feature, str):
        if not places:
            refuse(estimator, name, f"X has no feature names, so that {feature!r} is unknown")
        if feature not in places:
            refuse(estimator, name, f"X has no feature {feature!r}")
        return places[feature]
    is_index = isinstance(feature, numbers.Integral) and not isinstance(feature, (bool, np.bool_))
    if not by_index or not is_index:
        refuse(estimator, name, f"{feature!r} is not a feature")
    n_features = estimator.n_features_in_
    if not 0 <= feature < n_features:
        refuse(estimator, name, f"feature {feature} is not one of 0 to {n_features - 1}")
    return int(feature)


def refuse(estimator: Any, name: str, rule: str, given: str | None = None) -> NoReturn:
    """Raise an error that names the parameter, what was given, and what it may be."""
    value = repr(getattr(estimator, name)) if given is None else given
    raise ParameterError(f"{type(estimator).__name__}: {name}={value}; {rule}")


def _is_number(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, (bool, np.bool_))


# --- bins


def check_max_bins(estimator: Any) -> None:
    """Refuse ``max_bins`` that no X could make right."""
    given = estimator.max_bins
    if isinstance(given, Mapping) or (not isinstance(given, str) and list_items(given) is not None):
        return
    _check_bins(estimator, "max_bins", given)


def read_max_bins(estimator: Any, encoder: CategoryEncoder | None) -> int | np.ndarray:
    """Return ``max_bins``: one number, or one for each column of the (encoded) table."""
    given = estimator.max_bins
    if _is_number(given, numbers.Integral):
        return int(given)
    by_feature = read_by_feature(
        estimator,
        "max_bins",
        given,
        MAX_BINS,
        f"an integer of 2 to {MOST_BINS}, a dict of feature names, or an array with one",
        lambda place, value: _check_bins(estimator, f"max_bins[{place}]", value),
    )
    return np.array(_spread(by_feature, encoder, max), dtype=np.int64)


def _check_bins(estimator: Any, name: str, value: Any) -> int:
    if not _is_number(value, numbers.Integral) or not 2 <= value <= MOST_BINS:
        rule = f"must be an integer of at least 2 and at most {MOST_BINS}"
        refuse(estimator, name, rule, given=repr(value))
    return int(value)


# --- weights


def read_weights(
    estimator: Any, columns: Columns | None, encoder: CategoryEncoder | None
) -> Columns | None:
    """Return column sampling with a weight for each column of the (encoded) table."""
    if columns is None or columns.weights is None:
        return columns
    by_feature = read_by_feature(
        estimator,
        "columns",
        columns.weights,
        1.0,
        "of weights that are None, a dict of feature names, or an array with one",
        lambda place, value: _check_weight(estimator, place, value),
    )
    if not any(by_feature):
        refuse(estimator, "columns", "all weights are 0, which leaves no feature to split on")
    weights = _spread(by_feature, encoder, min)
    return Columns(columns.by_tree, columns.by_level, columns.by_node, weights)


def _check_weight(estimator: Any, place: str, value: Any) -> float:
    if not _is_number(value, numbers.Real) or not 0 <= value < np.inf:
        rule = f"weights[{place}] is {value!r}; it must be a finite number of at least 0"
        refuse(estimator, "columns", rule)
    return float(value)


def _spread(
    by_feature: list[Any], encoder: CategoryEncoder | None, combine: Callable[[Iterable[Any]], Any]
) -> list[Any]:
    """Return values of features as values of the columns that stand for one or several of them."""
    if encoder is None:
        return by_feature
    return [combine(by_feature[f] for f in column.features) for column in encoder.columns]
