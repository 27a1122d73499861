"""Out-of-fold predictions: each row is predicted by a model that did not see it."""

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params

from sumwise.combine.classes import place_classes
from sumwise.errors import DataError

Fold = tuple[np.ndarray, np.ndarray]


def make_folds(cv: Any, X: Any, y: np.ndarray, classifier: bool, **split_params: Any) -> list[Fold]:
    """Return (training rows, test rows) of each fold; no row may be tested twice.

    ``cv`` is what scikit-learn takes: a number of folds, a splitter or an iterable of pairs. With
    groups, a number of folds keeps each group in one fold.
    """
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv

    if split_params.get("groups") is not None and isinstance(cv, Integral):
        splitter = (StratifiedGroupKFold if classifier else GroupKFold)(n_splits=int(cv))
    else:
        splitter = check_cv(cv, y, classifier=classifier)
    folds = list(splitter.split(X, y, **split_params))
    if not folds:
        raise DataError("cv has no folds")
    if np.bincount(np.concatenate([test for _, test in folds]), minlength=1).max() > 1:
        raise DataError(
            "cv tests some rows more than once; out-of-fold predictions need folds that do not "
            "overlap, such as KFold, StratifiedKFold, GroupKFold, LeaveOneOut or TimeSeriesSplit"
        )
    return folds


def predict_out_of_fold(
    estimator: Any,
    X: Any,
    y: np.ndarray,
    cv: Any = 5,
    method: str = "predict",
    groups: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    fit_params: Mapping[str, Any] | None = None,
    n_classes: int | None = None,
) -> np.ndarray:
    """Predict each row by a clone of the estimator that was fitted without it.

    Parameters
    ----------
    estimator : estimator
    X : frame, array-like or sparse matrix
        Passed on as it is.
    y : ndarray of shape (n_rows,)
        Numbers, or class indices 0, 1, ... for a classifier.
    cv : int, splitter or iterable
        Folds, as scikit-learn takes them.
    method : {"predict", "predict_proba"}
    groups, sample_weight : array-like or None
        For the splitter, and for ``fit``.
    n_jobs : int or None
        Folds that are fitted at once.
    fit_params : mapping or None
        More arguments of ``fit``; those with a value a row are split as X is.
    n_classes : int or None
        Columns of probabilities; None for as many as y has.

    Returns
    -------
    ndarray of float64, shape (n_rows,) or (n_rows, n_classes)
        NaN for rows that no fold tests.
    """
    (X,) = indexable(X)
    split_params = {} if groups is None else {"groups": groups}
    folds = make_folds(cv, X, y, is_classifier(estimator), **split_params)
    params = dict(fit_params or {})
    if sample_weight is not None:
        params["sample_weight"] = sample_weight
    n_columns = 0
    if method == "predict_proba":
        n_columns = int(y.max()) + 1 if n_classes is None else n_classes
    parts = Parallel(n_jobs=n_jobs)(
        delayed(_predict_fold)(clone(estimator), X, y, fold, method, params, n_columns)
        for fold in folds
    )
    shape = (len(y), n_columns) if n_columns else (len(y),)
    predictions = np.full(shape, np.nan)
    for (_, test), part in zip(folds, parts, strict=True):
        predictions[test] = part
    return predictions


def _predict_fold(
    estimator: Any,
    X: Any,
    y: np.ndarray,
    fold: Fold,
    method: str,
    params: Mapping[str, Any],
    n_classes: int,
) -> np.ndarray:
    train, test = fold
    X_train, y_train = _safe_split(estimator, X, y, train)
    X_test, _ = _safe_split(estimator, X, None, test, train)
    estimator.fit(X_train, y_train, **_check_method_params(X, params, train))
    predicted = getattr(estimator, method)(X_test)
    if method == "predict_proba":
        predicted = place_classes(predicted, estimator.classes_.astype(np.intp), n_classes)
    return predicted
