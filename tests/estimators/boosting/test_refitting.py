"""Leaves that follow other rows: against fits, LightGBM and a slow twin; for any model."""

from itertools import pairwise

import lightgbm
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from sumwise import (
    Fair,
    Forest,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Huber,
    Plain,
    Quantile,
    TargetStatistics,
    load,
)
from sumwise.errors import DataError, ParameterError
from sumwise.tree import ensemble

GROWTHS = ["leaf", "depth", "symmetric"]
SMALL = {"n_estimators": 8, "max_leaves": 8, "min_samples_leaf": 5, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 4))
X[:, 2] = X[:, 2].round()
X[RNG.random(600) < 0.05, 0] = np.nan
SIGNAL = np.nan_to_num(X[:, 0]) + np.sin(2 * X[:, 1]) - 0.5 * X[:, 2]
Y = SIGNAL + 0.3 * RNG.standard_t(3, 600)
OLD, NEW = slice(0, 300), slice(300, 600)
SHIFTED = Y + 2.0 + 0.5 * X[:, 1]
LOSSES = ["squared_error", "absolute_error", "huber", Huber(0.5), Fair(), "mape", Quantile(0.8)]
LOSSES += [Quantile([0.2, 0.8]), "log_cosh"]
POSITIVE = ["poisson", "gamma", "tweedie", "squared_log_error", "cross_entropy"]


def target_of(loss, y=Y):
    return 0.9 / (1 + np.exp(-y)) + 0.01 if loss in POSITIVE else y


def fit(loss="auto", rows=OLD, **params):
    model = GradientBoostingRegressor(**{**SMALL, "loss": loss, **params})
    return model.fit(X[rows], target_of(loss)[rows])


def test_no_decay_of_the_training_rows_is_the_fit():
    for loss in (*LOSSES, *POSITIVE):
        model = fit(loss, growth="leaf")
        again = model.refit(X[OLD], target_of(loss)[OLD], decay=0.0)
        np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-8, atol=1e-10)
        assert again.ensemble_.base_score.tolist() == model.ensemble_.base_score.tolist()


@pytest.mark.parametrize("growth", GROWTHS)
def test_full_decay_changes_nothing(growth):
    for loss in ("auto", "huber"):
        model = fit(loss, growth=growth)
        again = model.refit(X[NEW], Y[NEW], decay=1.0)
        assert np.array_equal(again.ensemble_.value, model.ensemble_.value)
        assert np.array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("loss", [*LOSSES, *POSITIVE], ids=repr)
def test_splits_stay_and_leaves_follow(loss, growth):
    model = fit(loss, growth=growth)
    before = model.predict(X)
    y = target_of(loss, SHIFTED)[NEW]
    again = model.refit(X[NEW], y, decay=0.3)
    for name in ("feature", "threshold", "left", "output", "gain", "n_rows", "set_node"):
        assert np.array_equal(getattr(again.ensemble_, name), getattr(model.ensemble_, name))
    assert np.array_equal(model.predict(X), before)  # the old model is as it was
    errors = [np.abs(m.predict(X[NEW]).T - y).mean() for m in (again, model)]
    assert errors[0] < errors[1]
    assert again.history_ == {}


def refit_slowly(model, X, y, weight, decay, rate=0.1, l2=1.0):
    """Squared error, leaf by leaf."""
    e, leaves = model.ensemble_, model.apply(X)
    base = decay * e.base_score[0] + (1 - decay) * np.average(y, weights=weight)
    scores, value = np.full(len(y), base), e.value.copy()
    for tree, start in enumerate(e.start[:-1]):
        for leaf in np.unique(leaves[:, tree]):
            own = leaves[:, tree] == leaf
            step = np.sum(weight[own] * (y - scores)[own]) / (weight[own].sum() + l2)
            value[start + leaf] = decay * value[start + leaf] + (1 - decay) * rate * step
        scores += value[start + leaves[:, tree]]
    return scores


@pytest.mark.parametrize("decay", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("growth", GROWTHS)
def test_equals_the_twin(growth, decay):
    weight = RNG.integers(1, 4, 300).astype(float)
    model = fit(growth=growth)
    again = model.refit(X[NEW], SHIFTED[NEW], weight, decay=decay)
    expected = refit_slowly(model, X[NEW], SHIFTED[NEW], weight, decay)
    np.testing.assert_allclose(again.predict(X[NEW]), expected, rtol=1e-9)


def test_equals_lightgbm():
    # From a constant of zero, for LightGBM keeps its constant in the first tree.
    rng = np.random.default_rng(0)  # not that of the module, whose state depends on other tests
    X_int = rng.integers(0, 12, (400, 3)).astype(float)
    y = X_int @ [3.0, -2.0, 1.0] + rng.normal(size=400)
    params = {"num_leaves": 8, "min_data_in_leaf": 20, "lambda_l2": 1.0, "learning_rate": 0.2}
    params |= {"boost_from_average": False, "min_data_in_bin": 1, "verbosity": -1}
    data = lightgbm.Dataset(X_int[:200], y[:200])
    rival = lightgbm.train({**params, "objective": "regression"}, data, 5)
    rival = rival.refit(X_int[200:], 2 * y[200:], decay_rate=0.4)
    model = GradientBoostingRegressor(n_estimators=5, max_leaves=8, learning_rate=0.2, l2=1.0)
    model.fit(X_int[:200], y[:200], init_score=np.zeros(200))
    again = model.refit(X_int[200:], 2 * y[200:], init_score=np.zeros(200), decay=0.4)
    reached = X_int[200:]  # LightGBM shrinks leaves that no row reaches
    np.testing.assert_allclose(again.predict(reached), rival.predict(reached), rtol=1e-5)


def test_leaves_without_rows_stay():
    model = fit(min_samples_leaf=1, max_leaves=30)
    few = X[300:310]
    again = model.refit(few, SHIFTED[300:310], decay=0.0)
    reached = model.apply(few)
    for tree, (start, end) in enumerate(pairwise(model.ensemble_.start)):
        is_leaf = model.ensemble_.left[start:end] < 0
        is_empty = is_leaf & ~np.isin(np.arange(end - start), reached[:, tree])
        old, new = (m.ensemble_.value[start:end] for m in (model, again))
        assert np.array_equal(old[is_empty], new[is_empty])
        assert not np.isin(new[is_leaf & ~is_empty], old).all()


@pytest.mark.parametrize("loss", ["auto", "huber", "mape", Quantile([0.1, 0.9])], ids=repr)
@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
def test_threads_change_no_byte(loss, growth, teams, bytes_of):
    model = fit(loss, growth=growth)
    weight = RNG.exponential(size=300)
    files = {
        bytes_of(model.set_params(n_jobs=n_jobs).refit(X[NEW], SHIFTED[NEW], weight))
        for n_jobs in (1, 2, 4)
    }
    assert len(files) == 1


def test_some_rounds_at_a_time(monkeypatch):
    model = fit("huber", n_estimators=7)
    expected = model.refit(X[NEW], SHIFTED[NEW])
    monkeypatch.setattr(ensemble, "_LEAF_BYTES", 4 * 300 * 3)
    again = model.refit(X[NEW], SHIFTED[NEW])
    assert np.array_equal(again.ensemble_.value, expected.ensemble_.value)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes(n_classes):
    labels = np.array(["a", "b", "c"])[np.digitize(SIGNAL, (0.0, 0.8)[: n_classes - 1])]
    model = GradientBoostingClassifier(**SMALL, class_weight="balanced").fit(X[OLD], labels[OLD])
    same = model.refit(X[OLD], labels[OLD], decay=0.0)
    np.testing.assert_allclose(same.predict_proba(X), model.predict_proba(X), rtol=1e-8)
    turned = np.roll(model.classes_, 1)[np.searchsorted(model.classes_, labels)]
    again = model.refit(X[NEW], turned[NEW], decay=0.0)
    assert (again.predict(X[NEW]) == turned[NEW]).mean() > 0.6
    # Not all classes need be there, but no new ones may.
    model.refit(X[NEW][labels[NEW] == "a"], labels[NEW][labels[NEW] == "a"])
    with pytest.raises(
        DataError, match="y has classes that are not among those to learn: \\['z'\\]"
    ):
        model.refit(X[NEW], np.where(labels[NEW] == "a", "z", labels[NEW]))


@pytest.mark.parametrize("encoding", ["native", TargetStatistics(permutations=2)], ids=str)
@pytest.mark.parametrize("loss", ["auto", "absolute_error"])
def test_categories(encoding, loss, tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["e"] = pd.Categorical(np.array(list("uvwxyz"))[RNG.integers(0, 6, 600)])
    y = Y + frame["e"].cat.codes.to_numpy()
    model = GradientBoostingRegressor(**SMALL, loss=loss, categorical_encoding=encoding)
    model.fit(frame[:300], y[:300])
    again = model.refit(frame[300:], y[300:] + 3, decay=0.5)
    assert again._encoder is model._encoder
    errors = [np.abs(m.predict(frame[300:]) - y[300:] - 3).mean() for m in (again, model)]
    assert errors[0] < 0.8 * errors[1]
    again.save(tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").predict(frame), again.predict(frame))
    loaded = load(tmp_path / "model").refit(frame[:300], y[:300])
    assert np.array_equal(loaded.predict(frame), again.refit(frame[:300], y[:300]).predict(frame))


@pytest.mark.parametrize("booster", ["forest", Plain(trees_per_round=3), "ordered"], ids=str)
@pytest.mark.parametrize("loss", ["auto", "absolute_error"])
def test_boosters(booster, loss):
    if booster == "ordered" and loss != "auto":
        return  # not for medians
    params = {"booster": booster, "sampler": None if booster == "ordered" else "subsample"}
    model = fit(loss, **params)
    for decay in (0.0, 0.5):
        again = model.refit(X[NEW], SHIFTED[NEW], decay=decay)
        errors = [np.abs(m.predict(X[NEW]) - SHIFTED[NEW]).mean() for m in (again, model)]
        assert errors[0] < errors[1]
        assert again.best_iteration_ == model.best_iteration_


def test_a_forest_without_sampling_is_itself_again():
    model = fit(booster=Forest(bootstrap=False), n_estimators=3)
    again = model.refit(X[OLD], Y[OLD], decay=0.0)
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-9)


def test_a_class_that_a_few_rows_lack_stays_possible():
    labels = np.where(RNG.random(600) < 0.05, "rare", "usual")
    model = GradientBoostingClassifier(**SMALL).fit(X[OLD], labels[OLD])
    again = model.refit(X[NEW][:50], np.full(50, "usual"))
    assert again.predict_proba(X).mean(axis=0)[0] > 0.02


def test_sparse_rows_and_a_loss_of_ones_own():
    def half_square(y, raw):
        return raw - y, np.ones_like(raw)

    sparse = csr_matrix(np.where(np.abs(X) > 1, np.nan_to_num(X), 0))
    model = GradientBoostingRegressor(**SMALL, loss=half_square).fit(sparse[:300], Y[:300])
    again = model.refit(sparse[300:], SHIFTED[300:], decay=0.0)
    assert np.abs(again.predict(sparse) - SHIFTED).mean() < np.abs(Y - SHIFTED).mean() + 1
    assert (again.predict(sparse) != model.predict(sparse)).any()


def test_rows_of_no_weight_teach_nothing():
    model, weight = fit("absolute_error"), (np.arange(300) % 2).astype(float)
    again = model.refit(X[NEW], np.where(weight > 0, SHIFTED[NEW], 1e6), weight)
    other = model.refit(X[NEW][1::2], SHIFTED[NEW][1::2])
    np.testing.assert_allclose(again.predict(X), other.predict(X), rtol=1e-9)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"booster": "linear"}, "booster='linear' has no leaves"),
        ({"booster": "dart"}, "booster='dart' cannot be refitted"),
        ({"monotonic_cst": [1, 0, 0, 0]}, "with monotonic_cst cannot be refitted"),
    ],
)
def test_models_that_cannot_be_refitted(params, message):
    model = fit(**params)
    with pytest.raises(ParameterError, match=message):
        model.refit(X[NEW], Y[NEW])


def test_bad_input():
    model = fit()
    for decay in (-0.1, 1.1, None, True, "0.9", np.nan):
        with pytest.raises(ParameterError, match=r"decay=.*from 0 to 1"):
            model.refit(X[NEW], Y[NEW], decay=decay)
    with pytest.raises(DataError, match="X has 300 rows, but y has 299"):
        model.refit(X[NEW], Y[NEW][1:])
    with pytest.raises(DataError, match="X has 300 rows, but y has none"):
        model.refit(X[NEW], None)
    with pytest.raises(ValueError, match="3 features"):
        model.refit(X[NEW][:, :3], Y[NEW])
    with pytest.raises(ParameterError, match="set the loss it was fitted with"):
        model.set_params(loss=Quantile([0.1, 0.9])).refit(X[NEW], Y[NEW])
    with pytest.raises(DataError, match="at least 0"):
        fit("poisson").refit(X[NEW], Y[NEW])
