"""Gradient boosting on a cluster of Dask."""

import secrets
from collections.abc import Sequence
from copy import copy, deepcopy
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from sumwise.dask.base import CLIENT, BaseDaskEstimator, make_init
from sumwise.dask.clients import find_client
from sumwise.dask.collections import Output, Sources, list_partitions
from sumwise.dask.launch import START_TIMEOUT, train
from sumwise.dask.ranks import Job
from sumwise.docstrings import fill_docstring
from sumwise.estimators.boosting.among_peers import check_peer_fit, fit_among_peers
from sumwise.estimators.boosting.base import BaseGradientBoosting
from sumwise.estimators.boosting.classifier import GradientBoostingClassifier as PlainClassifier
from sumwise.estimators.boosting.continuing import Start, find_start
from sumwise.estimators.boosting.evaluation import VALIDATION, read_eval_sets
from sumwise.estimators.boosting.regressor import GradientBoostingRegressor as PlainRegressor
from sumwise.estimators.boosting.validation import is_given
from sumwise.estimators.fitted_state import starting_anew
from sumwise.estimators.input.parameters import check_number
from sumwise.tree.parallel import Parallel

_FLOAT = np.dtype(np.float64)

_OWN = {"client": None, "parallel": "data", "top_k": 20, "silence": 30.0}

_document = fill_docstring(
    parameters=CLIENT
    + """
parallel : {"data", "voting", "feature"}, default="data"
    How workers share the work of growing a tree. "data": the histograms of all features are added
    up, and the model has the same bytes as a fit in one process. "voting": only those of features
    that the workers elect, which sends less if there are many features; the model is an
    approximation, and depends on the placement of the rows. "feature": each worker gets all rows
    and has a share of the features; the model is that of one process.
top_k : int, default=20
    With ``parallel="voting"``, how many features a worker votes for; twice as many are elected.
silence : float, default=30.0
    Seconds without a sign of life after which a worker is lost. The fit then goes on without it,
    once, with the rounds so far; its partitions are computed again elsewhere. A worker whose
    process has ended is noticed at once.
**shared
    All parameters of the estimator of the same name in ``sumwise``. Those that need all rows in one
    process are refused. Callbacks are called, and progress is shown, by one of the workers: what
    callbacks change there does not come back. ``n_jobs`` are threads per worker, at most those
    that Dask gives it; None for all of them.""",
    attributes="""
    All fitted attributes of the estimator of the same name in ``sumwise``.""",
)


class BaseDaskBoosting(BaseDaskEstimator):
    """Shared by classifier and regressor: ``fit``."""

    _plain: ClassVar[type[BaseGradientBoosting]]
    _own = tuple(_OWN)

    parallel: str
    top_k: int
    silence: float

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        init_score: Any = None,
        *,
        groups: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        init_score_val: Any = None,
        eval_set: Any = None,
        eval_names: Sequence[str] | None = None,
        eval_sample_weight: Sequence[Any] | None = None,
        eval_init_score: Sequence[Any] | None = None,
        init_model: Any = None,
    ) -> Self:
        """Fit the model.

        Partitions are computed if they are not yet, and stay on their workers; the workers that
        have some train together. Rows are in the order of partitions; indices are ignored.

        Parameters
        ----------
        X : Dask DataFrame or Array of shape (n_rows, n_features)
        y : Dask Series or Array of shape (n_rows,), str or list of str
            Target, with the partitions of X; or the name of a column of the DataFrame X, which is
            no feature then. A regressor takes several targets: a DataFrame, an Array of shape
            (n_rows, n_targets), or a list of names.
        sample_weight, init_score, groups : Dask Series, Array, str or None, default=None
            As in the ``fit`` of the plain estimator, with the partitions of X; or names of columns.
        X_val, y_val, sample_weight_val, init_score_val : default=None
            Rows to validate on: Dask collections as above, or all of them in memory.
        eval_set : list of pairs (X, y), default=None
            Further validation sets of the same kinds.
        eval_names, eval_sample_weight, eval_init_score, init_model
            As in the ``fit`` of the plain estimator.

        Returns
        -------
        self

        Raises
        ------
        PeersError
            If workers were lost twice, could not start in 60 seconds, or have another version of
            sumwise. Its attribute ``fitted`` is a plain model of the rounds so far, with which
            another fit may continue (``init_model``), or None.
        """
        plain = self._make_plain()
        Parallel(self.parallel, self.top_k)  # checks them
        silence = check_number(self, "silence", 0.0, open_low=True)
        check_peer_fit(plain)
        name = f"sumwise.{self._plain.__name__}"
        parts = list_partitions(X, y, sample_weight, init_score, groups, plain=name)
        read = partial(_read_set, name)
        given = (eval_set, eval_names, eval_sample_weight, eval_init_score)
        sets: list[Any] = read_eval_sets(read, *given)  # type: ignore[arg-type]
        valid = read(VALIDATION, X_val, y_val, sample_weight_val, init_score_val)
        if valid is not None:
            sets.append(valid)
        plain, known = self._find_start(plain, init_model)
        with starting_anew(self), find_client(self.client, self) as client:
            job = Job(
                model=plain,
                fit=fit_among_peers,
                options={"parallel": self.parallel, "top_k": self.top_k},
                init_model=known,
                token=secrets.token_bytes(32),
                silence=silence,
                start_timeout=START_TIMEOUT,
            )
            self._local = train(client, job, parts, dict(sets))
        return self

    def _find_start(
        self, plain: BaseGradientBoosting, init_model: Any
    ) -> tuple[BaseGradientBoosting, Any]:
        """Return the estimator that workers fit, and the model that it continues.

        With ``warm_start``, both are one.
        """
        if init_model is None and self.__sklearn_is_fitted__():
            plain = self.to_local()
        if isinstance(init_model, BaseDaskBoosting):
            init_model = init_model.to_local()
        found = find_start(plain, init_model)
        start = Start() if found is None else found._make_start()
        model = copy(plain)
        model.random_state = deepcopy(self.random_state)
        # A generator of the user goes on as in a fit in this process.
        start.find_seed(self.random_state)
        return model, None if found is plain else found


@_document
class GradientBoostingClassifier(ClassifierMixin, BaseDaskBoosting):
    """Gradient boosted trees for classification, trained on a cluster of Dask.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sumwise.dask import GradientBoostingClassifier
    >>> client = Client(processes=False, n_workers=2, dashboard_address=":0")
    >>> X = da.random.default_rng(0).random((1000, 4), chunks=(250, -1))
    >>> y = (X[:, 0] > X[:, 1]).astype(int)
    >>> model = GradientBoostingClassifier(n_estimators=20).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> model.predict(X)
    dask.array<predict, shape=(1000,), dtype=int64, chunksize=(250,), chunktype=numpy.ndarray>
    >>> client.close()
    """

    _plain = PlainClassifier
    __init__ = make_init(PlainClassifier, _OWN)

    def predict(self, X: Any, rounds: Any = None) -> Any:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : Dask DataFrame or Array, or rows in memory
        rounds : int, pair of int, slice or None, default=None
            Rounds to predict with, as in the plain estimator.

        Returns
        -------
        Dask Series (of a DataFrame) or Array, which is lazy; an array for rows in memory
        """
        return self._apply("predict", X, lambda: Output(self.classes_.dtype), rounds=rounds)

    def predict_proba(self, X: Any, rounds: Any = None) -> Any:
        """Return class probabilities, one column per class in the order of ``classes_``.

        Parameters
        ----------
        X, rounds
            As in :meth:`predict`.

        Returns
        -------
        Dask DataFrame or Array, which is lazy; an array for rows in memory
        """
        return self._apply(
            "predict_proba", X, lambda: Output(_FLOAT, list(self.classes_)), rounds=rounds
        )

    def predict_log_proba(self, X: Any, rounds: Any = None) -> Any:
        """Return logarithms of :meth:`predict_proba`, -inf for a probability of 0."""
        return self._apply(
            "predict_log_proba", X, lambda: Output(_FLOAT, list(self.classes_)), rounds=rounds
        )

    def decision_function(self, X: Any, rounds: Any = None) -> Any:
        """Return raw scores: log odds for two classes, one score per class for more.

        Parameters
        ----------
        X, rounds
            As in :meth:`predict`.

        Returns
        -------
        Dask Series, DataFrame or Array, which is lazy; an array for rows in memory
        """

        def describe() -> Output:
            is_one = self.ensemble_.n_outputs == 1
            return Output(_FLOAT, None if is_one else list(self.classes_))

        return self._apply("decision_function", X, describe, rounds=rounds)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of rows whose class is predicted.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`, or all in memory.

        Returns
        -------
        float
        """
        return self._score(X, y, sample_weight)


@_document
class GradientBoostingRegressor(RegressorMixin, BaseDaskBoosting):
    """Gradient boosted trees for regression, trained on a cluster of Dask.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sumwise.dask import GradientBoostingRegressor
    >>> client = Client(processes=False, n_workers=2, dashboard_address=":0")
    >>> X = da.random.default_rng(0).random((1000, 4), chunks=(250, -1))
    >>> model = GradientBoostingRegressor(n_estimators=20).fit(X, X[:, 0] * X[:, 1])
    >>> local = model.to_local()
    >>> type(local).__module__.startswith("sumwise.estimators")
    True
    >>> client.close()
    """

    _plain = PlainRegressor
    __init__ = make_init(PlainRegressor, _OWN)

    def predict(self, X: Any, rounds: Any = None, raw: bool = False) -> Any:
        """Return the predicted value of each row.

        Parameters
        ----------
        X : Dask DataFrame or Array, or rows in memory
        rounds : int, pair of int, slice or None, default=None
            Rounds to predict with, as in the plain estimator.
        raw : bool, default=False
            Whether to return raw scores, before the link: logarithms of means with a log link.

        Returns
        -------
        Dask Series (for several outputs, DataFrame) or Array, which is lazy; an array for rows in
        memory
        """

        def describe() -> Output:
            n_outputs = self.n_outputs_
            return Output(_FLOAT, None if n_outputs == 1 else range(n_outputs))

        return self._apply("predict", X, describe, rounds=rounds, raw=raw)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² (the mean over several targets), or D² of several quantiles.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`, or all in memory.

        Returns
        -------
        float
        """
        return self._score(X, y, sample_weight)


def _read_set(
    plain: str, name: str, X: Any, y: Any, sample_weight: Any, init_score: Any
) -> tuple[str, list[Sources]] | None:
    """Return the name and the partitions of a validation set, None if there is none."""
    if not is_given(X, y, sample_weight, init_score):
        return None
    own = (X, y, sample_weight, init_score)
    return name, list_partitions(*own, suffix="_val", in_memory=True, plain=plain)
