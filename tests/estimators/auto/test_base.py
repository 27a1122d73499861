"""What both automatic ensembles do: limits, checkpoints, determinism, refits, bad parameters."""

import io
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

from sumwise import AutoEnsembleClassifier, AutoEnsembleRegressor
from sumwise.errors import DataError, ParameterError, UnknownParameterError
from sumwise.estimators.auto import search as search_module
from sumwise.estimators.auto.portfolio import BY_NAME, FAST
from tests.estimators.auto.samples import FakeClock, make_classes, make_frame

FEW = {
    "time_limit": None,
    "members": ["leaf_quick", "linear", "symmetric_ordered"],
    "n_folds": 3,
    "n_repeats": 1,
    "random_state": 0,
    "n_jobs": 1,
}
KINDS = [(AutoEnsembleClassifier, make_classes), (AutoEnsembleRegressor, make_frame)]


def predict(model, X):
    return getattr(model, "predict_proba", model.predict)(X)


def board(model):
    return {entry.name: entry for entry in model.leaderboard_}


@pytest.fixture
def fitted():
    X, y = make_frame()
    return AutoEnsembleRegressor(**FEW).fit(X, y), X, y


# --- limits ---


@pytest.mark.parametrize("limit", [2.0, 5.0])
def test_the_time_limit_is_kept(monkeypatch, limit):
    """By a clock on which every look takes two thousandths of a second."""
    clock = FakeClock(step=0.002)
    monkeypatch.setattr(AutoEnsembleRegressor, "_clock", staticmethod(clock))
    X, y = make_frame()
    options = {"n_folds": 3, "n_repeats": 1, "n_jobs": 1, "random_state": 0}
    model = AutoEnsembleRegressor(time_limit=limit, **options).fit(X, y)
    assert clock.now <= 1.1 * limit
    tried = board(model)
    assert tried["leaf_quick"].n_folds == 3
    assert any(entry.status == "left out: time" for entry in tried.values())
    assert np.isfinite(model.predict(X)).all()


def test_without_any_time_there_is_one_member(monkeypatch):
    clock = FakeClock(step=10.0)
    monkeypatch.setattr(AutoEnsembleClassifier, "_clock", staticmethod(clock))
    X, y = make_classes(60)
    model = AutoEnsembleClassifier(time_limit=1e-3, n_folds=2, n_repeats=1, n_jobs=1).fit(X, y)
    chosen = [entry.name for entry in model.leaderboard_ if entry.status == "chosen"]
    assert chosen == ["leaf_quick"]
    assert model.predict(X).size == 60


def test_members_that_need_more_memory_are_left_out():
    X, y = make_frame()
    names = ["leaf_quick", "forest", "linear"]
    model = AutoEnsembleRegressor(**{**FEW, "members": names}, memory_limit="25MB").fit(X, y)
    tried = board(model)
    assert tried["forest"].status == "left out: memory"
    assert tried["forest"].n_folds == 0
    assert tried["linear"].status in ("chosen", "not chosen")


# --- what is tried ---


def test_presets():
    X, y = make_frame(30)
    options = {"time_limit": None, "n_folds": 2, "n_repeats": 1, "n_jobs": 1, "random_state": 0}
    fast = AutoEnsembleRegressor(preset="fast", **options).fit(X, y)
    assert set(board(fast)) == {"ensemble", *FAST}
    names = set(board(AutoEnsembleRegressor(n_variants=2, **options).fit(X, y)))
    assert set(FAST) < names
    assert {"variant_1", "variant_2"} < names
    assert "exponential" not in names  # for two classes
    assert "network" not in names  # for at least 100 rows


def test_numbers_of_folds_and_models():
    X, y = make_frame()
    model = AutoEnsembleRegressor(**{**FEW, "n_repeats": 2, "combination": "greedy"}).fit(X, y)
    assert board(model)["linear"].n_folds == 6
    assert all(len(bag.models) == 6 for bag in model.estimators_)


def test_a_member_that_fails_is_left_out_with_a_warning(monkeypatch):
    own = search_module.fit_fold

    def fit(terms, recipe, *args):
        if recipe.name == "linear":
            raise ValueError("singular")
        return own(terms, recipe, *args)

    monkeypatch.setattr(search_module, "fit_fold", fit)
    X, y = make_frame()
    with pytest.warns(UserWarning, match="member 'linear' failed: ValueError: singular"):
        model = AutoEnsembleRegressor(**FEW).fit(X, y)
    assert "linear" not in model.named_estimators_
    with pytest.raises(ValueError, match=r"member 'linear'.*singular"):
        AutoEnsembleRegressor(**{**FEW, "members": ["linear"]}).fit(X, y)


# --- the same model ---


@pytest.mark.parametrize(("kind", "make"), KINDS)
def test_the_model_is_the_same_for_any_number_of_threads(teams, kind, make):
    X, y = make()
    options = {**FEW, "members": ["leaf_quick", "linear", "forest", "network"], "n_folds": 2}
    found = [predict(kind(**{**options, "n_jobs": n}).fit(X, y), X) for n in (1, 2)]
    np.testing.assert_array_equal(*found)
    many = kind(**{**options, "members": ["leaf_quick", "linear"], "n_variants": 3})
    found = [predict(clone(many).set_params(n_jobs=n).fit(X, y), X) for n in (1, 3)]
    np.testing.assert_array_equal(*found)


def test_the_seed_decides():
    X, y = make_frame()
    first, same, other = (
        AutoEnsembleRegressor(**{**FEW, "n_folds": 2, "random_state": seed}).fit(X, y).predict(X)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, same)
    assert (first != other).any()


def test_frames_of_pandas_and_polars_give_the_same_model():
    polars = pytest.importorskip("polars")
    X, y = make_frame()
    model = AutoEnsembleRegressor(**FEW).fit(X, y)
    other = polars.from_pandas(X)
    again = AutoEnsembleRegressor(**FEW).fit(other, y)
    np.testing.assert_array_equal(model.predict(X), again.predict(other))
    assert again.feature_names_in_.tolist() == ["a", "b", "c", "nothing"]


# --- checkpoints ---


def test_a_fit_that_was_killed_continues(tmp_path, monkeypatch):
    X, y = make_classes()
    expected = AutoEnsembleClassifier(**FEW).fit(X, y).predict_proba(X)
    own, done = search_module.fit_fold, []

    def fit(terms, recipe, fold_idx, *args):
        if len(done) == 5:
            raise KeyboardInterrupt
        done.append((recipe.name, fold_idx))
        return own(terms, recipe, fold_idx, *args)

    model = AutoEnsembleClassifier(**FEW, checkpoint=tmp_path / "fits")
    monkeypatch.setattr(search_module, "fit_fold", fit)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "estimators_")
    begun, done[:] = list(done), [None] * 100
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), expected)
    assert not set(begun) & set(done[100:])
    done[:] = [None] * 5  # now everything is there: a further fit would be interrupted
    np.testing.assert_array_equal(clone(model).fit(X, y).predict_proba(X), expected)
    with pytest.raises(DataError, match="belongs to a fit of other data"):
        clone(model).fit(X[::-1], y)
    with pytest.raises(DataError, match="another metric, random_state"):
        clone(model).set_params(random_state=5).fit(X, y)


def test_without_a_seed_the_first_fit_decides(tmp_path):
    X, y = make_frame()
    model = AutoEnsembleRegressor(**{**FEW, "random_state": None, "checkpoint": tmp_path / "fits"})
    first = model.fit(X, y).predict(X)
    np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), first)


# --- rows ---


def test_groups_are_held_out_together():
    """A feature that names the group tells nothing about other groups."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 4)
    y = rng.normal(size=30)[groups]
    X = groups[:, None].astype(float) + rng.normal(size=(120, 1)) * 1e-3
    members = {**FEW, "members": ["leaf_quick", "neighbors"], "combination": "best"}
    careless = AutoEnsembleRegressor(**members).fit(X, y)
    careful = AutoEnsembleRegressor(**members).fit(X, y, groups=groups)
    assert careless.leaderboard_[0].score < 0.7 * careful.leaderboard_[0].score
    spread = [np.ptp(careful.out_of_fold_[groups == g]) for g in range(30)]
    assert np.median(spread) < 0.1  # rows of a group are predicted by the same models


def test_the_order_of_time():
    X, y = make_frame()
    model = AutoEnsembleRegressor(**FEW).fit(X, y, time_order=True)
    assert np.isnan(model.out_of_fold_).nonzero()[0].tolist() == list(range(30))
    assert all(len(bag.models) == 1 for bag in model.estimators_)  # fitted on all rows
    bags = AutoEnsembleRegressor(**FEW, refit_members="bag").fit(X, y, time_order=True)
    assert all(len(bag.models) == 3 for bag in bags.estimators_)


def test_folds_of_ones_own():
    X, y = make_frame()
    model = AutoEnsembleRegressor(**FEW).fit(X, y, cv=KFold(4))
    assert board(model)["linear"].n_folds == 4


def test_weights():
    X, y = make_frame()
    weight = np.arange(120) % 3
    model = AutoEnsembleRegressor(**FEW).fit(X, y, weight)
    assert np.isnan(model.out_of_fold_).nonzero()[0].tolist() == list(range(0, 120, 3))
    kept = weight > 0
    same = AutoEnsembleRegressor(**FEW).fit(X[kept], y[kept], 10.0 * weight[kept])
    np.testing.assert_array_equal(model.predict(X), same.predict(X))
    score = np.sqrt(np.average((model.out_of_fold_ - y)[kept] ** 2, weights=weight[kept]))
    assert score == pytest.approx(model.leaderboard_[0].score, rel=0.1)


@pytest.mark.parametrize(("kind", "make"), KINDS)
@pytest.mark.parametrize("n_rows", [2, 5, 50])
def test_few_rows(kind, make, n_rows):
    X, y = make(n_rows)
    members = None if n_rows == 5 else [*FEW["members"], "neighbors", "forest"]
    model = kind(**{**FEW, "members": members, "n_folds": None, "n_variants": 0}).fit(X, y)
    assert np.isfinite(predict(model, X)).all()
    assert np.isfinite(predict(model, make(7, seed=3)[0])).all()


def test_frames_with_other_columns_are_refused(fitted):
    model, X, _ = fitted
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="AutoEnsembleRegressor is expecting 4 features"):
        model.predict(np.zeros((3, 2)))


def test_categories_that_are_numbers_and_new_categories():
    X, y = make_frame()
    coded = X.assign(c=X["c"].cat.codes.astype(float))
    model = AutoEnsembleRegressor(**FEW, categorical_features=["c"]).fit(coded, y)
    assert model.schema_.n_categories.tolist() == [0, 0, 4, 0]
    new = coded[:3].assign(c=77.0)
    assert np.isfinite(model.predict(new)).all()


# --- after fit ---


def test_fitted_attributes(fitted):
    model, X, _ = fitted
    assert model.weights_.sum() == pytest.approx(1.0)
    assert list(model.named_estimators_) == [bag.name for bag in model.estimators_]
    each = np.stack([bag.predict(X) for bag in model.estimators_])
    if model.combination_ != "stacking":
        np.testing.assert_allclose(model.predict(X), model.weights_ @ each)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.feature_importances_.argmax() in (0, 2)
    assert model.n_features_in_ == 4


def test_the_score_of_the_leaderboard_is_honest():
    """Scores on new rows are as good as promised."""
    X, y = make_frame(400)
    X_new, y_new = make_frame(2000, seed=9)
    model = AutoEnsembleRegressor(**FEW).fit(X, y)
    error = np.sqrt(np.mean((model.predict(X_new) - y_new) ** 2))
    own = model.leaderboard_[0]
    assert error == pytest.approx(own.score, abs=4 * own.std_error)


def test_importances_need_trees():
    X, y = make_frame()
    model = AutoEnsembleRegressor(**{**FEW, "members": ["linear"]}).fit(X, y)
    with pytest.raises(AttributeError, match="no member of the ensemble has trees"):
        _ = model.feature_importances_


@pytest.mark.parametrize(("kind", "make"), KINDS)
def test_refit_has_one_model_per_member(kind, make):
    X, y = make()
    model = kind(**FEW, combination="weights").fit(X, y)
    again = model.refit()
    assert all(len(bag.models) == 1 for bag in again.estimators_)
    assert all(len(bag.models) == 3 for bag in model.estimators_)
    for bag, old in zip(again.estimators_, model.estimators_, strict=True):
        assert bag.n_rounds == old.n_rounds
    assert again.score(X, y) > 0.5
    np.testing.assert_array_equal(predict(model.refit(X, y), X), predict(again, X))
    at_once = kind(**FEW, combination="weights", refit_members="all").fit(X, y)
    np.testing.assert_allclose(predict(at_once, X), predict(again, X))


@pytest.mark.parametrize(("kind", "make"), KINDS)
def test_distill_gives_one_boosting_model(kind, make):
    X, y = make(400)
    model = kind(**FEW).fit(X, y)
    own = model.distill()
    assert own.score(X, y) > 0.5
    assert own.feature_names_in_.tolist() == list(X)
    more, _ = make(1000, seed=5)
    small = model.distill(more, n_estimators=20, early_stopping=False)
    assert small.best_iteration_ == 20
    small.save(io.BytesIO())


def test_rows_that_no_fold_predicts_are_distilled_with_their_targets():
    X, y = make_classes(200)
    model = AutoEnsembleClassifier(**FEW).fit(X, y, np.r_[0.0, np.ones(199)], time_order=True)
    assert model.distill().score(X, y) > 0.7


@pytest.mark.parametrize(("kind", "make"), KINDS)
def test_a_pickle_predicts_and_has_no_training_rows(kind, make):
    X, y = make()
    model = kind(**FEW).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(predict(again, X), predict(model, X))
    with pytest.raises(DataError, match="neither a pickle nor a model file contains the training"):
        again.refit()
    with pytest.raises(DataError, match="neither a pickle nor a model file contains the training"):
        again.distill()
    again.distill(X)
    np.testing.assert_array_equal(predict(again.refit(X, y), X), predict(model.refit(), X))


def test_other_rows_to_refit_must_fit(fitted):
    model, X, y = fitted
    with pytest.raises(DataError, match=r"3 features.*expecting 4"):
        model.refit(X[["a", "b", "c"]], y)


def test_progress(capsys):
    X, y = make_frame()
    AutoEnsembleRegressor(**FEW, verbose=True).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split(":")[0] for line in err.splitlines()] == FEW["members"]
    AutoEnsembleRegressor(**FEW).fit(X, y)
    assert capsys.readouterr() == ("", "")


def test_a_fit_that_fails_leaves_no_model(fitted):
    model, X, _ = fitted
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(X, [1.0])
    assert not hasattr(model, "estimators_")
    assert model._data is None if "_data" in vars(model) else True


# --- parameters ---


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"time_limit": 0}, "time_limit=0; must be a positive number"),
        ({"time_limit": "1h"}, "time_limit='1h'"),
        ({"preset": "good"}, "preset='good'; must be one of 'best', 'fast'"),
        ({"members": []}, "must be None or a list of names among leaf_quick"),
        ({"members": ["leaf"]}, r"members=\['leaf'\]"),
        ({"members": ["linear", "linear"]}, "names a member twice"),
        ({"n_variants": -1}, "n_variants=-1"),
        ({"n_folds": 1}, "n_folds=1; must be an integer of at least 2"),
        ({"n_repeats": 0}, "n_repeats=0"),
        ({"combination": "mean"}, "combination='mean'"),
        ({"refit_members": True}, "refit_members=True"),
        ({"memory_limit": "much"}, "memory_limit='much'"),
        ({"metric": "log_los"}, "metric='log_los'; must be 'log_loss'"),
    ],
)
def test_bad_parameters(params, message):
    X, y = make_classes(20)
    with pytest.raises(ParameterError, match=message):
        AutoEnsembleClassifier(**params).fit(X, y)


def test_unknown_parameters():
    with pytest.raises(UnknownParameterError, match="did you mean 'time_limit'"):
        AutoEnsembleRegressor(timelimit=3)


def test_members_that_do_not_suit_the_data():
    X = pd.DataFrame({"a": np.arange(20.0)})
    with pytest.raises(ParameterError, match="none of them suits the data: they need categories"):
        AutoEnsembleRegressor(members=["symmetric_ordered"]).fit(X, np.arange(20.0))
    assert BY_NAME["symmetric_ordered"].needs == {"categories"}
