"""Forests whose categories are encoded by statistics of the target."""

import io
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.metrics import roc_auc_score

import sumwise
from sumwise import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    oob_permutation_importance,
)
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.forests.ranges import BinnedSet, list_numbers
from tests.naive.portable import predict_row

N_ROWS, N_SHOPS = 400, 60
ALL = [
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
]


def draw_shops(n_rows=N_ROWS, seed=0):
    """Return X with a category of many values, and what it and the number determine."""
    rng = np.random.default_rng(seed)
    shop = rng.integers(0, N_SHOPS, n_rows)
    names = np.array([f"shop {k}" for k in range(N_SHOPS)], dtype=object)[shop]
    color = np.array(["red", "green", "blue"], dtype=object)[rng.integers(0, 3, n_rows)]
    size = rng.normal(size=n_rows)
    names[:8], size[8:16] = None, np.nan
    effect = np.random.default_rng(1).normal(size=N_SHOPS)[shop]
    noise = rng.normal(size=n_rows)
    score = 2.0 * effect + np.nan_to_num(size) + (color == "red") + noise
    return pd.DataFrame({"shop": names, "size": size, "color": color}), score


X, SCORE = draw_shops()
LABELS = np.where(SCORE > 0.3, "high", "low")
THREE = np.digitize(SCORE, [-1.0, 1.0])


def fit(kind, X=X, y=None, **params):
    params = {"random_state": 0} | params
    if "n_estimators" in kind._get_param_names():
        params = {"n_estimators": 20} | params
    if y is None:
        y = LABELS if is_classifier(kind()) else SCORE
    return kind(**params).fit(X, y)


def output(model, X=X):
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)


# --- what it is good for ---


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_it_predicts_many_categories_better_than_sets(kind):
    X, y = draw_shops(1000, seed=4)
    other, truth = draw_shops(2000, seed=5)
    scores = {
        encoding: fit(kind, X, y, categorical_encoding=encoding).score(other, truth)
        for encoding in ("auto", "native")
    }
    assert scores["auto"] > scores["native"] + 0.01


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_an_identifier_tells_nothing(kind):
    """A category for each row, and a target of noise: out of bag, all is chance."""
    rng = np.random.default_rng(0)
    n_rows = 2000
    X = pd.DataFrame({"id": [f"row {k}" for k in range(n_rows)], "x": rng.normal(size=n_rows)})
    y = rng.integers(0, 2, n_rows)
    forest = fit(kind, X, y, bootstrap=True, oob_score=True, n_estimators=40)
    assert forest._encoder is not None
    assert abs(forest.oob_score_ - 0.5) < 3 * 0.5 / n_rows**0.5
    # Rows of the same identifiers are not known by heart through them, either.
    X["x"] = 0.0
    assert abs(fit(kind, X, y, n_estimators=5).score(X, y) - 0.5) < 0.55


@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample"])
def test_class_weights_do_not_tell_the_class_of_an_identifier(class_weight):
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"id": [f"row {k}" for k in range(1500)], "x": rng.normal(size=1500)})
    y = (rng.random(1500) < 0.2).astype(int)
    forest = fit(RandomForestClassifier, X, y, class_weight=class_weight, oob_score=True)
    shares = forest.oob_decision_function_[:, 1]
    known = np.isfinite(shares)
    assert 0.42 < roc_auc_score(y[known], shares[known]) < 0.58


@pytest.mark.parametrize("n_shops", [60, 600, 1500])
def test_noise_stays_noise_out_of_bag(n_shops):
    rng = np.random.default_rng(2)
    n_rows = 3000
    X = pd.DataFrame({"shop": rng.integers(0, n_shops, n_rows).astype(str)})
    X["x"], y = rng.normal(size=n_rows), rng.normal(size=n_rows)
    forest = fit(RandomForestRegressor, X, y, oob_score=True, max_features=1)
    # Noise that is fitted makes it negative. A leak of targets would make it positive.
    assert -0.6 < forest.oob_score_ < 0.02


def test_out_of_bag_scores_are_those_of_new_rows():
    other, truth = draw_shops(4000, seed=6)
    forest = fit(RandomForestRegressor, n_estimators=60, oob_score=True)
    assert abs(forest.oob_score_ - forest.score(other, truth)) < 0.08


# --- what is encoded ---


def test_auto_encodes_if_a_feature_has_many_categories():
    few = X.assign(shop=X["shop"].where(X["shop"].isin([f"shop {k}" for k in range(20)])))
    assert fit(RandomForestRegressor, few)._encoder is None
    assert fit(RandomForestRegressor)._encoder is not None
    assert fit(RandomForestRegressor, categorical_encoding="native")._encoder is None
    assert fit(RandomForestRegressor, few, categorical_encoding="statistics")._encoder is not None


def test_two_categories_and_numbers_stay():
    X_two = X.assign(kind=np.where(X["size"] > 0, "a", "b"))
    encoder = fit(RandomForestRegressor, X_two)._encoder
    assert [column.kind for column in encoder.columns] == [
        "statistic",
        "original",
        "statistic",
        "original",
    ]


def test_several_classes_and_outputs_have_a_statistic_each():
    assert fit(RandomForestClassifier, y=THREE)._encoder.sums.prior.size == 3
    both = np.column_stack([THREE, THREE > 0])
    forest = fit(RandomForestClassifier, y=both)
    assert forest._encoder.sums.prior.size == 5
    assert [shares.shape[1] for shares in forest.predict_proba(X)] == [3, 2]
    targets = np.column_stack([SCORE, -SCORE])
    forest = fit(RandomForestRegressor, y=targets, oob_score=True)
    np.testing.assert_allclose(*forest.predict(X).T * [[1.0], [-1.0]], rtol=1e-9)
    assert forest.oob_score_ > 0.5


def test_statistics_at_prediction_are_those_of_all_rows():
    encoder = fit(RandomForestRegressor)._encoder
    rows = X["shop"].eq("shop 7").to_numpy()
    found = encoder.transform(sumwise_rows(X)).convert(0, N_ROWS)[:, 0]
    expected = (SCORE[rows].sum() + SCORE.mean()) / (rows.sum() + 1)
    np.testing.assert_allclose(found[rows], expected)


def sumwise_rows(X):
    from sumwise.estimators.input.features import read_rows

    return read_rows(fit(RandomForestRegressor), X, -1.0)


def test_weights_are_in_any_unit():
    forests = [fit_weighted(weight) for weight in (None, np.ones(N_ROWS), np.full(N_ROWS, 2.0**-9))]
    assert len({forest.predict(X).tobytes() for forest in forests}) == 1


def fit_weighted(weight):
    return ExtraTreesRegressor(5, random_state=0).fit(X, SCORE, weight)


def test_class_weights_do_not_change_the_statistics():
    """They would tell the class of a rare category."""
    sums = [
        fit(RandomForestClassifier, class_weight=own)._encoder.sums
        for own in (None, "balanced", "balanced_subsample", {"high": 9.0})
    ]
    assert all(np.array_equal(own.sums, sums[0].sums) for own in sums)
    assert all(np.array_equal(own.counts, sums[0].counts) for own in sums)


# --- predictions ---


def test_unknown_and_missing_categories():
    forest = fit(RandomForestRegressor)
    rows = X.iloc[:4].assign(shop=["never seen", None, "shop 3", "shop 3"])
    found = forest.predict(rows)
    assert np.isfinite(found).all()
    forest.set_params(unknown_category="error")
    with pytest.raises(DataError, match="never seen"):
        forest.predict(rows)


@pytest.mark.parametrize("kind", ALL)
def test_threads_and_files_do_not_change_a_bit(kind):
    model = fit(kind, n_jobs=1)
    assert output(fit(kind, n_jobs=3)).tobytes() == output(model).tobytes()
    file = io.BytesIO()
    model.save(file)
    assert file.getvalue()[8] == 6  # the format: older versions must refuse it
    again = sumwise.load(file.getvalue())
    assert again.categorical_encoding == "auto"
    assert output(again).tobytes() == output(model).tobytes()


def test_a_file_without_statistics_has_the_old_format():
    for params in ({"categorical_encoding": "native"}, {"X": X[["size"]]}):
        file = io.BytesIO()
        fit(RandomForestRegressor, **params).save(file)
        assert file.getvalue()[8] == 3
        assert b"categorical_encoding" not in file.getvalue() or "X" not in params


@pytest.mark.parametrize("kind", ALL)
def test_explanations_are_of_the_features(kind):
    model, rows = fit(kind, n_estimators=5) if "Tree(" in repr(kind()) else fit(kind), X[:20]
    found = model.explain(rows)
    assert found.values.shape[1] == 3
    total = found.values.sum(axis=1) + found.base_values
    expected = output(model, rows)
    expected = expected[:, 1] if expected.ndim == 2 else expected
    np.testing.assert_allclose(total, expected, atol=1e-9)
    assert model.feature_importances_.shape == (3,)
    assert model.feature_importances_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesRegressor])
def test_exports_know_the_statistics(kind):
    model = fit(kind, n_estimators=3, max_depth=4)
    rows = X.iloc[:30].assign(shop=["never seen", *X["shop"][1:30]])
    described, expected = model._describe(), output(model, rows)
    found = [predict_row(described, row) for row in rows.itertuples(index=False)]
    np.testing.assert_allclose(np.squeeze(found), expected, rtol=1e-12)
    if is_classifier(model):
        compiled = model.compile("proba")
        for k in range(3):
            found = compiled(rows.iloc[k].tolist())
            np.testing.assert_allclose(found, expected[k], rtol=1e-12)


# --- together with other options ---


@pytest.mark.parametrize("kind", [RandomForestRegressor, RandomForestClassifier])
def test_warm_starts_equal_one_fit(kind):
    whole = fit(kind, oob_score=True)
    part = fit(kind, n_estimators=7, warm_start=True)
    y = LABELS if is_classifier(part) else SCORE
    part.set_params(n_estimators=20, oob_score=True).fit(X, y)
    assert output(part).tobytes() == output(whole).tobytes()
    assert part.oob_score_ == whole.oob_score_
    part.set_params(n_estimators=21, categorical_encoding="native")
    with pytest.raises(ParameterError, match="in another way"):
        part.fit(X, y)


def test_ranges_of_trees_join_to_the_same_forest():
    """As on the workers of a cluster."""
    forest = RandomForestRegressor(20, oob_score=True, random_state=0)
    whole = fit(RandomForestRegressor, oob_score=True)
    binned = BinnedSet.read(forest, X, SCORE, None, None, whole._seed, 1)
    assert list(list_numbers(forest, None)) == list(range(20))
    joined = binned.join([binned.grow(range(7), 1), binned.grow(range(7, 20), 1)], [], 1)
    assert joined.predict(X).tobytes() == whole.predict(X).tobytes()
    assert joined.oob_score_ == whole.oob_score_


def test_pruning_and_intervals_use_rows_as_the_tree_has_seen_them():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small = fit(RandomForestRegressor, prune="oob", leaf_posterior="oob")
    assert small.forest_.n_nodes < fit(RandomForestRegressor).forest_.n_nodes
    other, truth = draw_shops(1000, seed=7)
    assert small.score(other, truth) > 0.6
    model = fit(RandomForestRegressor, conformal=True, n_estimators=60)
    low, high = model.predict_interval(other, coverage=0.8).T
    assert 0.7 < np.mean((low <= truth) & (truth <= high)) < 0.93


def test_subspaces_are_of_features():
    forest = fit(RandomForestClassifier, y=THREE, max_features_per_tree=1, max_features=1.0)
    columns = forest._encoder.columns
    for tree in range(forest.forest_.n_trees):
        own = forest.forest_.select(tree, tree + 1).feature
        assert len({columns[k].features for k in own[own >= 0]}) == 1


def test_monotone_features_stay_monotone():
    forest = fit(RandomForestRegressor, monotonic_cst={"size": -1})
    rows = X.iloc[[20] * 9].assign(size=np.linspace(-2, 2, 9))
    assert (np.diff(forest.predict(rows)) <= 0).all()
    with pytest.raises(ParameterError, match="categorical"):
        fit(RandomForestRegressor, monotonic_cst={"shop": 1})


def test_what_is_refused():
    with pytest.raises(ParameterError, match="categorical_encoding='ordered'"):
        fit(RandomForestRegressor, categorical_encoding="ordered")
    forest = fit(RandomForestRegressor)
    with pytest.raises(ParameterError, match="categorical_encoding='native'"):
        forest.oob_importances(X, SCORE)
    bagging = BaggingRegressor(n_estimators=3, random_state=0).fit(X, SCORE)
    for model in (forest, bagging):
        with pytest.raises(ParameterError, match="would contain their targets"):
            oob_permutation_importance(model, X, SCORE)
    # Members that draw features have seen nothing but their own bags.
    alone = BaggingRegressor(n_estimators=3, max_features=2, random_state=0).fit(X, SCORE)
    assert oob_permutation_importance(alone, X, SCORE).importances_mean.shape == (3,)


def test_members_are_estimators_of_their_own():
    forest = fit(RandomForestRegressor)
    mean = np.mean([tree.predict(X) for tree in forest], axis=0)
    np.testing.assert_allclose(mean, forest.predict(X), rtol=1e-12)


@pytest.mark.parametrize("max_features", [1.0, 2])
def test_bagging_of_trees(max_features):
    """Members that draw features encode those that they have drawn."""
    model = BaggingRegressor(
        n_estimators=20, max_features=max_features, oob_score=True, random_state=0
    ).fit(X, SCORE)
    assert ("_trees" in vars(model)) == (max_features == 1.0)
    other, truth = draw_shops(2000, seed=8)
    native = DecisionTreeRegressor(categorical_encoding="native")
    plain = BaggingRegressor(native, 20, max_features=max_features, random_state=0).fit(X, SCORE)
    if max_features == 1.0:
        assert model.score(other, truth) > plain.score(other, truth)
    assert abs(model.oob_score_ - model.score(other, truth)) < 0.12
    names = list(X.columns)
    mean = np.mean(
        [
            member.predict(X[[names[f] for f in own]])
            for member, own in zip(model.estimators_, model.estimators_features_, strict=True)
        ],
        axis=0,
    )
    np.testing.assert_allclose(mean, model.predict(X), rtol=1e-12)


@pytest.mark.parametrize("kind", [AdaBoostClassifier, AdaBoostRegressor])
def test_adaboost(kind):
    y = LABELS if kind is AdaBoostClassifier else SCORE
    model = kind(n_estimators=10, random_state=0).fit(X, y)
    assert model.estimators_[0]._encoder is not None
    other, truth = draw_shops(1000, seed=9)
    truth = np.where(truth > 0.3, "high", "low") if kind is AdaBoostClassifier else truth
    assert model.score(other, truth) > (0.7 if kind is AdaBoostClassifier else 0.3)
    found = model._describe()
    row = X.iloc[30].tolist()
    assert np.isfinite(predict_row(found, row)).all()
    if kind is AdaBoostClassifier:
        assert model.explain(X[:5]).values.shape[1] == 3
