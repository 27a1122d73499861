"""Random forests and extremely randomized trees on a cluster of Dask."""

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from dask import is_dask_collection
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from sumwise.dask.base import CLIENT, BaseDaskEstimator, make_init
from sumwise.dask.clients import find_client
from sumwise.dask.collections import Output, list_partitions
from sumwise.dask.growing import Wanted, grow_on_cluster
from sumwise.dask.liveness import Workers
from sumwise.dask.placement import Partitions
from sumwise.docstrings import fill_docstring
from sumwise.estimators.fitted_state import starting_anew
from sumwise.estimators.forests import extra_trees, random_forest
from sumwise.estimators.forests.base_forest import BaseForest
from sumwise.estimators.forests.parameters import draw_seed
from sumwise.estimators.input.parameters import check_number
from sumwise.estimators.warn import warn_user

_OWN = {"client": None, "silence": 30.0}
_FLOAT, _INTEGER = np.dtype(np.float64), np.dtype(np.int64)

_document = fill_docstring(
    parameters=CLIENT
    + """
silence : float, default=30.0
    Seconds without a sign of life after which a worker is lost: what it was to do, and what it
    alone has, is done again elsewhere. A worker whose process has ended is noticed at once.
**shared
    All parameters of the estimator of the same name in ``sumwise``. Trees grow in tasks of one
    thread, and a worker runs as many tasks at a time as it has threads; ``n_jobs`` limits the
    threads of the other steps.""",
    attributes="""
    All fitted attributes of the estimator of the same name in ``sumwise``.""",
    notes="""
All rows are brought to one worker, which bins them: it needs memory for them twice, as partitions
and as one table. Then every worker process gets the bins, one byte per value, and the targets.
Every tree is trained on rows of all partitions. The out-of-bag score, and what ``conformal`` and
``calibrate`` learn from out-of-bag rows, is computed by one worker. If they learn by
cross-validation, each fold is fitted by one worker, which then gets the rows, too.

A lost worker costs time only: a tree depends on the rows, the seed and its number.""",
)


class BaseDaskForest(BaseDaskEstimator):
    """Shared by all forests: ``fit``."""

    _plain: ClassVar[type[BaseForest]]
    _own = tuple(_OWN)

    silence: float

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the forest.

        Partitions are computed if they are not yet. Rows are in the order of partitions; indices
        are ignored.

        Parameters
        ----------
        X : Dask DataFrame or Array of shape (n_rows, n_features)
            Blocks of an Array may be sparse matrices of SciPy.
        y : Dask Series, DataFrame or Array, str or list of str
            Target, with the partitions of X: one or several classes or numbers per row. Or names of
            columns of the DataFrame X, which are no features then.
        sample_weight : Dask Series, Array, str or None, default=None
            Weights of the rows, in the same way; rows of weight 0 are ignored.

        Returns
        -------
        self

        Raises
        ------
        PeersError
            If some of the data was lost with a worker, or no worker is left.
        """
        plain: BaseForest = self._make_plain()
        silence = check_number(self, "silence", 0.0, open_low=True)
        plain._check_parameters()
        name = f"sumwise.{self._plain.__name__}"
        parts = list_partitions(X, y, sample_weight, plain=name)
        earlier = vars(self).get("_local")
        start: Any = None if earlier is None else self.to_local()._find_start()
        try:
            with starting_anew(self), find_client(self.client, self) as client:
                seed = getattr(start, "_seed", None)
                if seed is None:
                    seed = draw_seed(self.random_state)
                workers = Workers(client, silence)
                partitions = Partitions(workers, parts, {})
                try:
                    outcome = grow_on_cluster(workers, partitions, Wanted(plain, start, seed))
                finally:
                    partitions.close()
                self._local = outcome.fitted
        except BaseException:
            if start is not None:  # keep the trees of the earlier fit
                self._local = earlier
            raise
        for message, category in outcome.told:
            warn_user(message, category)
        return self

    def apply(self, X: Any) -> Any:
        """Return the leaf each row reaches in each tree.

        Parameters
        ----------
        X : Dask DataFrame or Array, or rows in memory

        Returns
        -------
        Dask DataFrame or Array of int64, which is lazy; an array for rows in memory
        """
        return self._apply("apply", X, lambda: Output(_INTEGER, range(self.forest_.n_trees)))


class BaseDaskForestClassifier(ClassifierMixin, BaseDaskForest):
    """Shared by forests of classification trees."""

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : Dask DataFrame or Array, or rows in memory

        Returns
        -------
        Dask Series (for several outputs, DataFrame) or Array, which is lazy; an array for rows in
        memory
        """

        def describe() -> Output:
            if not isinstance(self.classes_, list):
                return Output(self.classes_.dtype)
            first = [classes[:1] for classes in self.classes_]
            return Output(np.column_stack(first).dtype, range(len(first)))

        return self._apply("predict", X, describe)

    def predict_proba(self, X: Any) -> Any:
        """Return class probabilities, one column per class in the order of ``classes_``.

        Parameters
        ----------
        X : Dask DataFrame or Array, or rows in memory

        Returns
        -------
        Dask DataFrame or Array, which is lazy; an array for rows in memory
            With several outputs, a list of them.
        """
        return self._apply_by_class("predict_proba", X)

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of :meth:`predict_proba`, -inf for a probability of 0."""
        return self._apply_by_class("predict_log_proba", X)

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

    def _apply_by_class(self, method: str, X: Any) -> Any:
        check_is_fitted(self)
        classes = self.classes_
        if not (isinstance(classes, list) and is_dask_collection(X)):
            return self._apply(method, X, lambda: Output(_FLOAT, list(classes)))
        return [
            self._map_rows(partial(_call_one, method, k), X, partial(Output, _FLOAT, list(own)))
            for k, own in enumerate(classes)
        ]


class BaseDaskForestRegressor(RegressorMixin, BaseDaskForest):
    """Shared by forests of regression trees."""

    def predict(self, X: Any) -> Any:
        """Return the predicted value of each row: the mean over the trees.

        Parameters
        ----------
        X : Dask DataFrame or Array, or rows in memory

        Returns
        -------
        Dask Series (for several outputs, DataFrame) or Array, which is lazy; an array for rows in
        memory
        """

        def describe() -> Output:
            n_outputs = self.n_outputs_
            return Output(_FLOAT, None if n_outputs == 1 else range(n_outputs))

        return self._apply("predict", X, describe)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R², the mean over several targets.

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
class RandomForestClassifier(BaseDaskForestClassifier):
    """A random forest for classification, trained on a cluster of Dask.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    {notes}

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sumwise.dask import RandomForestClassifier
    >>> client = Client(processes=False, n_workers=2, dashboard_address=":0")
    >>> X = da.random.default_rng(0).random((1000, 4), chunks=(250, -1))
    >>> y = (X[:, 0] > X[:, 1]).astype(int)
    >>> forest = RandomForestClassifier(20, oob_score=True, random_state=0).fit(X, y)
    >>> bool(forest.oob_score_ > 0.9)
    True
    >>> forest.predict_proba(X)
    dask.array<predict, shape=(1000, 2), dtype=float64, chunksize=(250, 2), chunktype=numpy.ndarray>
    >>> client.close()
    """

    _plain = random_forest.RandomForestClassifier
    __init__ = make_init(random_forest.RandomForestClassifier, _OWN)


@_document
class RandomForestRegressor(BaseDaskForestRegressor):
    """A random forest for regression, trained on a cluster of Dask.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    {notes}

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sumwise.dask import RandomForestRegressor
    >>> client = Client(processes=False, n_workers=2, dashboard_address=":0")
    >>> X = da.random.default_rng(0).random((1000, 4), chunks=(250, -1))
    >>> forest = RandomForestRegressor(20, random_state=0).fit(X, X[:, 0] + X[:, 1])
    >>> bool(forest.score(X, X[:, 0] + X[:, 1]) > 0.9)
    True
    >>> client.close()
    """

    _plain = random_forest.RandomForestRegressor
    __init__ = make_init(random_forest.RandomForestRegressor, _OWN)


@_document
class ExtraTreesClassifier(BaseDaskForestClassifier):
    """Extremely randomized trees for classification, trained on a cluster of Dask.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    {notes}

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sumwise.dask import ExtraTreesClassifier
    >>> client = Client(processes=False, n_workers=2, dashboard_address=":0")
    >>> X = da.random.default_rng(0).random((1000, 4), chunks=(250, -1))
    >>> y = (X[:, 0] > X[:, 1]).astype(int)
    >>> local = ExtraTreesClassifier(20, random_state=0).fit(X, y).to_local()
    >>> local.score(X.compute(), y.compute())
    1.0
    >>> client.close()
    """

    _plain = extra_trees.ExtraTreesClassifier
    __init__ = make_init(extra_trees.ExtraTreesClassifier, _OWN)


@_document
class ExtraTreesRegressor(BaseDaskForestRegressor):
    """Extremely randomized trees for regression, trained on a cluster of Dask.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    {notes}

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sumwise.dask import ExtraTreesRegressor
    >>> client = Client(processes=False, n_workers=2, dashboard_address=":0")
    >>> X = da.random.default_rng(0).random((1000, 4), chunks=(250, -1))
    >>> forest = ExtraTreesRegressor(20, random_state=0).fit(X, X[:, 0] + X[:, 1])
    >>> forest.predict(X)
    dask.array<predict, shape=(1000,), dtype=float64, chunksize=(250,), chunktype=numpy.ndarray>
    >>> client.close()
    """

    _plain = extra_trees.ExtraTreesRegressor
    __init__ = make_init(extra_trees.ExtraTreesRegressor, _OWN)


def _call_one(method: str, output: int, model: Any, rows: Any) -> np.ndarray:
    """Return the probabilities of one of several outputs."""
    found: np.ndarray = getattr(model, method)(rows)[output]
    return found
