"""Sparse input: what estimators accept, and how its features are bundled."""

import warnings
from typing import Any, NoReturn

import numpy as np
from sklearn.utils.validation import check_consistent_length, validate_data

from sumwise.data.bundling import Bundling
from sumwise.data.matrix import check_matrix, rounds_integers
from sumwise.data.sparse import SparseFrame, SparseMatrix
from sumwise.errors import DataError, DataWarning
from sumwise.estimators.input.parameters import resolve_part
from sumwise.estimators.input.targets import describe_rounding

_CHECKS: dict[str, Any] = {
    "accept_sparse": ("csr", "csc"),
    "dtype": "numeric",
    "ensure_all_finite": False,
}
_NO_TARGET = object()


def resolve_bundling(estimator: Any) -> Bundling | None:
    """Return the checked part that ``bundling`` stands for."""
    value = estimator.bundling
    if isinstance(value, str) and value == "auto":
        return Bundling()
    return resolve_part(estimator, "bundling", [Bundling], names=True)


def read_sparse(estimator: Any, X: Any, y: Any = _NO_TARGET) -> Any:
    """Check a sparse matrix, or a frame with sparse columns; return it as kernels read it.

    With ``y``, as for ``fit``, return both and set ``n_features_in_`` and ``feature_names_in_``.
    """
    is_fit = y is not _NO_TARGET
    targets = {"y": y} if is_fit else {}
    is_missing = getattr(estimator, "sparse_zeros", "value") == "missing"
    if isinstance(X, SparseFrame):
        validate_data(estimator, X.source, **targets, reset=is_fit, skip_check_array=True)
        if is_fit:
            check_consistent_length(X.source, y)
        given, is_missing = X.matrix, is_missing or X.is_missing
    else:
        if is_fit:
            targets["multi_output"] = getattr(estimator, "_takes_many_targets", False)
        given = validate_data(estimator, X, **targets, reset=is_fit, **_CHECKS)
        if is_fit:
            given, y = given
        check_matrix(given)
    if is_fit and rounds_integers(given.data):
        warnings.warn(describe_rounding("X"), DataWarning, stacklevel=4)
    matrix = SparseMatrix.from_scipy(given, np.nan if is_missing else 0.0)
    return (matrix, y) if is_fit else matrix


def refuse_categories(estimator: Any, is_fit: bool) -> NoReturn:
    """Raise DataError where features of a sparse matrix are meant to be categories."""
    chosen = f"categorical_features={estimator.categorical_features!r}"
    raise DataError(
        f"{type(estimator).__name__}: features of a sparse X are numbers, and "
        + (chosen if is_fit else "the model was fitted on categories, too")
        + "; pass a frame or an array"
        + (", or encode the categories" if is_fit else "")
    )
