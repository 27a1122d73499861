"""Rows that the trees have not seen: which ones, and their predictions by cross-validation."""

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone

from sumwise.errors import DataError
from sumwise.estimators.input.parameters import check_choice, refuse
from sumwise.estimators.warn import warn_nothing
from sumwise.parts import is_number

OOB, CV, HELD_OUT = "oob", "cv", "holdout"
DEFAULT_FOLDS = 5


class LearnsFromUnseen(Protocol):
    """An estimator with these parameters; classifiers also have ``calibrate``."""

    conformal: bool
    calibration_rows: Any


def needs_unseen(model: LearnsFromUnseen) -> bool:
    """Whether a fit needs predictions of rows that the trees have not seen."""
    return getattr(model, "calibrate", None) is not None or bool(model.conformal)


def check_unseen(model: LearnsFromUnseen, methods: tuple[str, ...], rows: tuple[str, ...]) -> None:
    """Check the parameters; ``methods`` and ``rows`` are the valid names."""
    if getattr(model, "calibrate", None) is not None:
        check_choice(model, "calibrate", methods)
    check_choice(model, "conformal", (True, False))
    given = model.calibration_rows
    is_name = isinstance(given, str) and given in ("auto", *rows)
    if not is_name and not (is_number(given, Integral) and given >= 2):
        names = ", ".join(map(repr, ("auto", *rows)))
        refuse(model, "calibration_rows", f"must be {names} or a number of folds, at least 2")


def count_folds(model: LearnsFromUnseen) -> int:
    """Return the number of folds of cross-validation."""
    given = model.calibration_rows
    return DEFAULT_FOLDS if isinstance(given, str) else int(given)


def clone_uncalibrated(model: Any) -> Any:
    """Return an unfitted copy that learns trees only."""
    return _set_some(clone(model), {"calibrate": None, "conformal": False})


def clone_for_fold(model: Any) -> Any:
    """Return such a copy that also reports nothing and starts anew."""
    quiet = {"callbacks": None, "track_training_loss": False, "verbose": False}
    more = {"oob_score": False, "warm_start": False}
    return _set_some(clone_uncalibrated(model), quiet | more)


def _set_some(model: Any, params: dict[str, Any]) -> Any:
    """Set those of the parameters that a model has."""
    own = model.get_params(deep=False)
    return model.set_params(**{name: value for name, value in params.items() if name in own})


def predict_unseen(
    fit_fold: Callable[[np.ndarray, np.ndarray], np.ndarray], folds: np.ndarray
) -> np.ndarray:
    """Return out-of-fold predictions of all rows.

    Parameters
    ----------
    fit_fold : callable
        From the rows to learn from and those to predict, to the predictions of the latter.
    folds : ndarray of int
        The fold of each row.
    """
    found = [predict_fold(fit_fold, folds, fold) for fold in range(int(folds.max()) + 1)]
    return gather_folds(found, folds)


def predict_fold(
    fit_fold: Callable[[np.ndarray, np.ndarray], np.ndarray], folds: np.ndarray, fold: int
) -> np.ndarray:
    """Return the predictions of the rows of one fold; see :func:`predict_unseen`."""
    is_test = folds == fold
    with warn_nothing():  # the fit on all rows warns
        return fit_fold(np.flatnonzero(~is_test), np.flatnonzero(is_test))


def gather_folds(found: Sequence[np.ndarray], folds: np.ndarray) -> np.ndarray:
    """Return the predictions of all rows in their order, from those of each fold."""
    gathered = np.empty((folds.size, *found[0].shape[1:]))
    for fold, own in enumerate(found):
        gathered[folds == fold] = own
    return gathered


def draw_folds(
    n_folds: int,
    n_rows: int,
    labels: np.ndarray | None,
    groups: np.ndarray | None,
    seed: int,
) -> np.ndarray:
    """Return a random fold for each row.

    Parameters
    ----------
    n_folds : int
        There are fewer folds if there are fewer rows or groups.
    n_rows : int
    labels : ndarray of int or None
        Class of each row; classes are spread evenly over the folds.
    groups : ndarray of int or None
        Group of each row; a group stays in one fold, and classes are not spread.
    seed : int
    """
    n_units = n_rows if groups is None else int(np.unique(groups).size)
    if n_units < 2:
        what = "row" if groups is None else "group"
        raise DataError(
            f"calibration by cross-validation needs at least two {what}s, and there is one "
            f"(n_samples={n_rows})"
        )
    n_folds = min(n_folds, n_units)
    rng = np.random.RandomState(seed)
    if groups is not None:
        return _spread_groups(n_folds, groups, rng)
    order = rng.permutation(n_rows)
    if labels is not None:
        order = order[np.argsort(labels[order], kind="stable")]
    folds = np.empty(n_rows, dtype=np.intp)
    folds[order] = np.arange(n_rows) % n_folds
    return folds


def _spread_groups(n_folds: int, groups: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Put each group into the fold with the fewest rows, the largest groups first."""
    _, group_idx, counts = np.unique(groups, return_inverse=True, return_counts=True)
    order = rng.permutation(counts.size)
    order = order[np.argsort(-counts[order], kind="stable")]
    sizes, fold_of_group = np.zeros(n_folds, dtype=np.intp), np.empty(counts.size, dtype=np.intp)
    for group in order:
        fold_of_group[group] = sizes.argmin()
        sizes[fold_of_group[group]] += counts[group]
    return fold_of_group[group_idx]


def refuse_missing_classes(known: np.ndarray, classes: np.ndarray) -> None:
    """Refuse folds whose models do not know all classes."""
    if np.array_equal(known, classes):
        return
    missing = [label for label in classes.tolist() if label not in known.tolist()]
    raise DataError(
        f"calibration by cross-validation: class {missing[0]!r} has too few rows: they are all in "
        "one fold, whose model learns without them (n_samples of a class, or its number of groups, "
        "must be at least 2)"
    )
