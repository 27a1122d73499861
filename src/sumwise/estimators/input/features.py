"""The schema of the features of a fit, and reading X of ``fit`` and ``predict``."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_consistent_length, validate_data

from sumwise.data.batches.sources import is_source
from sumwise.data.frames.columns import CATEGORY, DATE, DURATION, NUMBER, Column
from sumwise.data.frames.reading import ColumnFrame, read_input, refuse_repeated_names
from sumwise.data.matrix import Matrix, check_matrix, rounds_integers
from sumwise.data.on_device import is_on_device
from sumwise.data.schema import FeatureSchema as FeatureSchema  # pickles name it here, too
from sumwise.data.schema import learn_schema, list_some
from sumwise.data.sparse import is_sparse
from sumwise.data.sparse.frame import SparseFrame
from sumwise.errors import DataError, DataWarning, ParameterError
from sumwise.estimators.input.on_device import read_device_rows, read_device_training_data
from sumwise.estimators.input.parameters import check_choice
from sumwise.estimators.input.sparse import (
    read_sparse_rows,
    read_sparse_training_data,
    refuse_categories,
)
from sumwise.estimators.input.targets import describe_rounding, read_target
from sumwise.estimators.warn import warn_user


class ReadsFeatures(Protocol):
    """The parameters of an estimator that say how it reads X."""

    categorical_features: Any
    unknown_category: str
    extra_columns: str


class KnowsSchema(ReadsFeatures, Protocol):
    """An estimator that has read X; ``feature_names_in_`` is set if X has names."""

    n_features_in_: int
    schema_: FeatureSchema

    def __sklearn_is_fitted__(self) -> bool: ...


def read_training_data(
    estimator: ReadsFeatures,
    X: Any,
    y: Any,
    known: FeatureSchema | None = None,
    *,
    many_targets: bool = False,
    unknown_code: float = np.nan,
) -> tuple[Any, Any, FeatureSchema]:
    """Check X and y of ``fit``; return X as kernels read it, y as an array, and the schema.

    Sets ``n_features_in_`` and ``feature_names_in_``.

    Parameters
    ----------
    estimator : estimator
    X, y : any
        The arguments of ``fit``.
    known : FeatureSchema or None
        The schema of the model that training continues: its trees know categories by these codes.
    many_targets : bool
        Whether y may have several columns.
    unknown_code : float
        The code of categories that are not in the ``known`` schema.
    """
    chosen = estimator.categorical_features
    is_auto = isinstance(chosen, str) and chosen == "auto"
    y = read_target(y, is_number=isinstance(estimator, RegressorMixin), many=many_targets)
    only_numbers = (is_auto or chosen is None) if known is None else known.is_numeric
    if is_on_device(X):
        matrix = read_device_training_data(estimator, X, y)
        return matrix, y, FeatureSchema.of_numbers(matrix.shape[1])
    X = read_input(X, sparse=only_numbers)
    if isinstance(X, SparseFrame) or is_sparse(X):
        if not only_numbers:
            refuse_categories(estimator, chosen if known is None else None)
        with _sums_may_overflow():
            X, y = read_sparse_training_data(estimator, X, y, many_targets)
        return X, y, FeatureSchema.of_numbers(X.shape[1])
    if not isinstance(X, ColumnFrame):
        _refuse_source(estimator, X)
        if _are_plain(X, y) and not hasattr(estimator, "feature_names_in_"):
            estimator.n_features_in_ = X.shape[1]  # type: ignore[attr-defined]
        else:
            with _sums_may_overflow():
                options = {"dtype": "numeric", "ensure_all_finite": False}
                X, y = validate_data(estimator, X, y, **options, multi_output=many_targets)
            check_matrix(X)
        if only_numbers:
            if rounds_integers(X):
                warn_user(describe_rounding("X"), DataWarning)
            return X, y, FeatureSchema.of_numbers(X.shape[1])
        X = ColumnFrame.from_array(X, getattr(estimator, "feature_names_in_", None))
    else:
        _check_size(X)
        check_features(estimator, X.source, y)
        check_consistent_length(X.source, y)
    if known is not None and known.n_features == len(X.columns):
        return known.convert(X, estimator.unknown_category, unknown_code), y, known
    if is_auto or chosen is None:
        is_category = [is_auto and column.kind == CATEGORY for column in X.columns]
    else:
        names = getattr(estimator, "feature_names_in_", None)
        is_category = find_chosen(chosen, names, len(X.columns)).tolist()
    schema = learn_schema(X.columns, is_category)
    for message in _find_surprises(X.columns, schema):
        warn_user(message, DataWarning)
    return schema.convert(X, "missing"), y, schema


def _refuse_source(estimator: object, X: Any) -> None:
    """Refuse a file, dataset or function where rows are not read in batches."""
    if is_source(X):
        raise DataError(
            f"{type(estimator).__name__}: X is a {type(X).__name__}, and rows are not read in "
            "batches here; read the data into memory and pass a frame or an array"
        )


def _are_plain(X: Any, y: Any) -> bool:
    """Whether scikit-learn's checks would return X and y, a checked target, as they are.

    They take longer than a fit on a few rows.
    """
    return (
        _is_plain_matrix(X)
        and type(y) is np.ndarray
        and y.dtype.kind in "biuf"
        and y.shape == X.shape[:1]
    )


def _is_plain_matrix(X: Any) -> bool:
    """Whether X is a matrix of float32 or float64 that is not empty."""
    return (
        type(X) is np.ndarray and X.ndim == 2 and X.dtype in (np.float32, np.float64) and X.size > 0
    )


def _sums_may_overflow() -> Any:
    """Silence NumPy: scikit-learn sums y to test whether it is finite; we have checked this."""
    return np.errstate(over="ignore", invalid="ignore")


def check_features(estimator: object, X: Any, y: Any = "no_validation", reset: bool = True) -> None:
    """Store names and number of features, or (``reset=False``) compare them with those of fit.

    X is not converted: members of an ensemble read it. Pass ``y`` to have a missing y refused.
    """
    refuse_repeated_names(X)
    validate_data(estimator, X, y, reset=reset, skip_check_array=True)


class ReadRows(NamedTuple):
    """Rows that :func:`read_rows` has read before: every method that predicts takes them as X.

    Attributes
    ----------
    matrix : Matrix
        What it returned for the same estimator, with values of the same features.
    """

    matrix: Matrix


def read_rows(estimator: KnowsSchema, X: Any, unknown_code: float = np.nan) -> Any:
    """Check X of ``predict`` against the schema of ``fit``; return it as kernels read it.

    Categories that ``fit`` has not seen get the ``unknown_code``.
    """
    if isinstance(X, ReadRows):
        return X.matrix
    if is_on_device(X):
        return read_device_rows(estimator, X)
    schema = estimator.schema_
    ignores = estimator.extra_columns == "ignore"
    known = getattr(estimator, "feature_names_in_", None)
    X = read_input(X, known if ignores else None, sparse=schema.is_numeric)
    if isinstance(X, SparseFrame) or is_sparse(X):
        if not schema.is_numeric:
            refuse_categories(estimator)
        return read_sparse_rows(estimator, X)
    if not isinstance(X, ColumnFrame):
        _refuse_source(estimator, X)
        X = validate_data(estimator, X, reset=False, dtype="numeric", ensure_all_finite=False)
        check_matrix(X)
        if schema.is_numeric:
            return X
        X = ColumnFrame.from_array(X, known)
    else:
        check_features(estimator, X.source, reset=False)
        _check_size(X)
    return schema.convert(X, estimator.unknown_category, unknown_code)


def needs_no_check(estimator: KnowsSchema, X: Any) -> bool:
    """Whether the estimator is fitted and :func:`read_rows` would return X as it is.

    True for a plain matrix of float32 or float64 with rows and the right number of columns, unless
    the model knows feature names: then it must warn that X has none. The full check would take
    longer than predicting one row.
    """
    return (
        _is_plain_matrix(X)
        and estimator.__sklearn_is_fitted__()
        and X.shape[1] == estimator.n_features_in_
        and estimator.schema_.is_numeric
        and not hasattr(estimator, "feature_names_in_")
    )


def check_feature_parameters(estimator: ReadsFeatures) -> None:
    """Check the parameters that say how features are read."""
    check_choice(estimator, "unknown_category", ("missing", "error"))
    check_choice(estimator, "extra_columns", ("error", "ignore"))


def find_chosen(chosen: Any, names: Sequence[str] | None, n_features: int) -> np.ndarray:
    """Return which features are named in ``categorical_features``, as a mask."""

    def refuse(rule: str) -> ParameterError:
        return ParameterError(f"categorical_features={chosen!r}: {rule}")

    if isinstance(chosen, str):
        raise refuse("must be 'auto', None, or a list of names, indices or booleans")
    try:
        items = np.asarray(chosen, dtype=object).ravel().tolist()
    except (TypeError, ValueError):
        items = [chosen]
    mask = np.zeros(n_features, dtype=np.bool_)
    if items and all(isinstance(item, (bool, np.bool_)) for item in items):
        if len(items) != n_features:
            raise refuse(f"has {len(items)} booleans, and X has {n_features} features")
        mask[:] = items
    elif all(isinstance(item, str) for item in items):
        places = {name: f for f, name in enumerate(() if names is None else names)}
        unknown = [item for item in items if item not in places]
        if unknown:
            hint = "" if places else "; it has no names, so use indices"
            raise refuse(f"X has no column {unknown[0]!r}{hint}")
        mask[[places[item] for item in items]] = True
    elif all(isinstance(i, (int, np.integer)) and not isinstance(i, bool) for i in items):
        outside = [item for item in items if not -n_features <= item < n_features]
        if outside:
            raise refuse(f"X has {n_features} features, none with index {outside[0]}")
        mask[items] = True
    else:
        raise refuse("must be 'auto', None, or a list of names, indices or booleans")
    return mask


def _check_size(table: ColumnFrame) -> None:
    """Refuse tables without rows or columns, in scikit-learn's words."""
    shape = (table.n_rows, len(table.columns))
    for size, what in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if size == 0:
            raise DataError(
                f"Found array with 0 {what} (shape={shape}) while a minimum of 1 is required."
            )


def _find_surprises(columns: Sequence[Column], schema: FeatureSchema) -> Iterator[str]:
    """Yield warnings about numbers that may surprise: dates, and integers that are rounded."""
    labels = [column.label for column in columns]
    yield from describe_times(labels, schema)
    own = zip(columns, schema.kinds, strict=True)
    rounded = [column.label for column, kind in own if kind == NUMBER and column.rounds_integers()]
    if rounded:
        yield describe_rounding(list_some(rounded))


def describe_times(labels: Sequence[str], schema: FeatureSchema) -> Iterator[str]:
    """Yield a warning if features are dates or durations."""
    own = zip(labels, schema.kinds, strict=True)
    times = [label for label, kind in own if kind in (DATE, DURATION)]
    if times:
        yield (
            "dates and durations are read as numbers: in seconds, dates since 1970-01-01 UTC "
            f"({list_some(times)})"
        )
