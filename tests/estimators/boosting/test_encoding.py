"""Categories encoded by statistics of the target, in the estimators."""

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss

from sumwise import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Native,
    StackingClassifier,
    Subsample,
    TargetStatistics,
    load,
)
from sumwise.data.categories.encoder import STATISTIC
from sumwise.data.categories.target_statistics import METHODS, permute_rows, split_holdout
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.categories import AUTO_LIMIT
from sumwise.plotting import tree_layout
from tests.naive import target_statistics as naive

RNG = np.random.default_rng(0)
N_ROWS = 600
CITY = RNG.integers(0, 150, N_ROWS)
COLOR = RNG.integers(0, 5, N_ROWS)
SIZE = RNG.normal(size=N_ROWS)
X = pd.DataFrame({"city": CITY.astype(str), "size": SIZE, "color": COLOR.astype(str)})
X.loc[::17, "color"] = None
EFFECT = RNG.normal(size=150)[CITY] + SIZE
Y = (EFFECT + RNG.normal(size=N_ROWS) > 0).astype(int)
THREE = np.digitize(EFFECT, [-0.7, 0.7])
SMALL = {"n_estimators": 4, "min_samples_leaf": 3, "random_state": 0}
PLAIN = {"greedy_rows": 0, "counts": False, "combinations": 0, "native_limit": 0, "permutations": 1}


def fit(encoding="ordered", kind=GradientBoostingClassifier, y=Y, X=X, **params):
    return kind(**{**SMALL, "categorical_encoding": encoding, **params}).fit(X, y)


def get_bytes(model, tmp_path):
    model.save(tmp_path / "model")
    return (tmp_path / "model").read_bytes()


TARGETS = {
    "two classes": (GradientBoostingClassifier, Y),
    "three classes": (GradientBoostingClassifier, THREE),
    "regression": (GradientBoostingRegressor, EFFECT),
}


@pytest.fixture(params=TARGETS)
def task(request):
    kind, y = TARGETS[request.param]
    return {"kind": kind, "y": y}


# What trees see


@pytest.mark.parametrize("method", METHODS)
def test_trees_split_on_the_statistics_of_the_article(method, monkeypatch):
    """One tree on one encoded feature: its thresholds lie between the naive statistics."""
    seen = {}
    from sumwise.data.binning import BinMapper

    original = BinMapper.fit.__func__

    def spy(cls, matrix, *args, **kwargs):
        seen["matrix"] = matrix.convert(0, matrix.shape[0])
        return original(cls, matrix, *args, **kwargs)

    monkeypatch.setattr(BinMapper, "fit", classmethod(spy))
    part = TargetStatistics(method, prior_weight=2.0, prior=0.25, holdout=0.4, **PLAIN)
    model = fit(part, X=X[["city"]])
    seed = int(np.random.RandomState(0).randint(np.iinfo(np.int32).max))
    rows = np.arange(N_ROWS, dtype=np.uint32)
    held = split_holdout(part, rows, seed)
    rows_of = {
        "greedy": naive.greedy_rows,
        "leave_one_out": naive.leave_one_out_rows,
        "holdout": naive.holdout_rows(held),
        "ordered": naive.ordered_rows(permute_rows(rows, seed, 0).tolist()),
    }[method]
    expected = naive.statistics(rows_of, rows, CITY, Y, np.ones(N_ROWS), 2.0, 0.25)
    np.testing.assert_array_equal(seen["matrix"][:, 0], expected)
    # Property 2: all rows train, but those that holdout takes away.
    assert model.ensemble_.n_rows[0] == (N_ROWS - held.size if method == "holdout" else N_ROWS)


def test_predictions_use_all_rows_and_new_categories_take_the_prior():
    part = TargetStatistics(prior_weight=2.0, prior=0.25, **PLAIN)
    model = fit(part, X=X[["city"]], n_estimators=30)
    statistic = naive.statistics(
        naive.greedy_rows, np.arange(N_ROWS), CITY, Y, np.ones(N_ROWS), 2.0, 0.25
    )
    by_number = model.ensemble_
    from sumwise.kernels.runtime.threads import Team

    with Team(1) as team:
        raw = by_number.predict_raw(np.append(statistic, 0.25)[:, None], team)[:, 0]
    rows = pd.concat([X[["city"]], pd.DataFrame({"city": ["nowhere"]})])
    np.testing.assert_array_equal(model.decision_function(rows), raw)


def test_missing_is_a_category_and_unknown_is_not():
    rng = np.random.default_rng(1)
    code = rng.integers(0, 30, 900)
    y = np.where(code == 0, 1, rng.integers(0, 2, 900))
    frame = pd.DataFrame({"code": pd.Series(code.astype(str)).mask(code == 0)})
    model = fit(TargetStatistics(**PLAIN), X=frame, y=y, n_estimators=50)
    missing, unknown = model.predict_proba(pd.DataFrame({"code": [None, "99"]}))[:, 1]
    assert missing > 0.9
    assert unknown < 0.8
    with pytest.raises(DataError, match="not in the training data"):
        model.set_params(unknown_category="error").predict(pd.DataFrame({"code": ["99"]}))


def test_few_rows_and_many_are_predicted_alike(task):
    model = fit(**task)
    whole = model.predict(X)
    assert np.array_equal(
        np.concatenate([model.predict(X[i : i + 3]) for i in range(0, 30, 3)]), whole[:30]
    )
    assert len(list(model.staged_predict(X[:5]))) == 4
    assert model.apply(X[:5]).shape == (5, model.n_trees_)


# Leaks


def make_leaky(kind, n_rows=2000):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, n_rows)
    code = np.arange(n_rows) if kind == "unique" else np.zeros(n_rows, dtype=int)
    signal = y + rng.normal(size=n_rows)
    codes = np.array([f"c{c}" for c in code])
    frame = pd.DataFrame({"code": codes, "signal": signal})
    new = pd.DataFrame({"code": [f"n{i}" for i in range(n_rows)] if kind == "unique" else codes})
    y_new = rng.integers(0, 2, n_rows)
    return frame, y, new.assign(signal=y_new + rng.normal(size=n_rows)), y_new


@pytest.mark.parametrize(
    ("kind", "method", "leaks"),
    [
        ("unique", "greedy", True),
        ("unique", "ordered", False),
        ("constant", "leave_one_out", True),
        ("constant", "ordered", False),
        ("unique", "holdout", False),
    ],
)
def test_leakage(kind, method, leaks):
    frame, y, new, y_new = make_leaky(kind)
    part = TargetStatistics(method, combinations=0, greedy_rows=0, native_limit=0)
    model = fit(part, X=frame, y=y, n_estimators=20)
    train, test = model.score(frame, y), model.score(new, y_new)
    own = model.feature_importances_[0]
    if leaks:
        assert own > 0.7
        assert test < 0.6
    else:
        assert own < 0.5
        assert test > 0.64
    # In training a leak looks perfect, at prediction it is gone.
    assert train <= 1.0


@pytest.mark.parametrize("by", ["class_weight", "sample_weight"])
def test_weights_of_classes_do_not_leak_through_counts(by):
    frame, y, new, y_new = make_leaky("unique")
    weight = np.where(y == 1, 3.0, 1.0)
    part = TargetStatistics(combinations=0, greedy_rows=0, native_limit=0)
    model = GradientBoostingClassifier(n_estimators=20, categorical_encoding=part, random_state=0)
    if by == "class_weight":
        model.set_params(class_weight={0: 1, 1: 3}).fit(frame, y)
    else:
        model.fit(frame, y, weight)
    assert not model._encoder.has_counts
    assert model.feature_importances_[0] < 0.1
    assert model.score(new, y_new) > 0.6
    model.set_params(class_weight=None).fit(frame, y, np.where(y >= 0, 2.0, 0.0))
    assert model._encoder.has_counts


# The parameter


def test_two_classes_are_split_at_levels_between_their_priors():
    part = TargetStatistics(prior=[0, 0.5, 1], native_limit=0, levels=5)
    model = fit(part, n_estimators=20)
    columns, trees = model._encoder.columns, model.ensemble_
    is_split = trees.left >= 0
    of_statistic = np.array([own.kind == STATISTIC for own in columns])[trees.feature[is_split]]
    thresholds = np.nextafter(trees.threshold[is_split][of_statistic], np.inf)
    assert set(np.round(5 * thresholds, 12)) <= {1.0, 2.0, 3.0, 4.0, 5.0}
    assert {columns[f].statistic for f in trees.feature[is_split]} >= {0, 1, 2}
    part.levels = 0
    free = fit(part, n_estimators=20).ensemble_
    assert np.unique(free.threshold[free.left >= 0]).size > 60


@pytest.mark.parametrize("kind", ["two classes", "three classes", "regression"])
def test_levels_are_for_several_priors(kind):
    task = dict(zip(("kind", "y"), TARGETS[kind], strict=True))
    model = fit(TargetStatistics(native_limit=0), **task)
    free = fit(TargetStatistics(native_limit=0, levels=0), **task)
    np.testing.assert_array_equal(model.ensemble_.threshold, free.ensemble_.threshold)
    assert model._encoder.sums.n_priors == 1


def test_several_priors_of_a_regression():
    part = TargetStatistics(prior=[-1.0, "mean", 1.0], levels=4, **PLAIN)
    model = fit(part, GradientBoostingRegressor, EFFECT, X[["city"]])
    prior = np.array([-1.0, EFFECT.mean(), 1.0])
    np.testing.assert_allclose(model._encoder.sums.prior, prior, rtol=1e-14)
    trees = model.ensemble_
    thresholds = np.nextafter(trees.threshold[trees.left >= 0], np.inf)
    assert set(np.round(thresholds, 12)) <= {-0.5, 0.0, 0.5, 1.0}


def test_one_table_serves_all_permutations_if_none_changes_anything(monkeypatch, tmp_path):
    from sumwise.estimators.boosting import encoding

    seen, original = [], encoding.CategoryEncoder.join

    def spy(self, matrix, places, statistics):
        seen.append(statistics)
        return original(self, matrix, places, statistics)

    monkeypatch.setattr(encoding.CategoryEncoder, "join", spy)
    part = TargetStatistics(greedy_rows=100, native_limit=0, permutations=3)
    found = fit(part, X=X[["size", "color"]])
    assert len(seen) == 1
    part.permutations = 1
    one = fit(part, X=X[["size", "color"]])
    np.testing.assert_array_equal(found.ensemble_.value, one.ensemble_.value)
    fit(part.__class__(permutations=3, native_limit=0))
    assert len(seen) == 5


def test_names_and_parts_are_the_same_model(tmp_path, task):
    for name in METHODS:
        by_name = get_bytes(fit(name, **task).set_params(categorical_encoding="auto"), tmp_path)
        part = fit(TargetStatistics(name), **task).set_params(categorical_encoding="auto")
        assert get_bytes(part, tmp_path) == by_name
    assert fit("onehot").ensemble_.set_size.max() == 1


def test_auto_chooses_by_the_number_of_categories():
    model = fit("auto")
    assert {c.features for c in model._encoder.columns if c.kind == "original"} == {(1,)}
    few = X.assign(city=X.city.str.slice(0, 1))
    assert few.city.nunique() <= AUTO_LIMIT
    assert fit("auto", X=few)._encoder is None


@pytest.mark.parametrize("wrong", ["target", None, 3, TargetStatistics("mean")])
def test_other_encodings_are_refused(wrong):
    with pytest.raises(ParameterError, match=r"categorical_encoding=|TargetStatistics\(method="):
        fit(wrong)


def test_nested_parameters():
    model = GradientBoostingClassifier(categorical_encoding=TargetStatistics())
    model.set_params(categorical_encoding__prior_weight=3.0)
    assert clone(model).categorical_encoding.prior_weight == 3.0
    with pytest.raises(ParameterError, match=r"categorical_encoding=TargetStatistics\(counts"):
        GradientBoostingClassifier().set_params(categorical_encoding__counts=False)
    with pytest.raises(ParameterError, match=r"categorical_encoding=Native\(min_rows"):
        GradientBoostingClassifier().set_params(categorical_encoding__min_rows=5)


def test_native_splits_and_statistics_in_one_model():
    model = fit(TargetStatistics(native_limit=10, combinations=0))
    kinds = [(c.features, c.kind) for c in model._encoder.columns]
    assert kinds == [((0,), "statistic"), ((0,), "count"), ((1,), "original"), ((2,), "original")]
    rows = X[:40].copy()
    rows["color"] = None
    expected = model.predict_proba(rows)
    rows["color"] = "unheard of"
    np.testing.assert_array_equal(model.predict_proba(rows), expected)


# The same model everywhere


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
def test_threads_change_no_byte(task, growth, tmp_path, monkeypatch):
    from sumwise.estimators.input import jobs

    monkeypatch.setattr(jobs, "count_cpus", lambda: 3)
    monkeypatch.setattr(jobs, "STEPS_PER_THREAD", 1)
    monkeypatch.setattr(jobs, "count_growers", lambda n_values: 99)
    found = {get_bytes(fit(**task, growth=growth, n_jobs=n), tmp_path) for n in (1, 2, 3)}
    assert len(found) == 1


@pytest.mark.parametrize("method", METHODS)
def test_files_and_pickles(method, task, tmp_path):
    model = fit(method, **task)
    model.save(tmp_path / "model")
    rows = pd.concat([X, X[:3].assign(city="nowhere"), X[:3].assign(color="none")])
    for again in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
        np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_the_format_is_new_only_where_it_must_be(tmp_path):
    assert get_bytes(fit("ordered"), tmp_path)[8] == 3
    assert get_bytes(fit("native"), tmp_path)[8] == 2


def test_importances_are_of_the_features_of_x():
    model = fit(TargetStatistics(max_combined=2))
    assert model.feature_importances_.shape == (3,)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.n_features_in_ == 3


def test_trees_are_drawn_with_names():
    part = TargetStatistics(combinations=0, native_limit=0)
    model = fit(part, X=X[["city"]], max_leaves=2)
    assert tree_layout(model).text[0].startswith(("mean target of city <=", "rows of city <="))


@pytest.mark.parametrize(
    ("prior", "y", "names"),
    [
        ([0, 0.5, 1], Y, [f"mean target of city (prior {prior})" for prior in ("0", "0.5", "1")]),
        ("mean", THREE, [f"mean target of city (class {k})" for k in range(3)]),
    ],
    ids=["priors", "classes"],
)
def test_statistics_of_one_feature_have_names_of_their_own(prior, y, names):
    model = fit(TargetStatistics(prior=prior, combinations=0), y=y, X=X[["city", "size"]])
    assert model._encoder.name_columns(["city", "size"]) == [*names, "rows of city", "size"]


# With other features of a fit


def test_validation_rows_of_ones_own_and_held_out():
    own = fit(X=X[:400], y=Y[:400], n_estimators=30, early_stopping=False)
    model = GradientBoostingClassifier(
        **{**SMALL, "n_estimators": 30, "categorical_encoding": "ordered"},
        n_iter_no_change=30,
    ).fit(X[:400], Y[:400], X_val=X[400:], y_val=Y[400:])
    losses = [log_loss(Y[400:], p) for p in own.staged_predict_proba(X[400:])]
    np.testing.assert_allclose(model.history_["validation_loss"], losses)
    held_out = fit(early_stopping=True, n_estimators=10)
    assert held_out.best_score_ < 0.7


def test_weights_count_as_rows(task):
    if task["kind"] is GradientBoostingRegressor:
        task = {**task, "y": np.round(4 * task["y"]) / 4}
    part = TargetStatistics("greedy", combinations=0)
    weight = np.random.default_rng(0).integers(0, 3, N_ROWS)
    params = {**SMALL, "categorical_encoding": part, "min_samples_leaf": 1, "max_leaves": 4}
    weighted = task["kind"](**params).fit(X, task["y"], sample_weight=weight)
    rows = np.repeat(np.arange(N_ROWS), weight)
    repeated = task["kind"](**params).fit(X.iloc[rows], task["y"][rows])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X))


def test_continuing_gives_the_model_of_one_fit(tmp_path, task):
    part = TargetStatistics(permutations=1)
    once = fit(part, **task, n_estimators=6, sampler=Subsample(0.8))
    first = fit(part, **task, n_estimators=3, sampler=Subsample(0.8))
    params = {**first.get_params(deep=False), "n_estimators": 6}
    second = type(first)(**params).fit(X, task["y"], init_model=first)
    assert get_bytes(second, tmp_path) == get_bytes(once, tmp_path)
    warm = first.set_params(n_estimators=6, warm_start=True).fit(X, task["y"])
    assert get_bytes(warm, tmp_path) == get_bytes(once, tmp_path)


def test_continuing_on_other_rows_keeps_the_statistics():
    first = fit(X=X[:300], y=Y[:300])
    more = GradientBoostingClassifier(
        **{**SMALL, "n_estimators": 6, "categorical_encoding": "ordered"}
    ).fit(X[300:], Y[300:], init_model=first)
    np.testing.assert_array_equal(more._encoder.sums.sums, first._encoder.sums.sums)
    np.testing.assert_array_equal(
        next(more.staged_predict_proba(X)), next(first.staged_predict_proba(X))
    )
    with pytest.raises(ParameterError, match="encodes categories in another way"):
        GradientBoostingClassifier(n_estimators=6, categorical_encoding="native").fit(
            X, Y, init_model=first
        )
    again = GradientBoostingClassifier(**{**SMALL, "n_estimators": 6}).fit(X, Y, init_model=first)
    assert again._encoder is not None


def test_stacked_models_encode_in_every_fold():
    members = [
        ("encoded", GradientBoostingClassifier(**SMALL, categorical_encoding="ordered")),
        ("native", GradientBoostingClassifier(**SMALL, categorical_encoding=Native())),
    ]
    stack = StackingClassifier(members, cv=3).fit(X, Y)
    assert stack.predict_proba(X).shape == (N_ROWS, 2)


def test_constraints_hold_on_numbers():
    model = fit(monotonic_cst={"size": -1}, n_estimators=20)
    rows = pd.concat([X.iloc[:1]] * 50).assign(size=np.linspace(-3, 3, 50))
    assert np.all(np.diff(model.decision_function(rows)) <= 0)
    with pytest.raises(ParameterError, match="categorical"):
        fit(monotonic_cst={"city": 1})


@pytest.mark.parametrize("rule", [[["city"], ["size", "color"]], "no_interactions"])
def test_interactions_are_of_features_not_of_columns(rule):
    model = fit(interaction_cst=rule, n_estimators=20, max_leaves=8)
    columns, ensemble = model._encoder.columns, model.ensemble_
    assert all(len(column.features) == 1 for column in columns)
    for first, last in pairwise(ensemble.start):
        used = ensemble.feature[first:last]
        features = {columns[f].features[0] for f in used[used >= 0]}
        assert features == {0} or 0 not in features
        assert len(features) <= 1 or rule != "no_interactions"


def test_pairwise_interactions_can_be_asked_for():
    model = fit(interaction_cst="pairwise", n_estimators=20, max_leaves=8)
    assert model.score(X, Y) > 0.6


def test_a_numeric_matrix_with_chosen_categories():
    matrix = np.column_stack([CITY, SIZE])
    model = fit(X=matrix, categorical_features=[0])
    assert model._encoder is not None
    assert fit(X=matrix)._encoder is None
    assert model.predict(matrix[:5]).shape == (5,)


def test_holdout_needs_two_rows():
    with pytest.raises(DataError, match="at least two rows"):
        GradientBoostingRegressor(
            categorical_encoding=TargetStatistics("holdout", native_limit=0)
        ).fit(pd.DataFrame({"a": ["x"]}), [1.0])


def test_many_rows_a_category_are_encoded_greedily(monkeypatch):
    from sumwise.data.binning import BinMapper

    seen, original = {}, BinMapper.fit.__func__

    def spy(cls, matrix, *args, **kwargs):
        seen["matrix"] = matrix.convert(0, matrix.shape[0])
        return original(cls, matrix, *args, **kwargs)

    monkeypatch.setattr(BinMapper, "fit", classmethod(spy))
    fit(TargetStatistics(greedy_rows=100, combinations=0, counts=False))
    city, color = seen["matrix"][:, 0], seen["matrix"][:, 2]
    assert np.unique(color).size == 6  # with missing
    busiest = np.bincount(CITY).argmax()
    assert np.unique(city[busiest == CITY]).size > 2
