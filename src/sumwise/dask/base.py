"""What all estimators that train on a cluster of Dask share."""

import inspect
from collections.abc import Callable, Mapping
from copy import copy, deepcopy
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from dask import is_dask_collection
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from sumwise.dask.clients import find_client
from sumwise.dask.collections import Output, is_array, is_frame, list_partitions, map_rows
from sumwise.dask.scores import score_rows
from sumwise.errors import DataError
from sumwise.estimators.input.parameters import NamedParametersMixin
from sumwise.export.files import Target

CLIENT = """client : distributed.Client or None, default=None
    The client of the cluster; None for the default client. It is neither copied nor pickled with
    the estimator."""


def make_init(plain: type, own: Mapping[str, Any]) -> Callable[..., None]:
    """Return the constructor of an estimator: the parameters of a plain one, and its own by name.

    scikit-learn reads them from the signature.
    """
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value)
        for name, value in own.items()
    ]
    shared = inspect.signature(plain).parameters.values()
    signature = inspect.Signature([itself, *shared, *more])

    def __init__(self: Any, *args: Any, **params: Any) -> None:  # noqa: N807 - becomes a method
        bound = signature.bind(self, *args, **params)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


class BaseDaskEstimator(NamedParametersMixin, BaseEstimator):
    """An estimator with the parameters of a plain one, which becomes its fitted model."""

    _plain: ClassVar[type[Any]]
    _own: ClassVar[tuple[str, ...]]
    _fitted_privately = ("_local",)

    client: Any
    _local: Any

    def _make_plain(self) -> Any:
        return self._plain(**self._list_plain())

    def _list_plain(self) -> dict[str, Any]:
        params = self.get_params(deep=False)
        return {name: value for name, value in params.items() if name not in self._own}

    # --- the fitted model ---

    def to_local(self) -> Any:
        """Return the fitted model as an estimator of ``sumwise``, which needs no cluster."""
        check_is_fitted(self)
        model = copy(self._local)
        for name, value in self._list_plain().items():
            setattr(model, name, value)
        return model

    def save(self, path: Target) -> None:
        """Write the fitted model to a file; :func:`sumwise.load` returns an estimator of sumwise.

        Parameters
        ----------
        path : str, path-like or binary file object
        """
        self.to_local().save(path)

    def __getattr__(self, name: str) -> Any:
        """Return a fitted attribute."""
        if name.endswith("_") and not name.startswith("_") and "_local" in vars(self):
            return getattr(self._local, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _apply(self, method: str, X: Any, output: Callable[[], Output], **options: Any) -> Any:
        """Call a method of the plain estimator, lazily for a collection."""
        if not is_dask_collection(X):
            return getattr(self.to_local(), method)(X, **options)
        return self._map_rows(partial(_call, method, options), X, output)

    def _map_rows(
        self, function: Callable[[Any, Any], np.ndarray], X: Any, output: Callable[[], Output]
    ) -> Any:
        """Return a lazy collection of ``function(model, rows)`` of the plain estimator."""
        model = self.to_local().set_params(n_jobs=1)  # a task has one thread
        if not (is_frame(X) or is_array(X)):
            raise DataError(f"X is a {type(X).__name__}; pass a Dask DataFrame or a Dask Array")
        return map_rows(function, X, model, output())

    def _score(self, X: Any, y: Any, sample_weight: Any) -> float:
        model = self.to_local()
        if not is_dask_collection(X):
            return float(model.score(X, y, sample_weight))
        parts = list_partitions(X, y, sample_weight)
        with find_client(self.client, self) as client:
            return score_rows(client, model.set_params(n_jobs=1), parts)

    # --- scikit-learn ---

    def __sklearn_is_fitted__(self) -> bool:
        return "_local" in vars(self)

    def __sklearn_tags__(self) -> Any:
        return self._make_plain().__sklearn_tags__()

    def __sklearn_clone__(self) -> Self:
        params = self.get_params(deep=False)
        client = params.pop("client")
        own = {name: clone(value, safe=False) for name, value in params.items()}
        copied = type(self)(client=client, **own)
        requests = vars(self).get("_metadata_request")  # of set_fit_request
        if requests is not None:
            copied._metadata_request = deepcopy(requests)
        return copied

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "client": None}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, those of parts as ``sampler__rate=...``."""
        own = {name: params.pop(name) for name in self._own if name in params}
        super().set_params(**own)
        plain = self._make_plain().set_params(**params)
        for name, value in plain.get_params(deep=False).items():
            setattr(self, name, value)
        return self


def _call(method: str, options: dict[str, Any], model: Any, rows: Any) -> np.ndarray:
    return getattr(model, method)(rows, **options)
