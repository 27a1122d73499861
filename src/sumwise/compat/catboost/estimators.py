"""CatBoostClassifier and CatBoostRegressor."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from sumwise.compat.base import CompatClassifier, CompatRegressor, make_init
from sumwise.compat.catboost.base import RAW, BaseCatBoost
from sumwise.compat.catboost.parameters import CLASSIFIER, REGRESSOR, TABLE
from sumwise.compat.catboost.pool import Pool


class CatBoostClassifier(CompatClassifier, BaseCatBoost):
    """A classifier with CatBoost's parameters, fitted by sumwise.

    Parameters are those of ``catboost.CatBoostClassifier`` with its defaults: 1,000 rounds of
    symmetric trees and CatBoost's own learning rate. See ``docs/migration/from_catboost.md``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sumwise.compat.catboost import CatBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CatBoostClassifier(iterations=50, depth=4).fit(X, y)
    >>> model.predict_proba(X).shape
    (569, 2)
    """

    _signature: ClassVar[Mapping[str, Any]] = CLASSIFIER
    __init__ = make_init("CatBoostClassifier", TABLE, CLASSIFIER, True)

    def predict(
        self,
        data: Any,
        prediction_type: str = "Class",
        ntree_start: int = 0,
        ntree_end: int = 0,
        thread_count: int = -1,
        verbose: Any = None,
        task_type: str = "CPU",
    ) -> np.ndarray:
        """Return the most probable class of each row, or what ``prediction_type`` asks for.

        Parameters
        ----------
        data : frame, array-like or Pool
        prediction_type : str, default="Class"
            "Class", "Probability", "LogProbability" or "RawFormulaVal".
        ntree_start, ntree_end : int, default=0
            The rounds to use; 0 for all.
        thread_count, verbose, task_type
            Have no effect: threads and device are those of the model.

        Returns
        -------
        ndarray of shape (n_rows,), also for several classes, or (n_rows, n_classes)
        """
        return self._predict_as(data, prediction_type, self._find_rounds(ntree_start, ntree_end))

    def predict_proba(
        self,
        X: Any,
        ntree_start: int = 0,
        ntree_end: int = 0,
        thread_count: int = -1,
        verbose: Any = None,
        task_type: str = "CPU",
    ) -> np.ndarray:
        """Return probabilities, one column per class.

        Parameters
        ----------
        X, ntree_start, ntree_end, thread_count, verbose, task_type
            As in :meth:`predict`.
        """
        return self._predict_as(X, "Probability", self._find_rounds(ntree_start, ntree_end))

    def predict_log_proba(
        self,
        X: Any,
        ntree_start: int = 0,
        ntree_end: int = 0,
        thread_count: int = -1,
        verbose: Any = None,
        task_type: str = "CPU",
    ) -> np.ndarray:
        """Return logarithms of probabilities.

        Parameters
        ----------
        X, ntree_start, ntree_end, thread_count, verbose, task_type
            As in :meth:`predict`.
        """
        return self._predict_as(X, "LogProbability", self._find_rounds(ntree_start, ntree_end))

    def staged_predict(
        self,
        data: Any,
        prediction_type: str = "Class",
        ntree_start: int = 0,
        ntree_end: int = 0,
        eval_period: int = 1,
        thread_count: int = -1,
        verbose: Any = None,
    ) -> Iterator[np.ndarray]:
        """Yield :meth:`predict` after every ``eval_period`` rounds.

        Parameters
        ----------
        data, prediction_type, ntree_start, ntree_end, thread_count, verbose
            As in :meth:`predict`.
        eval_period : int, default=1
        """
        return self._stages(data, prediction_type, ntree_start, ntree_end, eval_period)

    def staged_predict_proba(
        self,
        data: Any,
        ntree_start: int = 0,
        ntree_end: int = 0,
        eval_period: int = 1,
        thread_count: int = -1,
        verbose: Any = None,
    ) -> Iterator[np.ndarray]:
        """Yield :meth:`predict_proba` after every ``eval_period`` rounds.

        Parameters
        ----------
        data, ntree_start, ntree_end, eval_period, thread_count, verbose
            As in :meth:`staged_predict`.
        """
        return self._stages(data, "Probability", ntree_start, ntree_end, eval_period)


class CatBoostRegressor(CompatRegressor, BaseCatBoost):
    """A regressor with CatBoost's parameters, fitted by sumwise.

    Parameters are those of ``catboost.CatBoostRegressor`` with its defaults: 1,000 rounds of
    symmetric trees and CatBoost's own learning rate. See ``docs/migration/from_catboost.md``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise.compat.catboost import CatBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = CatBoostRegressor(iterations=50, loss_function="MAE").fit(X, y)
    >>> model.predict(X).shape
    (442,)
    """

    _signature: ClassVar[Mapping[str, Any]] = REGRESSOR
    __init__ = make_init("CatBoostRegressor", TABLE, REGRESSOR, True)

    def predict(
        self,
        data: Any,
        prediction_type: str | None = None,
        ntree_start: int = 0,
        ntree_end: int = 0,
        thread_count: int = -1,
        verbose: Any = None,
        task_type: str = "CPU",
    ) -> np.ndarray:
        """Return predictions.

        Parameters
        ----------
        data : frame, array-like or Pool
        prediction_type : str or None, default=None
            "RawFormulaVal" or "Exponent"; None for means: the exponent of a loss with a log link.
        ntree_start, ntree_end : int, default=0
            The rounds to use; 0 for all.
        thread_count, verbose, task_type
            Have no effect: threads and device are those of the model.

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_outputs) for several targets or quantiles
        """
        rounds = self._find_rounds(ntree_start, ntree_end)
        if prediction_type is None:
            return self._mean(data.data if isinstance(data, Pool) else data, rounds)
        return self._predict_as(data, prediction_type, rounds)

    def staged_predict(
        self,
        data: Any,
        prediction_type: str = RAW,
        ntree_start: int = 0,
        ntree_end: int = 0,
        eval_period: int = 1,
        thread_count: int = -1,
        verbose: Any = None,
    ) -> Iterator[np.ndarray]:
        """Yield predictions after every ``eval_period`` rounds.

        Parameters
        ----------
        data, ntree_start, ntree_end, thread_count, verbose
            As in :meth:`predict`.
        prediction_type : str, default="RawFormulaVal"
            Or "Exponent".
        eval_period : int, default=1
        """
        return self._stages(data, prediction_type, ntree_start, ntree_end, eval_period)
