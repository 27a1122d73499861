"""Sparse input: what estimators accept, and how its features are bundled."""

from typing import Any

import numpy as np
from sklearn.utils import get_tags

from sumwise.data.bundling import Bundling
from sumwise.data.sparse import SparseMatrix, is_sparse
from sumwise.errors import DataError
from sumwise.estimators.parameters import resolve_part

_FORMATS = ("csr", "csc")


def resolve_bundling(estimator: Any) -> Bundling | None:
    """Return the checked part that ``bundling`` stands for."""
    value = estimator.bundling
    if isinstance(value, str) and value == "auto":
        return Bundling()
    return resolve_part(estimator, "bundling", [Bundling], names=True)


def accepted_formats(estimator: Any, X: Any) -> tuple[str, ...] | bool:
    """Return the sparse formats that scikit-learn's checks let pass; others it converts."""
    return is_sparse(X) and get_tags(estimator).input_tags.sparse and _FORMATS


def wrap_sparse(estimator: Any, X: Any) -> SparseMatrix:
    """Return a checked sparse matrix as kernels read it."""
    is_value = getattr(estimator, "sparse_zeros", "value") == "value"
    return SparseMatrix.from_scipy(X, 0.0 if is_value else np.nan)


def refuse_categories(estimator: Any) -> None:
    """Raise DataError where features of a sparse matrix are meant to be categories."""
    raise DataError(
        f"{type(estimator).__name__}: features of a sparse X are numbers, and "
        f"categorical_features={estimator.categorical_features!r}; pass a frame or an array, "
        "or encode the categories"
    )
