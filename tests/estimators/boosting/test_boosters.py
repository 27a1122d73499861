"""Boosters and samplers as parameters of estimators."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.utils import check_random_state

from sumwise import (
    ClassSubsample,
    Dart,
    Forest,
    Goss,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    GroupSubsample,
    Linear,
    Mvs,
    Ordered,
    Plain,
    StackingRegressor,
    Subsample,
    load,
)
from sumwise.errors import DataError, ParameterError
from sumwise.sampling import ROW_SAMPLERS
from sumwise.training.boosters import BOOSTERS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).round(2)
Y = X[:, 0] - np.sin(2 * X[:, 1]) + 0.3 * RNG.normal(size=300)
LABELS = np.where(Y > 1.2, "rare", "usual")


def fit(model=None, y=Y, fitting=None, **params):
    model = model or GradientBoostingRegressor(
        **{"n_estimators": 8, "random_state": 0, "min_samples_leaf": 5, **params}
    )
    return model.fit(X, y, **(fitting or {}))


def classify(**params):
    model = GradientBoostingClassifier(**{"n_estimators": 8, "random_state": 0, **params})
    return model.fit(X, LABELS, groups=np.arange(300) // 10)


@pytest.mark.parametrize("kind", BOOSTERS)
def test_a_booster_by_name_is_the_part_with_its_defaults(kind, bytes_of):
    by_name = fit(booster=kind.__name__.lower())
    by_part = fit(booster=kind())
    assert np.array_equal(by_name.predict(X), by_part.predict(X))
    assert clone(by_part).booster == kind()
    again = pickle.loads(pickle.dumps(by_part))
    assert np.array_equal(again.predict(X), by_part.predict(X))
    assert bytes_of(again) == bytes_of(by_part)


@pytest.mark.parametrize("kind", ROW_SAMPLERS)
def test_a_sampler_by_name_is_the_part_with_its_defaults(kind):
    by_name = classify(sampler=kind.__name__.lower())
    assert np.array_equal(by_name.predict_proba(X), classify(sampler=kind()).predict_proba(X))


def test_parameters_of_parts_can_be_searched():
    model = GradientBoostingRegressor(booster=Dart(), sampler=Goss(), n_estimators=3)
    model.set_params(booster__drop_rate=0.3, sampler__top_rate=0.4)
    assert model.get_params()["booster__drop_rate"] == 0.3
    search = GridSearchCV(model, {"booster__skip_drop": [0.0, 1.0], "sampler": [Mvs(), None]}, cv=2)
    assert search.fit(X, Y).best_params_["sampler"] in (Mvs(), None)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"booster": "gbdt"}, r"booster='gbdt'; must be Plain\(...\), Ordered\(...\), Dart"),
        ({"booster": None}, "booster=None; must be one of 'plain', 'ordered', 'dart'"),
        ({"booster": Dart(drop_rate=2)}, r"Dart\(drop_rate=2\)"),
        ({"sampler": "bagging"}, r"sampler='bagging'; must be Subsample\(...\), Goss\(...\)"),
        ({"sampler": Goss(0.9, 0.9)}, "together they must be at most 1"),
        ({"sampler": "classsubsample"}, "draws rows by their class; it is for classifiers"),
        ({"sampler": "groupsubsample"}, "draws whole groups; pass groups="),
        ({"early_stopping": "yes"}, "must be one of 'auto', 'oob', True, False"),
        ({"early_stopping": "oob"}, "sampler=None leaves out none"),
        ({"early_stopping": "oob", "sampler": "goss"}, r"sampler=Goss\(\) leaves out none or"),
        ({"early_stopping": "oob", "sampler": Subsample(1.0)}, "leaves none of the 300 rows out"),
        (
            {"early_stopping": "oob", "sampler": "subsample", "booster": "forest"},
            "do not build on each other",
        ),
        (
            {"early_stopping": "oob", "sampler": "subsample", "booster": Plain(2)},
            r"booster=Plain\(trees_per_round=2\) has no such rows",
        ),
        ({"sampler": "subsample", "booster": Ordered(1, "all")}, "leave the sampler out"),
        ({"booster": "linear", "columns": "all"}, "columns"),
        ({"booster": "linear", "monotonic_cst": [1, 0, 0, 0]}, "monotonic_cst is about"),
        (
            {
                "booster": "linear",
                "categorical_features": [1],
                "categorical_encoding": "native",
            },
            "feature 1 is categorical",
        ),
        ({"booster": "linear", "loss": "absolute_error"}, "second derivative"),
    ],
)
def test_what_cannot_be(params, message):
    with pytest.raises(ParameterError, match=message):
        fit(**params)


def test_messages_name_the_part_to_use():
    model = GradientBoostingRegressor(sampler="goss")
    with pytest.raises(ParameterError, match=r"pass sampler=Goss\(top_rate=...\)"):
        model.set_params(sampler__top_rate=0.1)
    with pytest.raises(ParameterError, match=r"pass booster=Dart\(drop_rate=...\)"):
        model.set_params(booster__drop_rate=0.1)


# Rows that rounds leave out


def find_seed(random_state):
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


@pytest.mark.parametrize("weighted", [False, True])
def test_improvement_on_the_rows_that_a_round_left_out(weighted):
    weight = RNG.random(300) + 0.5 if weighted else None
    model = fit(sampler=Subsample(0.6), fitting={"sample_weight": weight})
    stages = [np.full(300, model.ensemble_.base_score[0]), *model.staged_predict(X)]
    rows, seed = np.arange(300, dtype=np.uint32), find_seed(0)
    expected = []
    for k in range(8):
        out = np.setdiff1d(rows, Subsample(0.6).sample(rows, seed, k))
        own = None if weight is None else weight[out]
        before, after = (
            np.average(0.5 * (stage[out] - Y[out]) ** 2, weights=own) for stage in stages[k : k + 2]
        )
        expected.append(before - after)
    assert model.oob_improvement_ == pytest.approx(expected, rel=1e-9)
    assert (model.oob_improvement_[:3] > 0).all()


def test_of_many_rows_left_out_some_are_looked_at(monkeypatch):
    every = fit(sampler=Subsample(0.6)).oob_improvement_
    monkeypatch.setattr("sumwise.training.session.MOST_LEFT_OUT", 50)
    some = fit(sampler=Subsample(0.6)).oob_improvement_
    assert not np.array_equal(some, every)
    assert some[:3] == pytest.approx(every[:3], rel=0.5)
    stops = {"early_stopping": "oob", "n_iter_no_change": 99}
    assert np.array_equal(fit(sampler=Subsample(0.6), **stops).oob_improvement_, every)
    monkeypatch.setattr("sumwise.training.session.MOST_LEFT_OUT", 120)
    assert np.array_equal(fit(sampler=Subsample(0.6)).oob_improvement_, every)


@pytest.mark.parametrize("kind", [Subsample(), GroupSubsample(), ClassSubsample()])
def test_which_samplers_leave_out_rows_like_the_others(kind, tmp_path):
    model = classify(sampler=kind)
    assert model.oob_improvement_.size == 8
    model.save(tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").oob_improvement_, model.oob_improvement_)


@pytest.mark.parametrize("params", [{}, {"sampler": "goss"}, {"sampler": "mvs"}])
def test_otherwise_there_is_no_improvement_to_tell(params):
    model = fit(**params)
    assert not hasattr(model, "oob_improvement_")
    assert not hasattr(fit(sampler="subsample", booster=Plain(2)), "oob_improvement_")


@pytest.mark.parametrize("booster", ["plain", "dart", "linear", "ordered"])
def test_early_stopping_by_rows_left_out(booster):
    params = {"sampler": Subsample(0.5), "booster": booster, "n_estimators": 300}
    model = fit(**params, early_stopping="oob", learning_rate=0.3, n_iter_no_change=5)
    total = np.cumsum(model.oob_improvement_)
    assert model.best_iteration_ == int(np.argmax(total)) + 1
    assert total.size == model.best_iteration_ + 5 < 300


def test_early_stopping_by_rows_left_out_can_go_on(bytes_of):
    params = {"sampler": Subsample(0.5), "early_stopping": "oob", "learning_rate": 0.3}
    whole = fit(**params, n_estimators=40)
    start = fit(**params, n_estimators=3)
    again = fit(**params, n_estimators=40, fitting={"init_model": start})
    assert bytes_of(again) == bytes_of(whole)


# Groups and classes


def test_whole_groups_are_drawn_and_held_out():
    groups = np.arange(300) % 30
    names = np.array([f"group {k}" for k in groups])
    models = [
        fit(sampler=GroupSubsample(0.5), early_stopping=True, fitting={"groups": own})
        for own in (groups, names)
    ]
    assert models[0].best_score_ > 0
    plain = fit(sampler=GroupSubsample(0.5), fitting={"groups": groups})
    other = fit(sampler=GroupSubsample(0.5), fitting={"groups": groups[::-1] // 2})
    assert not np.array_equal(plain.predict(X), other.predict(X))
    with pytest.raises(DataError, match=r"groups has shape \(5,\)"):
        fit(sampler=GroupSubsample(0.5), fitting={"groups": groups[:5]})


@pytest.mark.parametrize("labels", [LABELS, np.where(LABELS == "rare", 1, 7)])
def test_rates_by_class_are_saved(labels, tmp_path):
    usual = labels[LABELS == "usual"].tolist()[0]
    model = GradientBoostingClassifier(
        sampler=ClassSubsample({usual: 0.2}), n_estimators=5, random_state=0
    ).fit(X, labels)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.sampler == model.sampler
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_class_that_is_drawn_less_is_predicted_less():
    rare = {}
    for reweigh in (False, True):
        sampler = ClassSubsample({"usual": 0.2}, reweigh=reweigh)
        model = classify(sampler=sampler, n_estimators=30, min_samples_leaf=10)
        rare[reweigh] = model.predict_proba(X)[:, 0].mean()
    share = np.mean(LABELS == "rare")
    assert rare[False] > 1.15 * share
    assert abs(rare[True] - share) < 0.5 * (rare[False] - share)


# The linear booster


def test_linear_models_are_linear(tmp_path):
    model = fit(booster=Linear(), learning_rate=1.0, n_estimators=50)
    twin = LinearRegression().fit(X, Y)
    assert model.coef_ == pytest.approx(twin.coef_, abs=1e-6)
    assert model.intercept_ == pytest.approx(twin.intercept_, abs=1e-6)
    assert model.predict(X) == pytest.approx(X @ model.coef_ + model.intercept_)
    assert model.n_trees_ == 0
    assert model.best_iteration_ == 50
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(again.truncate(7).predict(X), list(model.staged_predict(X))[6])


def test_linear_models_of_classes_and_frames():
    y = np.digitize(Y, [-0.5, 0.5])
    frame = pd.DataFrame(X, columns=list("abcd")).astype({"a": "float32"})
    model = GradientBoostingClassifier(booster="linear", n_estimators=30).fit(frame, y)
    assert model.coef_.shape == (3, 4)
    assert model.intercept_.shape == (3,)
    assert model.score(frame, y) > 0.6
    missing = frame.assign(a=np.nan)
    without = frame.assign(a=0.0)
    assert np.array_equal(model.predict_proba(missing), model.predict_proba(without))


@pytest.mark.parametrize(
    "encoding", ["auto", "native", "onehot", "ordered", "greedy", "holdout", "leave_one_out"]
)
@pytest.mark.parametrize("n_categories", [2, 60])
def test_linear_models_refuse_categories_whatever_encodes_them(encoding, n_categories):
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["b"] = pd.Categorical(np.arange(len(X)) % n_categories)
    model = GradientBoostingRegressor(booster="linear", categorical_encoding=encoding)
    with pytest.raises(ParameterError, match="feature 1 is categorical, and booster=Linear"):
        model.fit(frame, Y)
    assert model.fit(X, Y).coef_.shape == (4,)  # without categories the encoding does not matter


def test_linear_models_have_no_trees():
    model = fit(booster="linear")
    assert not hasattr(model, "feature_importances_")
    assert not hasattr(fit(), "coef_")
    assert not hasattr(fit(), "intercept_")
    with pytest.raises(ParameterError, match="has coefficients"):
        model.get_feature_importances()
    with pytest.raises(ParameterError, match="no leaves"):
        model.apply(X)


def test_linear_models_can_go_on(bytes_of, tmp_path):
    whole = fit(booster="linear", n_estimators=9)
    start = fit(booster="linear", n_estimators=4)
    start.save(tmp_path / "start")
    for init_model in (start, tmp_path / "start"):
        again = fit(booster="linear", n_estimators=9, fitting={"init_model": init_model})
        assert bytes_of(again) == bytes_of(whole)


def test_linear_members_of_a_stack():
    members = [("linear", GradientBoostingRegressor(booster="linear", learning_rate=0.5))]
    members.append(("trees", GradientBoostingRegressor(n_estimators=10)))
    model = StackingRegressor(members).fit(X, Y)
    assert model.score(X, Y) > 0.6


# What cannot be continued


@pytest.mark.parametrize("booster", [Dart(), Forest()])
def test_boosters_that_change_earlier_trees_cannot_go_on(booster):
    start = fit()
    with pytest.raises(ParameterError, match="cannot continue a model, because its rounds change"):
        fit(booster=booster, n_estimators=20, fitting={"init_model": start})
    with pytest.raises(DataError, match="trained with booster='dart' or 'forest'"):
        fit(n_estimators=20, fitting={"init_model": fit(booster=booster)})


def test_ordered_boosting_cannot_go_on():
    with pytest.raises(ParameterError, match="the scores of its models of prefixes are not kept"):
        fit(booster="ordered", n_estimators=20, fitting={"init_model": fit()})


def test_trees_do_not_follow_coefficients():
    linear, trees = fit(booster="linear"), fit()
    with pytest.raises(DataError, match=r"continues trees, but .* is a linear model"):
        fit(n_estimators=20, fitting={"init_model": linear})
    with pytest.raises(DataError, match=r"continues a linear model, but .* is trees"):
        fit(booster="linear", n_estimators=20, fitting={"init_model": trees})
    with pytest.raises(DataError, match="has 1 trees per round"):
        fit(booster=Plain(3), n_estimators=20, fitting={"init_model": trees})


def test_parallel_trees_can_go_on(bytes_of):
    params = {"booster": Plain(3), "sampler": Subsample(0.5)}
    whole = fit(**params, n_estimators=6)
    again = fit(**params, n_estimators=6, fitting={"init_model": fit(**params, n_estimators=2)})
    assert bytes_of(again) == bytes_of(whole)


def test_fewer_rounds_of_dart_are_refused_and_of_a_forest_are_means():
    dart = fit(booster=Dart(0.5, skip_drop=0.0))
    with pytest.raises(ParameterError, match="later rounds have rescaled"):
        dart.truncate(3)
    with pytest.raises(ParameterError, match="later rounds have rescaled"):
        list(dart.staged_predict(X))
    forest = fit(booster=Forest(2))
    stages = list(forest.staged_predict(X))
    assert forest.n_trees_ == 16
    assert stages[2] == pytest.approx(forest.truncate(3).predict(X))
    assert stages[-1] == pytest.approx(forest.predict(X))
    assert np.var(forest.predict(X)) < np.var(Y)


def test_snapshots_of_dart_are_exact():
    kept = {}

    def keep(state):
        kept[state.round_number] = state.model()

    params = {"booster": Dart(0.5, skip_drop=0.0)}
    fit(**params, callbacks=[keep])
    for n_rounds in (2, 5):
        exact = fit(**params, n_estimators=n_rounds)
        assert np.array_equal(kept[n_rounds].predict(X), exact.predict(X))


def test_weights_are_in_the_gradients_that_goss_sorts_by():
    weight = np.where(np.arange(300) < 150, 1.0, 1e-9)
    model = fit(sampler=Goss(0.5, 0.1), fitting={"sample_weight": weight})
    light = fit(sampler=Goss(0.5, 0.1), fitting={"sample_weight": np.where(weight < 1, 1e-12, 1.0)})
    assert np.allclose(model.predict(X), light.predict(X), atol=1e-4)
