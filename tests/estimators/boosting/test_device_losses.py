"""Losses and samplers on an emulated device: models have the bytes of the CPU's."""

import numpy as np
import pytest

from benchmarks.on_gpu.settings import CubicLoss, dump
from sumwise import (
    BayesianBootstrap,
    ClassSubsample,
    Dart,
    Goss,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    GroupSubsample,
    Huber,
    Quantile,
    Subsample,
)
from sumwise.training.boosters import Forest

N_ROWS = 160
SMALL = {"n_estimators": 3, "max_leaves": 5, "min_samples_leaf": 5, "random_state": 0}
SMALL["max_bins"] = 60  # an emulated thread per bin takes its time

pytestmark = pytest.mark.usefixtures("emulated")


class OwnLoss(CubicLoss):
    """A loss of the user's own, with a value to stop by."""

    def value(self, y, raw):
        error = np.abs(raw - y)
        return error**3 / 3 + error**2 / 2


def make_data(weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 4))
    y = X[:, 0] + np.where(X[:, 1] > 0.3, 1.5, 0.0) + rng.normal(size=N_ROWS).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, rng.choice([0.5, 1.0, 2.0], N_ROWS) if weighted else None


def fit(kind, device, y, X, weight, params, **given):
    return kind(device=device, **SMALL | params).fit(X, y, sample_weight=weight, **given)


def assert_same_models(kind, X, y, weight, params, device="cuda", **given):
    models = [fit(kind, name, y, X, weight, params, **given) for name in ("cpu", device)]
    expected, found = map(dump, models)
    assert found == expected


LOSSES = ["squared_error", "absolute_error", "huber", Huber(0.5), Quantile([0.2, 0.7]), "mape"]
LOSSES += ["log_cosh", "fair", "poisson", "gamma", "tweedie", "squared_log_error", OwnLoss()]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__ + str(loss)[:12])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_of_regression(loss, weighted):
    X, y, weight = make_data(weighted)
    params = {"loss": loss, "early_stopping": weighted}
    assert_same_models(GradientBoostingRegressor, X, np.abs(y) + 0.1, weight, params)


@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
def test_losses_of_two_classes(loss):
    X, y, weight = make_data(True)
    assert_same_models(GradientBoostingClassifier, X, y > 0, weight, {"loss": loss})


def test_medians_of_several_targets_with_drawn_weights():
    X, y, _ = make_data(False)
    params = {"loss": "absolute_error", "sampler": BayesianBootstrap()}
    assert_same_models(GradientBoostingRegressor, X, np.column_stack([y, np.abs(y)]), None, params)


SAMPLERS = [Subsample(0.5), Goss(), BayesianBootstrap(0.5), GroupSubsample(0.6)]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda sampler: type(sampler).__name__)
@pytest.mark.parametrize("loss", ["squared_error", "huber"])
def test_samplers(sampler, loss):
    X, y, weight = make_data(loss == "huber")
    groups = {"groups": np.arange(N_ROWS) // 4} if sampler.needs_groups else {}
    params = {"loss": loss, "sampler": sampler}
    assert_same_models(GradientBoostingRegressor, X, y, weight, params, **groups)


@pytest.mark.parametrize("reweigh", [False, True])
def test_rows_by_class(reweigh):
    X, y, weight = make_data(True)
    params = {"sampler": ClassSubsample(reweigh=reweigh), "early_stopping": True}
    labels = np.digitize(y, [0.0, 1.5])
    assert_same_models(GradientBoostingClassifier, X, labels, weight, params)


@pytest.mark.parametrize("booster", [Dart(), Forest()], ids=["dart", "forest"])
def test_refitted_leaves_of_other_boosters(booster):
    X, y, weight = make_data(True)
    params = {"loss": "absolute_error", "booster": booster}
    assert_same_models(GradientBoostingRegressor, X, y, weight, params)


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
def test_refitted_leaves_of_constrained_trees(growth):
    X, y, _ = make_data(False)
    shape = {"growth": growth, "max_leaves": None, "max_depth": 3}
    params = {"loss": "huber", "monotonic_cst": [1, 0, -1, 0]} | shape
    assert_same_models(GradientBoostingRegressor, X, y, None, params)


def test_several_targets():
    X, y, weight = make_data(True)
    params = {"loss": "huber", "sampler": Goss()}
    assert_same_models(GradientBoostingRegressor, X, np.stack([y, y**2], axis=1), weight, params)


@pytest.mark.parametrize("loss", ["absolute_error", "squared_error"])
def test_several_devices(loss):
    X, y, weight = make_data(True)
    params = {"loss": loss, "sampler": Goss(), "early_stopping": True}
    assert_same_models(GradientBoostingRegressor, X, y, weight, params, device="cuda:0,0")
