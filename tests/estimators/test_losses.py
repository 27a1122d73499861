"""The losses of regression and of one's own, through the estimators."""

import pickle

import numba
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import (
    d2_tweedie_score,
    mean_gamma_deviance,
    mean_poisson_deviance,
    mean_tweedie_deviance,
)
from sklearn.model_selection import GridSearchCV

from sumwise import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Huber,
    Quantile,
    Tweedie,
    load,
)
from sumwise.errors import DataError, ParameterError, TrainingError
from sumwise.estimators import jobs
from sumwise.losses import REGRESSION_LOSSES, Gamma, Squared

GROWTHS = ["leaf", "depth", "symmetric"]
SMALL = {"n_estimators": 8, "max_leaves": 8, "min_samples_leaf": 5, "random_state": 0}


def make_table(n_rows, seed=0):
    """Return X, some of it missing, and the signal in it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    X[:, 2] = X[:, 2].round()
    signal = 0.8 * X[:, 0] + np.sin(2 * X[:, 1]) - 0.3 * X[:, 2]
    X[rng.random(n_rows) < 0.05, 0] = np.nan
    return X, signal


def draw_target(loss, signal, seed=0):
    rng = np.random.default_rng(seed)
    mean, n = np.exp(signal), signal.size
    if loss == "poisson":
        return rng.poisson(mean).astype(float)
    if loss == "gamma":
        return rng.gamma(2.0, mean / 2.0) + 1e-9
    if loss == "tweedie":
        return rng.gamma(1.5 * rng.poisson(1, n) + 1e-300, mean).round(6)
    if loss == "cross_entropy":
        return 1 / (1 + np.exp(-signal - 0.3 * rng.normal(size=n)))
    return signal + 0.3 * rng.standard_t(2, n)


X, SIGNAL = make_table(400)
Y = draw_target("absolute_error", SIGNAL)
EVERY = [*REGRESSION_LOSSES, Quantile(0.8), Huber(0.5), Tweedie(1.2)]
NAMES = {Quantile: "quantile", Huber: "huber", Tweedie: "tweedie"}
each_loss = pytest.mark.parametrize("loss", EVERY, ids=repr)


def target_for(loss, signal=SIGNAL):
    return draw_target(NAMES.get(type(loss), loss), signal)


def fit(loss, **params):
    return GradientBoostingRegressor(**{**SMALL, "loss": loss, **params}).fit(X, target_for(loss))


# Every loss


@each_loss
@pytest.mark.parametrize("growth", GROWTHS)
def test_boosting_lowers_the_loss(loss, growth, capsys):
    losses = fit(loss, growth=growth, verbose=True, n_estimators=15).history_["training_loss"]
    assert losses[-1] < losses[0]
    assert np.count_nonzero(np.diff(losses) >= 0) <= 1


@each_loss
@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
def test_threads_change_no_byte(loss, growth, monkeypatch, bytes_of):
    monkeypatch.setattr(jobs, "count_cpus", lambda: 4)
    monkeypatch.setattr(jobs, "STEPS_PER_THREAD", 1)
    weight = np.random.default_rng(0).exponential(size=len(X))
    params = {**SMALL, "n_estimators": 3, "loss": loss, "growth": growth, "sampler": "subsample"}
    files = {
        bytes_of(
            GradientBoostingRegressor(**params, n_jobs=n_jobs).fit(X, target_for(loss), weight)
        )
        for n_jobs in (1, 2, 4)
    }
    assert len(files) == 1


@each_loss
def test_saved_models_are_the_same(loss, tmp_path):
    model = fit(loss, early_stopping=True)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert loaded.loss == loss
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    again = loaded.set_params(n_jobs=1).fit(X, target_for(loss))
    assert np.array_equal(again.predict(X), model.predict(X))


@each_loss
def test_a_weight_of_two_is_the_row_twice(loss):
    # So few rows have exact histograms, with the same rounding for both.
    few, twice = np.arange(150), np.arange(150) % 3 == 0
    y = target_for(loss)[few]
    params = {**SMALL, "loss": loss, "min_samples_leaf": 1, "max_leaves": 4, "l2": 0.0}
    weighted = GradientBoostingRegressor(**params).fit(X[few], y, 1 + twice)
    rows = np.concatenate([few, np.flatnonzero(twice)])
    repeated = GradientBoostingRegressor(**params).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6, atol=1e-9)


@each_loss
def test_clone_and_repr(loss):
    model = clone(GradientBoostingRegressor(loss=loss))
    assert model.loss == loss
    assert isinstance(loss, str) or model.loss is not loss
    assert repr(loss) in repr(model) or loss == "auto"


@each_loss
def test_fit_changes_no_parameter(loss):
    before = repr(loss)
    assert repr(fit(loss).loss) == before


@pytest.mark.parametrize(
    ("name", "part"), [("quantile", Quantile()), ("huber", Huber()), ("tweedie", Tweedie())]
)
def test_a_name_means_the_defaults(name, part):
    assert np.array_equal(fit(name).predict(X), fit(part).predict(X))


# Parameters of losses


def test_nested_parameters():
    model = GradientBoostingRegressor(loss=Quantile(level=0.9))
    assert model.get_params()["loss__level"] == 0.9
    assert model.set_params(loss__level=0.1).loss == Quantile(level=0.1)
    model.set_params(loss=Huber(), loss__delta=2.0)
    assert model.loss == Huber(delta=2.0)


@pytest.mark.parametrize(
    ("loss", "change", "message"),
    [
        ("quantile", {"loss__level": 0.9}, r"loss='quantile'.*pass loss=Quantile\(level=\.\.\.\)"),
        ("auto", {"loss__delta": 1}, r"pass loss=Huber\(delta=\.\.\.\)"),
        ("auto", {"loss__power": 1.2}, r"pass loss=Tweedie\(power=\.\.\.\)"),
        (Quantile(), {"loss__delta": 1}, "Quantile has no parameter 'delta'"),
    ],
)
def test_nested_parameters_that_are_not_there(loss, change, message):
    with pytest.raises(ParameterError, match=message):
        GradientBoostingRegressor(loss=loss).set_params(**change)


def test_grid_search_over_the_parameters_of_a_loss():
    model = GradientBoostingRegressor(**SMALL, loss=Quantile())
    grid = {"loss__level": [0.05, 0.5, 0.95]}
    search = GridSearchCV(model, grid, cv=3, scoring="neg_mean_absolute_error").fit(X, Y)
    assert search.best_params_ == {"loss__level": 0.5}
    assert model.loss == Quantile()


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (Quantile(level=1.5), r"Quantile\(level=1\.5\)"),
        (Huber(delta=-1), r"Huber\(delta=-1\)"),
        (Tweedie(power=2), r"Tweedie\(power=2\).*loss='gamma'"),
        ("mse", r"loss='mse'; must be one of 'auto', .*Quantile\(\.\.\.\).*gradient\(y, raw\)"),
        (Squared(), "must be one of"),
        (Gamma, "must be one of"),
        (Quantile, "must be one of"),
    ],
)
def test_bad_losses(loss, message):
    with pytest.raises(ParameterError, match=message):
        GradientBoostingRegressor(loss=loss).fit(X, Y)


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        ("poisson", Y, r"y\[\d+\] is -.*needs targets of at least 0"),
        ("gamma", np.arange(400) - 0.0, r"y\[0\] is 0.*above 0"),
        ("tweedie", Y, "at least 0"),
        ("poisson", np.zeros(400), "all targets are 0"),
        ("cross_entropy", 2 * np.abs(Y), r"probabilities in \[0, 1\]"),
    ],
)
def test_targets_out_of_range(loss, y, message):
    with pytest.raises(DataError, match=message):
        GradientBoostingRegressor(loss=loss).fit(X, y)


# What each loss is for


@pytest.mark.parametrize(
    ("loss", "deviance"),
    [
        ("poisson", mean_poisson_deviance),
        ("gamma", mean_gamma_deviance),
        ("tweedie", lambda y, p: mean_tweedie_deviance(y, p, power=1.5)),
    ],
)
def test_deviances_are_as_low_as_the_rivals(loss, deviance):
    (train, signal), (test, test_signal) = make_table(3000, 1), make_table(3000, 2)
    y, y_test = draw_target(loss, signal, 1), draw_target(loss, test_signal, 2)
    model = GradientBoostingRegressor(loss=loss, n_estimators=60).fit(train, y)
    found = deviance(y_test, model.predict(test))
    assert found < 0.85 * deviance(y_test, np.full(3000, y.mean()))
    if loss != "tweedie":
        rival = HistGradientBoostingRegressor(
            loss=loss, max_iter=60, l2_regularization=1.0, early_stopping=False
        ).fit(train, y)
        assert found == pytest.approx(deviance(y_test, rival.predict(test)), rel=0.02)


def test_cross_entropy_predicts_probabilities():
    train, signal = make_table(3000, 1)
    y = draw_target("cross_entropy", signal, 1)
    predictions = GradientBoostingRegressor(loss="cross_entropy").fit(train, y).predict(train)
    assert np.all((predictions > 0) & (predictions < 1))
    assert np.abs(predictions - y).mean() < 0.3 * np.abs(y - y.mean()).mean()
    assert predictions.mean() == pytest.approx(y.mean(), abs=0.005)


def test_cross_entropy_of_classes_is_the_classifier():
    y = (SIGNAL > 0).astype(float)
    regressor = GradientBoostingRegressor(**SMALL, loss="cross_entropy").fit(X, y)
    classifier = GradientBoostingClassifier(**SMALL).fit(X, y)
    assert np.array_equal(regressor.predict(X), classifier.predict_proba(X)[:, 1])


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("growth", GROWTHS)
def test_quantiles_cover_their_share(level, growth):
    (train, signal), (test, test_signal) = make_table(4000, 1), make_table(4000, 2)
    y, y_test = (draw_target("quantile", s, k) for k, s in enumerate((signal, test_signal)))
    model = GradientBoostingRegressor(loss=Quantile(level=level), n_estimators=60, growth=growth)
    predictions = model.fit(train, y).predict(test)
    assert (y_test <= predictions).mean() == pytest.approx(level, abs=0.04)
    spread = np.abs(predictions - np.quantile(y, level)).mean()
    assert spread > 0.3  # no constant


@pytest.mark.parametrize("loss", ["huber", "absolute_error", Huber(delta=0.5)], ids=repr)
def test_outliers_do_little_harm(loss):
    (train, signal), (test, test_signal) = make_table(3000, 1), make_table(3000, 2)
    rng = np.random.default_rng(0)
    y = signal + 0.2 * rng.normal(size=3000)
    y[rng.random(3000) < 0.05] += 50 * rng.choice([-1, 1])
    errors = [
        np.abs(GradientBoostingRegressor(loss=each).fit(train, y).predict(test) - test_signal)
        for each in (loss, "squared_error")
    ]
    assert errors[0].mean() < 0.3 * errors[1].mean()


@pytest.mark.parametrize("loss", ["huber", "absolute_error", "quantile"])
def test_the_unit_of_the_target_does_not_matter(loss):
    small, large = (
        GradientBoostingRegressor(**SMALL, loss=loss).fit(X, factor * Y).predict(X)
        for factor in (1.0, 1024.0)
    )
    assert np.array_equal(1024 * small, large)


def test_huge_targets_are_refused():
    with pytest.raises(TrainingError, match="too large"):
        GradientBoostingRegressor(loss="huber").fit(X, 1e200 * np.sign(Y))


# Exposure


def test_exposure_as_initial_score():
    rng = np.random.default_rng(0)
    train, signal = make_table(4000, 1)
    train = train.round(1)  # a bin for every value, whatever the weights
    exposure = rng.uniform(0.1, 2.0, 4000)
    rate = 0.05 * np.exp(signal)
    claims = rng.poisson(rate * exposure).astype(float)
    model = GradientBoostingRegressor(loss="poisson", n_estimators=40)
    model.fit(train, claims, init_score=np.log(exposure))
    rates = model.predict(train)
    # Predictions are rates; times the exposure they add up to the claims.
    assert (rates * exposure).sum() == pytest.approx(claims.sum(), rel=0.02)
    assert np.corrcoef(np.log(rates), signal)[0, 1] > 0.7
    # A Poisson loss on rates, weighted by exposure, has the same gradients.
    twin = GradientBoostingRegressor(loss="poisson", n_estimators=40)
    twin.fit(train, claims / exposure, sample_weight=exposure)
    np.testing.assert_allclose(rates, twin.predict(train), rtol=1e-6)
    assert d2_tweedie_score(claims, rates * exposure, power=1) > 0.1


def test_initial_scores_of_other_links_start_from_zero():
    model = GradientBoostingRegressor(**SMALL, loss="absolute_error")
    model.fit(X, Y, init_score=np.full(len(X), 5.0))
    assert model.ensemble_.base_score.tolist() == [0.0]
    assert model.predict(X).mean() < -2


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
