"""Values that several libraries write in the same way, as sumwise takes them."""

import inspect
import json
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from sumwise.errors import ParameterError

_MOST_SEED = 2**31 - 1


def find_seed(given: Any) -> Any:
    """Return ``random_state``: other libraries are deterministic if nothing is given."""
    if given is None:
        return 0
    if isinstance(given, np.random.Generator):
        return int(given.integers(_MOST_SEED))
    return given


def find_threads(given: Any) -> Any:
    """Return ``n_jobs``: 0 and -1 stand for all threads, -2 for all but one."""
    if given in (None, 0, -1):
        return None
    return effective_n_jobs(given) if given < 0 else given


def read_names(given: Any) -> Any:
    """Return directions by feature: a list, an array or a dict, or text such as "(1,-1)"."""
    if not isinstance(given, str):
        return given if isinstance(given, dict) else np.asarray(given)
    inner = given.strip().strip("()[]")
    if ":" in inner:
        pairs = [item.rsplit(":", 1) for item in inner.split(",")]
        if all(name.strip().isdigit() for name, _ in pairs):
            raise ParameterError(
                f"monotone constraints {given!r}: pass a list of directions, or a dict by name"
            )
        return {name.strip(): int(direction) for name, direction in pairs}
    return np.array([int(item) for item in inner.split(",") if item.strip()])


def read_groups(given: Any) -> list[list[Any]]:
    """Return groups of features that may interact: lists of names or numbers, or text of them."""
    if isinstance(given, str):
        text = given.strip()
        try:
            given = json.loads(text if text.startswith("[[") else f"[{text}]")
        except ValueError:
            raise ParameterError(
                f"interaction constraints {given!r}: must be lists of features"
            ) from None
    return [list(group) for group in given]


def list_rest(groups: Iterable[Iterable[Any]], names: list[str] | None, n_features: int) -> list:
    """Return the features that no group has, by number."""
    places = {name: place for place, name in enumerate(names or ())}
    used = {places.get(name, name) for group in groups for name in group}
    return [k for k in range(n_features) if k not in used]


class UserObjective:
    """A loss function of sumwise from an objective (y_true, y_pred) or (y_true, y_pred, weight).

    Weights are applied by sumwise: a function that takes them gets None.
    """

    def __init__(self, owner: str, function: Callable[..., Any]) -> None:
        n_taken = len(inspect.signature(function).parameters)
        if not 2 <= n_taken <= 3:
            raise ParameterError(
                f"{owner}: an objective is a function of (y_true, y_pred), which returns gradient "
                f"and hessian; this one takes {n_taken} arguments"
            )
        self.function, self.takes_weight = function, n_taken == 3

    def __call__(self, y: np.ndarray, raw: np.ndarray) -> Any:
        """Return gradient and hessian."""
        return self.function(y, raw, None) if self.takes_weight else self.function(y, raw)


def count_columns(X: Any) -> int:
    """Return the number of features of a table."""
    shape = getattr(X, "shape", None)
    return int(shape[1] if shape is not None and len(shape) == 2 else np.shape(X)[1])


def list_columns(X: Any) -> list[str] | None:
    """Return the names of the features of a frame, None of an array."""
    columns = getattr(X, "column_names", None)  # of Arrow, whose columns are data
    columns = getattr(X, "columns", None) if columns is None else columns
    return None if columns is None else [str(name) for name in columns]


def find_classes(y: Any) -> np.ndarray | None:
    """Return the classes of a target; None if it cannot be read, which ``fit`` will refuse."""
    if y is None:
        return None
    try:
        return np.unique(np.asarray(y))
    except TypeError:
        return None


def weigh_classes(sample_weight: Any, class_weight: Any, y: Any) -> Any:
    """Return sample weights multiplied by weights of classes."""
    from sklearn.utils.class_weight import compute_sample_weight

    by_class = compute_sample_weight(class_weight, np.asarray(y))
    return by_class if sample_weight is None else np.asarray(sample_weight) * by_class
