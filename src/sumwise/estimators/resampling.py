"""Predictions of models that are fitted repeatedly, on resampled data."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state, resample

from sumwise.errors import DataError, ParameterError
from sumwise.estimators.members import member_predictions


def resample_predictions(
    model: Any,
    X: Any,
    y: Any,
    X_new: Any,
    *,
    n_resamples: int = 50,
    n_rows: int | None = None,
    members: bool = False,
    random_state: Any = None,
) -> np.ndarray:
    """Fit a model on bootstrap samples of the data, and predict the same new rows each time.

    The result is the input of :func:`sumwise.diversity.bias_variance_covariance`; labels of
    classifiers, transposed, that of :func:`sumwise.diversity.vote_decomposition`.

    Parameters
    ----------
    model : estimator or callable
        An estimator, whose clones are fitted, or a function of (X, y) that returns a fitted model.
        An estimator whose ``random_state`` is None gets a new seed each time.
    X, y : array-like of shape (n_rows, n_features) and (n_rows,)
        Rows from which samples are drawn.
    X_new : array-like of shape (n_new_rows, n_features)
        Rows to predict.
    n_resamples : int, default=50
        Number of fits.
    n_rows : int, default=None
        Number of rows of a sample, drawn with replacement; None for as many as X has.
    members : bool, default=False
        Whether to return what each member of the ensemble predicts.
    random_state : int, RandomState or None, default=None
        Seed of the samples, and of the models' seeds.

    Returns
    -------
    ndarray of shape (n_resamples, n_new_rows) or (n_resamples, n_new_rows, n_learners)

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from sumwise import resample_predictions
    >>> from sumwise.diversity import bias_variance_covariance
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = DecisionTreeRegressor()
    >>> predictions = resample_predictions(
    ...     tree, X[:300], y[:300], X[300:], n_resamples=20, random_state=0
    ... )
    >>> predictions.shape
    (20, 142)
    >>> parts = bias_variance_covariance(predictions, y[300:])
    >>> parts.variance > 0.3 * parts.error
    True
    """
    if n_resamples < 1:
        raise ParameterError(f"n_resamples={n_resamples!r}: must be at least 1")
    if not hasattr(model, "fit") and not callable(model):
        raise ParameterError(f"model={model!r}: must be an estimator or a function of (X, y)")
    random = check_random_state(random_state)
    results = []
    for _ in range(n_resamples):
        rows, targets = resample(X, y, n_samples=n_rows, random_state=random)
        fitted = _fit(model, rows, targets, int(random.randint(np.iinfo(np.int32).max)))
        answers = member_predictions(fitted, X_new).values if members else fitted.predict(X_new)
        results.append(np.asarray(answers))
        if results[-1].shape != results[0].shape:
            raise DataError(
                f"fits have different numbers of members: {results[0].shape[1]} and "
                f"{results[-1].shape[1]}; use members=False"
            )
    return np.stack(results)


def _fit(model: Any, X: Any, y: Any, seed: int) -> Any:
    if not hasattr(model, "fit"):
        return model(X, y)
    copy = clone(model)
    if copy.get_params(deep=False).get("random_state", seed) is None:
        copy.set_params(random_state=seed)
    copy.fit(X, y)
    return copy
