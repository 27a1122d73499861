"""X in the memory of a GPU."""

from importlib import import_module
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, validate_data

from sumwise.data.device_matrix import DeviceMatrix
from sumwise.data.on_device import explain_place
from sumwise.errors import DataError


def read_device_training_data(estimator: Any, X: Any, y: Any) -> DeviceMatrix:
    """Return X of ``fit`` as a matrix; set ``n_features_in_`` and ``feature_names_in_``."""
    refuse_device(estimator, X)
    if estimator.device == "cpu":
        raise DataError(f"{explain_place(X)}; use device='cuda' to train on a GPU")
    chosen = estimator.categorical_features
    if chosen is not None and not (isinstance(chosen, str) and chosen == "auto"):
        raise DataError(
            f"{explain_place(X)}; there, all features are numbers: with categorical_features="
            f"{chosen!r} pass X in the memory of the host"
        )
    matrix = _read(estimator, X, reset=True)
    if y is not None:
        check_consistent_length(np.broadcast_to(0.0, matrix.shape), y)
    return matrix


def read_device_rows(estimator: Any, X: Any) -> DeviceMatrix:
    """Return X of ``predict`` as a matrix, checked against the features of ``fit``."""
    refuse_device(estimator, X)
    if not estimator.schema_.is_numeric:
        raise DataError(
            f"{explain_place(X)}; the model has categories or dates, which are read in the memory "
            "of the host"
        )
    names = getattr(estimator, "feature_names_in_", None)
    if estimator.extra_columns == "ignore" and names is not None and hasattr(X, "columns"):
        X = X[[name for name in X.columns if name in set(names)]]
    return _read(estimator, X, reset=False)


def refuse_device(estimator: Any, X: Any) -> None:
    """Raise DataError if an estimator does not read the memory of a GPU."""
    if not hasattr(estimator, "device"):
        raise DataError(
            f"{explain_place(X)}; {type(estimator).__name__} reads the memory of the host"
        )


def _read(estimator: Any, X: Any, reset: bool) -> DeviceMatrix:
    from sumwise.data.device_reading import read_device_matrix  # few users need it

    matrix = read_device_matrix(X)
    for size, what in zip(matrix.shape, ("sample(s)", "feature(s)"), strict=True):
        if size == 0:
            raise DataError(
                f"Found array with 0 {what} (shape={matrix.shape}) while a minimum of 1 is "
                "required."
            )
    validate_data(estimator, _stand_for(matrix), reset=reset, skip_check_array=True)
    return matrix


def _stand_for(X: DeviceMatrix) -> Any:
    """Return what has the features of a matrix and their names, without its values."""
    if X.names is None:
        return np.broadcast_to(0.0, X.shape)
    return import_module("pandas").DataFrame(columns=X.names)  # cuDF needs pandas
