"""Reading sparse X: matrices, and frames with sparse columns."""

from typing import Any, NoReturn

import numpy as np
from sklearn.utils.validation import check_consistent_length, validate_data

from sumwise.data.matrix import check_matrix, rounds_integers
from sumwise.data.sparse.frame import SparseFrame
from sumwise.data.sparse.matrix import SparseMatrix
from sumwise.errors import DataError, DataWarning
from sumwise.estimators.input.targets import describe_rounding
from sumwise.estimators.warn import warn_user

_CHECKS: dict[str, Any] = {
    "accept_sparse": ("csr", "csc"),
    "dtype": "numeric",
    "ensure_all_finite": False,
}


def read_sparse_training_data(
    estimator: object, X: Any, y: Any, many_targets: bool
) -> tuple[SparseMatrix, Any]:
    """Check sparse X and y of ``fit``; return X as kernels read it, and y.

    Sets ``n_features_in_`` and ``feature_names_in_``.
    """
    if isinstance(X, SparseFrame):
        validate_data(estimator, X.source, y, skip_check_array=True)
        check_consistent_length(X.source, y)
        given = X.matrix
    else:
        given, y = validate_data(estimator, X, y, multi_output=many_targets, **_CHECKS)
        check_matrix(given)
    if rounds_integers(given.data):
        warn_user(describe_rounding("X"), DataWarning)
    return _as_matrix(estimator, X, given), y


def read_sparse_rows(estimator: object, X: Any) -> SparseMatrix:
    """Check sparse X of ``predict``; return it as kernels read it."""
    if isinstance(X, SparseFrame):
        validate_data(estimator, X.source, reset=False, skip_check_array=True)
        return _as_matrix(estimator, X, X.matrix)
    given = validate_data(estimator, X, reset=False, **_CHECKS)
    check_matrix(given)
    return _as_matrix(estimator, X, given)


def _as_matrix(estimator: object, X: Any, given: Any) -> SparseMatrix:
    """Return a checked matrix with the value of entries that are not stored."""
    is_missing = getattr(estimator, "sparse_zeros", "value") == "missing"
    is_missing |= isinstance(X, SparseFrame) and X.is_missing
    return SparseMatrix.from_scipy(given, np.nan if is_missing else 0.0)


def refuse_categories(estimator: object, chosen: Any = None) -> NoReturn:
    """Raise DataError because features of a sparse X cannot be categories.

    ``chosen`` is the parameter ``categorical_features`` of a new fit; None if a model was fitted on
    categories.
    """
    name = type(estimator).__name__
    if chosen is None:
        raise DataError(
            f"{name}: features of a sparse X are numbers, and the model was fitted on categories, "
            "too; pass a frame or an array"
        )
    raise DataError(
        f"{name}: features of a sparse X are numbers, and categorical_features={chosen!r}; pass a "
        "frame or an array, or encode the categories"
    )
