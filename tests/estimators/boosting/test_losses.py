"""The losses of regression and of one's own, through the estimators."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import (
    d2_pinball_score,
    d2_tweedie_score,
    mean_absolute_percentage_error,
    mean_gamma_deviance,
    mean_pinball_loss,
    mean_poisson_deviance,
    mean_tweedie_deviance,
)
from sklearn.model_selection import GridSearchCV

from sumwise import (
    Fair,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Huber,
    Quantile,
    TargetStatistics,
    Tweedie,
    load,
)
from sumwise.errors import DataError, ParameterError, TrainingError
from sumwise.estimators.input import jobs
from sumwise.losses import LOSS_ALIASES, REGRESSION_LOSSES, Gamma, Squared

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
    if loss == "squared_log_error":
        return np.expm1(np.abs(signal)) * rng.lognormal(sigma=0.3, size=n)
    if loss == "mape":
        return 20 * signal + rng.normal(size=n)
    if loss == "gamma":
        return rng.gamma(2.0, mean / 2.0) + 1e-9
    if loss == "tweedie":
        return rng.gamma(1.5 * rng.poisson(1, n) + 1e-300, mean).round(6)
    if loss == "cross_entropy":
        return 1 / (1 + np.exp(-signal - 0.3 * rng.normal(size=n)))
    return signal + 0.3 * rng.standard_t(2, n)


X, SIGNAL = make_table(400)
Y = draw_target("absolute_error", SIGNAL)
SEVERAL = Quantile([0.1, 0.5, 0.9])
EVERY = [*REGRESSION_LOSSES, Quantile(0.8), SEVERAL, Huber(0.5), Fair(0.5), Tweedie(1.2)]
NAMES = {Quantile: "quantile", Huber: "huber", Fair: "fair", Tweedie: "tweedie"}
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
    monkeypatch.setattr(jobs, "count_growers", lambda n_values: 99)
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
    ("name", "part"),
    [("quantile", Quantile()), ("huber", Huber()), ("tweedie", Tweedie()), ("fair", Fair())],
)
def test_a_name_means_the_defaults(name, part):
    assert np.array_equal(fit(name).predict(X), fit(part).predict(X))


@pytest.mark.parametrize(("alias", "name"), LOSS_ALIASES.items())
def test_other_names(alias, name, tmp_path):
    y = target_for(name)
    model = GradientBoostingRegressor(**SMALL, loss=alias).fit(X, y)
    assert np.array_equal(model.predict(X), fit(name).predict(X))
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").loss == alias


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
        (Fair(c=0), r"Fair\(c=0\)"),
        (Quantile([0.9, 0.1]), "levels must ascend"),
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
        ("rmsle", Y - 10, r"y\[\d+\] is -.*'squared_log_error' needs targets above -1"),
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


@pytest.mark.parametrize(
    "loss", ["huber", "absolute_error", "log_cosh", Huber(delta=0.5), Fair(0.5)], ids=repr
)
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


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("loss", ["fair", "log_cosh"])
def test_smooth_losses_fit_targets_of_any_unit(loss, factor):
    y = factor * Y
    model = GradientBoostingRegressor(loss=loss, n_estimators=60).fit(X, y)
    errors = np.abs(model.predict(X) - y)
    assert errors.mean() < 0.6 * np.abs(y - np.median(y)).mean()


def test_relative_errors_care_for_small_targets():
    (train, signal), (test, test_signal) = make_table(3000, 1), make_table(3000, 2)
    y, y_test = (np.exp(2 + 2 * s) * noise(s) for s in (signal, test_signal))
    errors = [
        mean_absolute_percentage_error(
            y_test, GradientBoostingRegressor(loss=loss).fit(train, y).predict(test)
        )
        for loss in ("mape", "absolute_error", "squared_error")
    ]
    assert errors[0] < 0.9 * errors[1] < errors[2]


def noise(like):
    return np.random.default_rng(5).lognormal(sigma=0.5, size=like.size)


def test_logarithms_predict_more_than_minus_one():
    y = np.expm1(SIGNAL.clip(-3)) * 0.999
    predictions = GradientBoostingRegressor(loss="rmsle").fit(X, y).predict(X)
    assert predictions.min() > -1
    errors = np.log1p(predictions) - np.log1p(y)
    assert (errors**2).mean() < 0.1 * np.log1p(y).var()


# Leaves that the rows which choose splits fill, and those which give values do not


@pytest.mark.parametrize("loss", ["huber", "absolute_error", Quantile(0.4), "fair"], ids=repr)
@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
@pytest.mark.parametrize("min_samples_leaf", [1, 5])
def test_leaves_without_rows_of_the_value_permutation(loss, growth, min_samples_leaf):
    rng = np.random.default_rng(0)
    category = rng.integers(0, 120, 600)
    X = np.column_stack([category, rng.normal(size=600).round(1)])
    y = rng.normal(size=120)[category] + 0.3 * rng.standard_t(2, 600)
    model = GradientBoostingRegressor(
        loss=loss,
        growth=growth,
        min_samples_leaf=min_samples_leaf,
        categorical_features=[0],
        categorical_encoding=TargetStatistics(permutations=4),
        n_estimators=30,
        random_state=0,
    ).fit(X, y)
    # Steps of leaves are locations of errors, so none is larger than the largest error.
    assert np.abs(model.ensemble_.value).max() <= 0.1 * np.ptp(y)
    assert np.abs(model.predict(X) - y).mean() < np.abs(y - np.median(y)).mean()


# Several quantiles


@pytest.mark.parametrize("growth", GROWTHS)
def test_several_quantiles_cover_their_shares_in_order(growth):
    (train, signal), (test, test_signal) = make_table(3000, 1), make_table(3000, 2)
    y, y_test = (draw_target("quantile", s, k) for k, s in enumerate((signal, test_signal)))
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    model = GradientBoostingRegressor(loss=Quantile(levels), growth=growth, n_estimators=40)
    predictions = model.fit(train, y).predict(test)
    assert predictions.shape == (3000, 5)
    assert (np.diff(predictions, axis=1) >= 0).all()
    shares = (y_test[:, None] <= predictions).mean(axis=0)
    np.testing.assert_allclose(shares, levels, atol=0.05)
    # Each level is the model of this level alone, but for rows where they cross.
    raw = model._predict_raw(test)
    assert (np.diff(raw, axis=1) < 0).any()
    alone = model.set_params(loss=Quantile(0.25)).fit(train, y).predict(test)
    assert np.array_equal(raw[:, 1], alone)


def test_sorting_never_costs():
    losses = GradientBoostingRegressor(**SMALL, loss=SEVERAL, early_stopping=True)
    model = losses.fit(X[:300], Y[:300], X_val=X[300:], y_val=Y[300:])
    predictions = model.predict(X[300:])
    found = np.mean(
        [
            mean_pinball_loss(Y[300:], column, alpha=level)
            for level, column in zip(SEVERAL.level, predictions.T, strict=True)
        ]
    )
    assert found <= model.best_score_ + 1e-12
    *_, last = model.staged_predict(X)
    assert np.array_equal(last, model.predict(X))
    assert len(list(model.staged_predict(X))) == model.best_iteration_
    assert model.n_trees_ == 3 * model.best_iteration_


def test_the_score_of_several_quantiles(tmp_path):
    model = fit(SEVERAL)
    expected = [
        d2_pinball_score(target_for(SEVERAL), column, alpha=level)
        for level, column in zip(SEVERAL.level, model.predict(X).T, strict=True)
    ]
    y = target_for(SEVERAL)
    assert model.score(X, y) == pytest.approx(np.mean(expected))
    assert model.score(X, y) > 0.2
    weight = np.arange(len(y)) % 3
    kept = weight > 0
    assert model.score(X, y, weight) == pytest.approx(
        model.score(X[kept], y[kept], weight[kept]), rel=1e-9
    )
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").score(X, y) == model.score(X, y)
    with pytest.raises(ParameterError, match="the model predicts 3 quantiles"):
        model.set_params(loss="auto").score(X, y)


def test_several_quantiles_with_other_parts(tmp_path):
    y = target_for(SEVERAL)
    for params in (
        {"booster": "dart"},
        {"booster": "forest"},
        {"sampler": "goss"},
        {"sampler": "bayesianbootstrap"},
        {"categorical_features": [2], "categorical_encoding": "ordered"},
        {"monotonic_cst": [1, 0, 0, 0]},
    ):
        model = GradientBoostingRegressor(**SMALL, loss=SEVERAL, **params).fit(X, y)
        predictions = model.predict(X)
        assert predictions.shape == (400, 3)
        assert (np.diff(predictions, axis=1) >= 0).all()
        model.save(tmp_path / "model")
        assert np.array_equal(load(tmp_path / "model").predict(X), predictions)
    start = np.column_stack([y - 1, y, y + 1])
    model = GradientBoostingRegressor(**SMALL, loss=SEVERAL).fit(X, y, init_score=start)
    assert model.ensemble_.base_score.tolist() == [0.0] * 3


@pytest.mark.parametrize("levels", [[0.1, 0.9], [0.5]], ids=str)
def test_several_quantiles_are_of_one_target(levels):
    model = GradientBoostingRegressor(loss=Quantile(levels))
    with pytest.raises(ParameterError, match="several quantiles are of one target"):
        model.fit(X, np.column_stack([Y, Y]))


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
