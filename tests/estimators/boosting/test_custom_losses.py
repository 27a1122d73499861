"""Losses of the user's own in the boosting estimators."""

import pickle

import numba
import numpy as np
import pytest
from sklearn.base import clone

from sumwise import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    load,
)
from sumwise.errors import ParameterError

SMALL = {"n_estimators": 8, "max_leaves": 8, "min_samples_leaf": 5, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4)).round(2)
SIGNAL = 0.8 * X[:, 0] + np.sin(2 * X[:, 1]) - 0.3 * X[:, 2].round()
X[RNG.random(400) < 0.05, 0] = np.nan
Y = SIGNAL + 0.3 * RNG.standard_t(2, 400)


# Losses of the user's own


class HalfSquare:
    def value(self, y, raw):
        return (raw - y) ** 2 / 2

    def gradient(self, y, raw):
        return raw - y, np.ones_like(y)

    def initial_score(self, y, weight):
        return np.average(y, weights=weight)


class LogOdds:
    """Logistic loss; the link is chosen by subclasses."""

    def value(self, y, raw):
        return np.logaddexp(0, raw) - y * raw

    def gradient(self, y, raw):
        p = 1 / (1 + np.exp(-raw))
        return p - y, p * (1 - p)

    def initial_score(self, y, weight):
        mean = np.average(y, weights=weight)
        return np.log(mean / (1 - mean))


class LogOddsWithLink(LogOdds):
    def link(self, raw):
        return 1 / (1 + np.exp(-raw))


class ThreeClasses:
    n_outputs = 3

    def gradient(self, y, raw):
        p = np.exp(raw - raw.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return p - np.eye(3)[y.astype(int)], 1.5 * p * (1 - p)

    def initial_score(self, y, weight):
        return np.log(np.bincount(y.astype(int), weights=weight, minlength=3) / y.size)


class ThreeClassesWithLink(ThreeClasses):
    def link(self, raw):
        p = np.exp(raw - raw.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)


@numba.njit
def square_gradient(y, raw):
    return raw - y, np.ones_like(y)


class Compiled(HalfSquare):
    def gradient(self, y, raw):
        return square_gradient(y, raw)


@pytest.mark.parametrize("loss", [HalfSquare(), Compiled()], ids=["numpy", "numba"])
@pytest.mark.parametrize("params", [{}, {"early_stopping": True}, {"sampler": "subsample"}])
def test_a_loss_like_ours_gives_the_same_model(loss, params):
    weight = np.random.default_rng(0).random(len(X)) + 0.1
    ours, theirs = (
        GradientBoostingRegressor(**SMALL, **params, loss=each).fit(X, Y, weight)
        for each in ("auto", loss)
    )
    np.testing.assert_allclose(theirs.predict(X), ours.predict(X), rtol=1e-9, atol=1e-12)
    if params.get("early_stopping"):
        assert theirs.history_["validation_loss"] == pytest.approx(ours.history_["validation_loss"])


@pytest.mark.parametrize("loss", [LogOdds(), LogOddsWithLink()], ids=["named", "method"])
def test_two_classes(loss):
    y = np.where(SIGNAL > 0.3, "yes", "no")
    ours, theirs = (
        GradientBoostingClassifier(**SMALL, loss=each).fit(X, y) for each in ("auto", loss)
    )
    np.testing.assert_allclose(theirs.predict_proba(X), ours.predict_proba(X), rtol=1e-9)
    assert np.array_equal(theirs.predict(X), ours.predict(X))
    assert np.array_equal(list(theirs.staged_predict(X)), list(ours.staged_predict(X)))
    assert theirs.decision_function(X).shape == (400,)


@pytest.mark.parametrize("loss", [ThreeClasses(), ThreeClassesWithLink()], ids=["named", "method"])
def test_three_classes(loss):
    y = np.digitize(SIGNAL, (-0.5, 0.5))
    ours, theirs = (
        GradientBoostingClassifier(**SMALL, loss=each).fit(X, y) for each in ("auto", loss)
    )
    np.testing.assert_allclose(theirs.predict_proba(X), ours.predict_proba(X), rtol=1e-9)
    assert np.array_equal(theirs.predict(X), ours.predict(X))


def test_a_link_of_ones_own():
    class Root(HalfSquare):
        def link(self, raw):
            return np.sqrt(np.abs(raw))

    class Log(HalfSquare):
        link = "log"

    plain = GradientBoostingRegressor(**SMALL).fit(X, Y).predict(X)
    model = GradientBoostingRegressor(**SMALL, loss=Root()).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), np.sqrt(np.abs(plain)), rtol=1e-9)
    np.testing.assert_allclose(list(model.staged_predict(X))[-1], model.predict(X))
    model = GradientBoostingRegressor(**SMALL, loss=Log()).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), np.exp(plain), rtol=1e-9)
    # What was fitted predicts, whatever the parameter is now.
    np.testing.assert_allclose(model.set_params(loss="auto").predict(X), np.exp(plain), rtol=1e-9)


def test_a_custom_loss_can_be_cloned_and_pickled():
    params = {**SMALL, "early_stopping": True}
    model = GradientBoostingClassifier(**params, loss=LogOddsWithLink()).fit(X, SIGNAL > 0)
    assert isinstance(clone(model).loss, LogOddsWithLink)
    assert model._custom_link._rows is None  # the model keeps no rows
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(again.truncate(1).predict(X), model.truncate(1).predict(X))


def test_a_custom_loss_is_not_saved(tmp_path):
    model = GradientBoostingClassifier(**SMALL, loss=LogOdds()).fit(X, SIGNAL > 0)
    with pytest.raises(TypeError, match=r"holds no code.*use pickle.*set_params\(loss='auto'\)"):
        model.save(tmp_path / "model")
    model.set_params(loss="auto").save(tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").predict_proba(X), model.predict_proba(X))
    model = GradientBoostingClassifier(**SMALL, loss=LogOddsWithLink()).fit(X, SIGNAL > 0)
    with pytest.raises(TypeError, match="holds no code"):
        model.set_params(loss="auto").save(tmp_path / "model")
    model.fit(X, SIGNAL > 0).save(tmp_path / "model")


def test_parameters_of_a_custom_loss():
    class Scaled(HalfSquare):
        def __init__(self, factor=1.0):
            self.factor = factor

        def get_params(self, deep=True):
            return {"factor": self.factor}

        def set_params(self, **params):
            self.__dict__.update(params)
            return self

    model = GradientBoostingRegressor(loss=Scaled())
    assert model.set_params(loss__factor=2.0).loss.factor == 2.0
    with pytest.raises(ParameterError, match="cannot set loss__factor"):
        GradientBoostingRegressor(loss=HalfSquare()).set_params(loss__factor=2.0)


# Functions as losses


def half_square(y, raw):
    return raw - y, np.ones_like(raw)


def log_odds(y, raw):
    return LogOdds().gradient(y, raw)


def three_classes(y, raw):
    return ThreeClasses().gradient(y, raw)


class FromZero:
    """As a loss that is a function: nothing but derivatives."""

    def __init__(self, function, n_outputs=1):
        self.gradient, self.n_outputs = function, n_outputs


@pytest.mark.parametrize("weight", [None, np.arange(400) % 5 + 0.5], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    ("kind", "function", "y", "n_outputs"),
    [
        (GradientBoostingRegressor, half_square, Y, 1),
        (GradientBoostingRegressor, square_gradient, Y, 1),
        (GradientBoostingClassifier, log_odds, np.where(SIGNAL > 0.3, "yes", "no"), 1),
        (GradientBoostingClassifier, three_classes, np.digitize(SIGNAL, (-0.5, 0.5)), 3),
    ],
    ids=["regressor", "compiled", "two", "three"],
)
def test_a_function_is_a_loss(kind, function, y, n_outputs, weight):
    params = {**SMALL, "sampler": "subsample"}
    model = kind(**params, loss=function).fit(X, y, weight)
    as_object = kind(**params, loss=FromZero(function, n_outputs)).fit(X, y, weight)
    assert np.array_equal(model._predict_raw(X), as_object._predict_raw(X))
    ours = kind(**params).fit(X, y, weight, init_score=np.zeros(model._predict_raw(X).shape))
    np.testing.assert_allclose(model._predict_raw(X), ours._predict_raw(X), rtol=1e-9, atol=1e-12)
    assert np.array_equal(clone(model).fit(X, y, weight).predict(X), model.predict(X))
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_a_function_and_a_score_to_watch(capsys, tmp_path):
    model = GradientBoostingRegressor(**SMALL, loss=half_square, early_stopping=True, verbose=True)
    model.set_params(scoring="r2", n_estimators=5).fit(X, Y)
    assert list(model.history_) == ["validation_score"]
    with pytest.raises(ParameterError, match="half_square is a function, and has no method value"):
        model.set_params(scoring="loss").fit(X, Y)
    with pytest.raises(TypeError, match="holds no code"):
        model.set_params(early_stopping=False).fit(X, Y).save(tmp_path / "model")


def test_functions_fit_any_number_of_classes():
    for loss, many in ((log_odds, True), (LogOdds(), False), ("exponential", False)):
        tags = GradientBoostingClassifier(loss=loss).__sklearn_tags__()
        assert tags.classifier_tags.multi_class is many


def make_odd(base, **members):
    return type("Odd", (base,), members)()


@pytest.mark.parametrize(
    ("kind", "loss", "y", "message"),
    [
        (GradientBoostingRegressor, make_odd(HalfSquare, n_outputs=2), Y, "a regressor has one"),
        (GradientBoostingRegressor, make_odd(HalfSquare, link="softmax"), Y, "'identity', 'log'"),
        (GradientBoostingClassifier, make_odd(LogOdds, link="log"), SIGNAL > 0, "'logistic'"),
        (GradientBoostingClassifier, ThreeClasses(), SIGNAL > 0, "2 classes need 1"),
        (GradientBoostingClassifier, LogOdds(), SIGNAL.round() % 3, "3 classes need 3"),
    ],
)
def test_custom_losses_that_do_not_fit(kind, loss, y, message):
    with pytest.raises(ParameterError, match=message):
        kind(loss=loss).fit(X, y)


def test_early_stopping_needs_values():
    loss = make_odd(HalfSquare, value=None)
    GradientBoostingRegressor(**SMALL, loss=loss).fit(X, Y)
    with pytest.raises(ParameterError, match="Odd has no method value"):
        GradientBoostingRegressor(**SMALL, loss=loss, early_stopping=True).fit(X, Y)


def test_an_error_in_a_custom_loss_is_the_users_to_see():
    def gradient(self, y, raw):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        GradientBoostingRegressor(loss=make_odd(HalfSquare, gradient=gradient)).fit(X, Y)
