"""Libraries that train and predict on a GPU, each by the fastest way that it offers.

A contestant makes its own data structure of the given arrays, trains, and predicts probabilities.
XGBoost takes a host array as a ``QuantileDMatrix``, which the CPU bins, or as a ``DMatrix``, which
the GPU bins; or CuPy copies the array first, and the GPU bins the copy. Which way is the fastest
depends on the machine, so all take part.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.rivals import CATBOOST, SUMWISE, XGBOOST, Settings, build, map_settings

OURS, OURS_ON_GPU, OURS_ON_CPU = "sumwise", "sumwise, X on the GPU", "sumwise, CPU"
QUANTILE, PLAIN, COPIED = "XGBoost", "XGBoost, DMatrix", "XGBoost, X copied by CuPy"
XGBOOST_ON_GPU = "XGBoost, X on the GPU"
CATBOOST_GPU = "CatBoost"
XGBOOSTS = (QUANTILE, PLAIN, COPIED, XGBOOST_ON_GPU)
RIVALS = (*XGBOOSTS, CATBOOST_GPU)
# What starts with X in the memory of the GPU is compared only with its like.
ON_GPU = (OURS_ON_GPU, XGBOOST_ON_GPU)
# Too slow to be repeated at many millions of rows.
SLOW = (OURS_ON_CPU, CATBOOST_GPU)


class Trained(NamedTuple):
    """A model, the seconds to make its data structure, if apart, and to train."""

    predict: Callable[[Any], Any]
    construction: float
    training: float

    @property
    def seconds(self) -> float:
        return self.construction + self.training


Contestant = Callable[[Settings, Any, Any], Trained]


def train_sumwise(device: str, settings: Settings, X: Any, y: Any) -> Trained:
    """Train our model; it makes its table in ``fit``."""
    options = {} if device == "cpu" else {"device": device}
    model = build(replace(SUMWISE, options=options), settings)
    start = perf_counter()
    model.fit(X, y)
    return Trained(model.predict_proba, 0.0, perf_counter() - start)


def train_xgboost(
    matrix: str, settings: Settings, X: Any, y: Any, is_copied: bool = False
) -> Trained:
    """Train XGBoost's model by its own interface: the one of scikit-learn costs more."""
    import xgboost

    params = map_settings(XGBOOST, settings)
    n_rounds = params.pop("n_estimators")
    params.pop("enable_categorical")
    params |= {"device": "cuda", "objective": "binary:logistic"}
    if settings.task == "multiclass":
        params |= {"objective": "multi:softprob", "num_class": int(y.max()) + 1}
    options = {"max_bin": settings.max_bins} if matrix == "QuantileDMatrix" else {}
    start = perf_counter()
    if is_copied:
        X = put_on_gpu(X)
    data = getattr(xgboost, matrix)(X, label=y, **options)
    constructed = perf_counter()
    booster = xgboost.train(params, data, n_rounds)
    synchronize()
    done = perf_counter()
    device = json.loads(booster.save_config())["learner"]["generic_param"]["device"]
    if not device.startswith("cuda"):
        raise RuntimeError(f"XGBoost trained on {device}: it found no GPU")
    return Trained(booster.inplace_predict, constructed - start, done - constructed)


def train_catboost(settings: Settings, X: Any, y: Any) -> Trained:
    """Train CatBoost's model."""
    import catboost

    model = build(replace(CATBOOST, options={"task_type": "GPU", "devices": "0"}), settings)
    start = perf_counter()
    data = catboost.Pool(X, y)
    constructed = perf_counter()
    model.fit(data)
    return Trained(model.predict_proba, constructed - start, perf_counter() - constructed)


CONTESTANTS: dict[str, Contestant] = {
    OURS: partial(train_sumwise, "cuda"),
    OURS_ON_GPU: partial(train_sumwise, "cuda"),
    OURS_ON_CPU: partial(train_sumwise, "cpu"),
    QUANTILE: partial(train_xgboost, "QuantileDMatrix"),
    PLAIN: partial(train_xgboost, "DMatrix"),
    COPIED: partial(train_xgboost, "QuantileDMatrix", is_copied=True),
    XGBOOST_ON_GPU: partial(train_xgboost, "QuantileDMatrix"),
    CATBOOST_GPU: train_catboost,
}


def list_missing() -> list[str]:
    """Return the contestants that cannot take part for want of a package."""
    needs = {**dict.fromkeys(XGBOOSTS, "xgboost"), CATBOOST_GPU: "catboost"}
    missing = [name for name, package in needs.items() if find_spec(package) is None]
    return missing + ([] if has_cupy() else [COPIED, *ON_GPU])


def has_cupy() -> bool:
    """Whether arrays can be put in the memory of the GPU."""
    return find_spec("cupy") is not None


def put_on_gpu(array: Any) -> Any:
    """Return a copy in the memory of the GPU, by CuPy."""
    import cupy  # type: ignore[import-not-found]

    return cupy.asarray(array)


def synchronize() -> None:
    """Wait until the GPU has done all work, so that times include it."""
    if has_cupy():
        import cupy

        cupy.cuda.Device().synchronize()


def as_probabilities(prediction: Any) -> Any:
    """Return one column per class on the host; XGBoost has the second of two classes only."""
    prediction = prediction.get() if hasattr(prediction, "get") else np.asarray(prediction)
    if prediction.ndim == 1:
        return np.column_stack([1.0 - prediction, prediction])
    return prediction
