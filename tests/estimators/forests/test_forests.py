"""Random forests and extremely randomized trees as estimators."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_classification, make_regression
from sklearn.exceptions import NotFittedError
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    make_scorer,
    mean_squared_error,
    r2_score,
)
from sklearn.model_selection import cross_val_score

import sumwise
from sumwise import (
    BayesianBootstrap,
    Bootstrap,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    Pasting,
    PoissonBootstrap,
    RandomForestClassifier,
    RandomForestRegressor,
    diversity_matrix,
    member_predictions,
    oob_permutation_importance,
)
from sumwise.errors import DataError, DataWarning, ParameterError

CLASSIFIERS = [RandomForestClassifier, ExtraTreesClassifier]
REGRESSORS = [RandomForestRegressor, ExtraTreesRegressor]
FORESTS = CLASSIFIERS + REGRESSORS
IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


def get_data(forest):
    return IRIS if forest in CLASSIFIERS else DIABETES


def fit(forest, **params):
    X, y = get_data(forest)
    return forest(**{"n_estimators": 8, "random_state": 0, **params}).fit(X, y)


def predict(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def save(model, path):
    model.save(path)
    return path.read_bytes()


# --- the same for any number of threads ---


@pytest.mark.parametrize("forest", FORESTS)
def test_threads_do_not_change_a_bit(forest, tmp_path):
    X, y = make_classification(3000, 8, n_informative=6, n_classes=3, random_state=0)
    params = {"n_estimators": 7, "random_state": 1, "max_features_per_tree": 6}
    if forest in (RandomForestClassifier, RandomForestRegressor):
        params["oob_score"] = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        models = [forest(n_jobs=n, **params).fit(X, y) for n in (1, 2, 3)]
    files = {save(model, tmp_path / "model") for model in models}
    assert len(files) == 1
    assert len({pickle.dumps(model.set_params(n_jobs=None)) for model in models}) == 1
    assert len({predict(model, X).tobytes() for model in models}) == 1


def test_another_seed_is_another_forest():
    a, b = (predict(fit(RandomForestClassifier, random_state=seed), IRIS[0]) for seed in (0, 1))
    assert not np.array_equal(a, b)


def test_a_generator_gives_another_forest_each_time():
    model = RandomForestClassifier(5, random_state=np.random.RandomState(0))
    assert not np.array_equal(*(predict(clone(model).fit(*IRIS), IRIS[0]) for _ in range(2))) or (
        not np.array_equal(*(predict(model.fit(*IRIS), IRIS[0]) for _ in range(2)))
    )


# --- as good as scikit-learn's ---


@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("params", [{}, {"max_depth": 4}, {"min_samples_leaf": 5}], ids=str)
def test_scores_are_those_of_sklearn_but_for_noise(forest, params):
    if forest in CLASSIFIERS:
        X, y = make_classification(600, 10, n_informative=5, n_classes=3, random_state=0)
    else:
        X, y = make_regression(600, 10, n_informative=6, noise=20, random_state=0)
    other = getattr(sklearn.ensemble, forest.__name__)
    ours, theirs = (
        cross_val_score(kind(60, random_state=0, **params), X, y, cv=3).mean()
        for kind in (forest, other)
    )
    assert ours > theirs - 0.03


def test_importances_are_those_of_sklearn_but_for_noise():
    X, y = make_classification(600, 6, n_informative=3, n_redundant=0, random_state=0)
    ours, theirs = (
        kind(200, random_state=0).fit(X, y).feature_importances_
        for kind in (RandomForestClassifier, sklearn.ensemble.RandomForestClassifier)
    )
    assert ours.sum() == pytest.approx(1)
    np.testing.assert_allclose(ours, theirs, atol=0.03)


def test_importances_are_means_of_those_of_trees():
    model = fit(RandomForestRegressor)
    of_trees = [tree.feature_importances_ for tree in model.estimators_]
    np.testing.assert_allclose(model.feature_importances_, np.mean(of_trees, axis=0))


# --- members ---


@pytest.mark.parametrize("forest", FORESTS)
def test_the_prediction_is_the_mean_of_the_trees(forest):
    model, X = fit(forest), get_data(forest)[0]
    trees = model.estimators_
    assert len(trees) == len(model) == 8
    np.testing.assert_allclose(predict(model, X), np.mean([predict(t, X) for t in trees], axis=0))
    assert np.array_equal(model.apply(X), np.column_stack([tree.apply(X) for tree in trees]))
    assert trees[0].splitter == ("random" if forest.__name__.startswith("Extra") else "best")


def test_paths_are_those_of_the_trees():
    model, X = fit(RandomForestClassifier), IRIS[0][:5]
    paths, starts = model.decision_path(X)
    for number, tree in enumerate(model):
        own = paths[:, starts[number] : starts[number + 1]]
        assert (own != tree.decision_path(X)).nnz == 0


def test_members_are_read_for_diversity():
    X, y = IRIS
    model = RandomForestClassifier(4, random_state=0).fit(X, np.array(["a", "b", "c"])[y])
    found = member_predictions(model, X)
    assert found.values.shape == (150, 4)
    assert set(found.values.ravel()) == {"a", "b", "c"}
    assert diversity_matrix(model, X).values.shape == (4, 4)
    frame = pd.DataFrame(X, columns=list("pqrs"))
    assert member_predictions(model.fit(frame, y), frame).values.shape == (150, 4)


# --- out of bag ---


def find_bags(model, n_rows, sample_weight=None):
    """Which rows each tree has seen, by drawing them again."""
    part = model._resolve_resampler(n_rows, n_rows)
    draws = [
        part.draw_member(model._seed, t, n_rows, sample_weight) for t in range(model.n_estimators)
    ]
    return np.array(draws) > 0


def average_out_of_bag(model, X, in_bag):
    answers = np.array([predict(tree, X) for tree in model.estimators_])
    expected = np.full(answers.shape[1:], np.nan)
    for row in range(X.shape[0]):
        if not in_bag[:, row].all():
            expected[row] = answers[~in_bag[:, row], row].mean(axis=0)
    return expected


OOB = {"oob_score": True, "n_estimators": 30}


@pytest.mark.parametrize("part", [None, Pasting(0.6), PoissonBootstrap(), Bootstrap(0.5)], ids=repr)
@pytest.mark.parametrize("forest", FORESTS)
def test_out_of_bag_values_by_their_definition(forest, part):
    X, y = get_data(forest)
    model = fit(forest, bootstrap=True, resampling=part, **OOB)
    expected = average_out_of_bag(model, X, find_bags(model, X.shape[0]))
    if forest in CLASSIFIERS:
        np.testing.assert_allclose(model.oob_decision_function_, expected)
        assert model.oob_score_ == accuracy_score(y, expected.argmax(axis=1))
    else:
        np.testing.assert_allclose(model.oob_prediction_, expected)
        assert model.oob_score_ == pytest.approx(r2_score(y, expected))


def test_out_of_bag_values_of_weighted_rows():
    X, y = DIABETES
    weight = np.random.default_rng(0).integers(0, 3, y.size).astype(float)
    model = RandomForestRegressor(30, oob_score=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model.fit(X, y, weight)
    expected = average_out_of_bag(model, X, find_bags(model, y.size, weight))
    np.testing.assert_allclose(model.oob_prediction_, expected)
    known = ~np.isnan(expected)
    score = r2_score(y[known], expected[known], sample_weight=weight[known])
    assert model.oob_score_ == pytest.approx(score)


def test_out_of_bag_values_of_several_targets():
    X, y = DIABETES
    targets = np.column_stack([y, -2 * y])
    model = RandomForestRegressor(30, oob_score=True, random_state=0).fit(X, targets)
    expected = average_out_of_bag(model, X, find_bags(model, y.size))
    np.testing.assert_allclose(model.oob_prediction_, expected)
    assert model.oob_score_ == pytest.approx(r2_score(targets, expected))


def test_rows_that_all_trees_have_seen_have_no_out_of_bag_value():
    X, y = IRIS
    with pytest.warns(DataWarning, match=r"\d+ of 150 rows are in the bag of every member"):
        model = fit(RandomForestClassifier, n_estimators=2, oob_score=True)
    in_all = find_bags(model, 150).all(axis=0)
    assert in_all.any()
    assert np.array_equal(np.isnan(model.oob_decision_function_).all(axis=1), in_all)
    expected = average_out_of_bag(model, X, find_bags(model, 150))[~in_all]
    assert model.oob_score_ == accuracy_score(y[~in_all], expected.argmax(axis=1))


def test_a_score_of_no_rows_at_all_is_not_a_number():
    model = RandomForestRegressor(3, resampling=Pasting(1.0), oob_score=True)
    with pytest.warns(DataWarning, match="4 of 4 rows"):
        model.fit([[1], [2], [3], [4]], [1, 2, 3, 4])
    assert np.isnan(model.oob_score_)
    assert np.isnan(model.oob_prediction_).all()


@pytest.mark.parametrize(
    "score",
    [balanced_accuracy_score, make_scorer(balanced_accuracy_score), "balanced_accuracy"],
    ids=["metric", "scorer", "name"],
)
def test_out_of_bag_scores_by_other_measures(score):
    model = fit(RandomForestClassifier, **{**OOB, "oob_score": score})
    labels = model.oob_decision_function_.argmax(axis=1)
    assert model.oob_score_ == balanced_accuracy_score(IRIS[1], labels)


def test_a_scorer_may_need_probabilities():
    model = fit(RandomForestClassifier, **{**OOB, "oob_score": "roc_auc_ovr"})
    assert 0.9 < model.oob_score_ <= 1


@pytest.mark.parametrize(
    "params",
    [
        {"bootstrap": False},
        {"resampling": BayesianBootstrap()},
    ],
    ids=str,
)
def test_out_of_bag_scores_need_rows_out_of_the_bag(params):
    with pytest.raises(ParameterError, match="Out of bag estimation only available"):
        fit(RandomForestClassifier, oob_score=True, **params)


# --- going on ---


@pytest.mark.parametrize("forest", FORESTS)
def test_warm_start_ends_where_one_fit_does(forest, tmp_path):
    X, y = get_data(forest)
    params = {"random_state": 3, "bootstrap": True, "oob_score": True}
    whole = forest(30, **params).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model = forest(4, warm_start=True, **params).fit(X, y)
    model.set_params(n_estimators=30).fit(X, y)
    assert model.oob_score_ == whole.oob_score_
    assert save(model, tmp_path / "a") == save(whole, tmp_path / "b")
    with pytest.warns(UserWarning, match="does not fit new trees"):
        model.fit(X, y)
    assert save(model, tmp_path / "a") == save(whole, tmp_path / "b")


def test_warm_start_goes_on_after_loading(tmp_path):
    whole = fit(RandomForestRegressor, n_estimators=6)
    fit(RandomForestRegressor, n_estimators=2).save(tmp_path / "part")
    model = sumwise.load(tmp_path / "part").set_params(warm_start=True, n_estimators=6)
    assert np.array_equal(model.fit(*DIABETES).predict(DIABETES[0]), whole.predict(DIABETES[0]))


def test_warm_start_needs_the_same_features_and_classes():
    X, y = IRIS
    model = fit(RandomForestClassifier, warm_start=True)
    with pytest.raises(ParameterError, match="at least the 8 trees"):
        clone(model).set_params(n_estimators=8).fit(X, y).set_params(n_estimators=3).fit(X, y)
    with pytest.raises(DataError, match="features"):
        fit(RandomForestClassifier, warm_start=True).set_params(n_estimators=9).fit(X[:, :2], y)
    with pytest.raises(DataError, match="classes"):
        fit(RandomForestClassifier, warm_start=True).set_params(n_estimators=9).fit(X, y + 1)


# --- resampling and random subspaces ---


def test_max_samples_is_a_number_or_a_share():
    X, y = DIABETES
    by_number, by_share, by_part = (
        RandomForestRegressor(5, random_state=0, **params).fit(X, y).predict(X)
        for params in (
            {"max_samples": 221},
            {"max_samples": 0.5},
            {"resampling": Bootstrap(0.5)},
        )
    )
    assert np.array_equal(by_number, by_share)
    assert np.array_equal(by_number, by_part)


@pytest.mark.parametrize("part", [Pasting(), PoissonBootstrap(), BayesianBootstrap(), "pasting"])
def test_every_way_of_resampling_learns(part):
    X, y = IRIS
    model = RandomForestClassifier(30, resampling=part, random_state=0).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.9


def test_a_tree_whose_draw_is_empty_sees_all_rows():
    model = RandomForestRegressor(50, resampling=PoissonBootstrap(), random_state=0)
    assert model.fit([[1.0]], [3.0]).predict([[0.0]]) == 3.0


def test_parts_have_parameters():
    model = RandomForestClassifier(resampling=Pasting()).set_params(resampling__rate=0.3)
    assert model.resampling.rate == 0.3
    with pytest.raises(ParameterError, match="resampling"):
        RandomForestClassifier().set_params(resampling__rate=0.3)


def test_random_subspaces():
    model = fit(RandomForestRegressor, max_features_per_tree=2, max_features=None)
    for tree in model.estimators_:
        assert np.unique(tree.forest_.feature[tree.forest_.feature >= 0]).size <= 2


# --- weights ---


def test_trees_without_resampling_take_weights_as_repetition():
    X, y = IRIS
    count = np.random.default_rng(0).integers(0, 3, y.size)
    params = {"n_estimators": 5, "random_state": 0}
    weighted = RandomForestClassifier(bootstrap=False, **params).fit(X, y, count)
    repeated = RandomForestClassifier(bootstrap=False, **params)
    repeated.fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    np.testing.assert_allclose(predict(weighted, X), predict(repeated, X))


@pytest.mark.parametrize("scale", [2.0**-500, 2.0**-100, 2.0**100, 2.0**660])
@pytest.mark.parametrize("forest", FORESTS)
def test_the_scale_of_weights_does_not_matter(forest, scale):
    X, y = get_data(forest)
    weight = np.random.default_rng(0).random(y.size)
    params = {"n_estimators": 5, "random_state": 0}
    plain, scaled = (forest(**params).fit(X, y, w) for w in (weight, weight * scale))
    np.testing.assert_allclose(predict(plain, X), predict(scaled, X))
    np.testing.assert_allclose(plain.feature_importances_, scaled.feature_importances_)


@pytest.mark.parametrize("balance", ["balanced", "balanced_subsample", {0: 19.0}])
def test_weights_of_classes_raise_rare_ones(balance):
    X, y = make_classification(1000, 5, weights=[0.05], flip_y=0.1, random_state=0)
    plain, balanced = (
        RandomForestClassifier(30, class_weight=w, min_samples_leaf=20, random_state=0).fit(X, y)
        for w in (None, balance)
    )
    assert (balanced.predict(X) == 0).sum() > 1.5 * (plain.predict(X) == 0).sum()


def test_balanced_subsample_balances_each_tree():
    X, y = IRIS
    model = RandomForestClassifier(20, class_weight="balanced_subsample", max_depth=1)
    model.set_params(min_samples_leaf=0.5, random_state=0).fit(X, y)
    for tree in model.estimators_:  # a root of equal classes
        np.testing.assert_allclose(tree.tree_.value[0], 1 / 3, atol=1e-6)


def test_a_class_of_weight_zero_is_never_predicted():
    model = fit(RandomForestClassifier, class_weight={1: 0.0})
    assert not predict(model, IRIS[0])[:, 1].any()


# --- targets ---


@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("X", [np.ones((6, 2)), np.full((6, 2), np.nan)], ids=["ones", "missing"])
def test_constant_features_give_the_mean(forest, X):
    model = forest(50, bootstrap=False).fit(X, [0, 0, 1, 1, 1, 0])
    assert np.allclose(predict(model, X), 0.5)
    assert not model.feature_importances_.any()


@pytest.mark.parametrize("forest", CLASSIFIERS)
def test_one_class_is_predicted(forest):
    model = forest(3).fit(IRIS[0], np.full(150, "only"))
    assert model.predict_proba(IRIS[0]).tolist() == [[1.0]] * 150
    assert set(model.predict(IRIS[0])) == {"only"}
    assert model.n_classes_ == 1


@pytest.mark.parametrize(("scale", "shift"), [(2.0**990, 0), (2.0**-1000, 0), (1, 1e12)])
def test_large_and_small_targets(scale, shift):
    X, y = DIABETES
    plain = RandomForestRegressor(10, random_state=0).fit(X, y)
    other = RandomForestRegressor(10, random_state=0).fit(X, y * scale + shift)
    expected = plain.predict(X) * scale + shift
    np.testing.assert_allclose(other.predict(X), expected, rtol=1e-12)
    np.testing.assert_allclose(other.feature_importances_, plain.feature_importances_, atol=1e-6)


def test_the_largest_targets_are_refused():
    with pytest.raises(DataError, match="in row 1: sums of such numbers are too large"):
        RandomForestRegressor(3).fit([[1], [2], [3]], [1.0, -1.7e308, 0.0])


@pytest.mark.parametrize("forest", REGRESSORS)
def test_several_targets_of_equal_columns(forest):
    X, y = DIABETES
    one = forest(5, random_state=0).fit(X, y)
    many = forest(5, random_state=0).fit(X, np.column_stack([y, y, y]))
    assert many.n_outputs_ == 3
    np.testing.assert_allclose(many.predict(X), np.column_stack([one.predict(X)] * 3))


def test_counts():
    X, y = make_regression(500, 4, random_state=0)
    y = np.random.default_rng(0).poisson(np.exp(y / y.std()))
    ours, theirs = (
        kind(50, criterion="poisson", min_samples_leaf=5, random_state=0).fit(X, y).score(X, y)
        for kind in (RandomForestRegressor, sklearn.ensemble.RandomForestRegressor)
    )
    assert ours == pytest.approx(theirs, abs=0.03)


# --- features ---


def make_frame():
    generator = np.random.default_rng(0)
    color = generator.choice(["red", "green", "blue", "gray"], 400)
    number = generator.normal(size=400)
    number[::7] = np.nan
    y = np.isin(color, ["red", "gray"]) ^ (np.nan_to_num(number, nan=3.0) > 0.5)
    return pd.DataFrame({"color": pd.Categorical(color), "number": number}), y


@pytest.mark.parametrize("forest", FORESTS)
def test_categories_and_missing_values(forest, tmp_path):
    X, y = make_frame()
    model = forest(40, random_state=0).fit(X[:300], y[:300].astype(float))
    assert model.score(X[300:], y[300:].astype(float)) > 0.9
    model.save(tmp_path / "model")
    again = sumwise.load(tmp_path / "model")
    assert np.array_equal(predict(again, X), predict(model, X))
    unknown = X[:2].assign(color=["pink", "red"])
    assert np.isfinite(predict(again, unknown)).all()
    with pytest.raises(DataError, match="pink"):
        again.set_params(unknown_category="error").predict(unknown)


def test_more_categories_than_bins():
    generator = np.random.default_rng(0)
    code = generator.integers(0, 400, 6000)
    good = generator.random(400) > 0.5
    X = pd.DataFrame({"code": code.astype(str)})
    model = RandomForestClassifier(10, max_features=None, random_state=0).fit(X, good[code])
    assert model.score(X, good[code]) > 0.7


def test_names_are_checked():
    X, y = make_frame()
    model = RandomForestClassifier(3).fit(X, y)
    assert list(model.feature_names_in_) == ["color", "number"]
    with pytest.raises(ValueError, match="number"):
        model.predict(X[["color"]])


@pytest.mark.parametrize("forest", FORESTS)
def test_monotone_predictions(forest):
    generator = np.random.default_rng(0)
    X = generator.random((500, 2))
    y = X[:, 0] + generator.normal(size=500) - X[:, 1]
    y = y > 0 if forest in CLASSIFIERS else y
    model = forest(20, monotonic_cst=[1, -1], random_state=0).fit(X, y)
    line = np.linspace(0, 1, 200)
    for feature, sign in ((0, 1), (1, -1)):
        grid = np.full((200, 2), 0.5)
        grid[:, feature] = line
        answer = predict(model, grid)
        answer = answer[:, 1] if answer.ndim == 2 else answer
        assert (sign * np.diff(answer) >= 0).all()


# --- bad inputs ---


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_estimators": 0}, "n_estimators"),
        ({"criterion": "friedman_mse"}, "must be one of 'gini', 'entropy', 'log_loss'"),
        ({"max_features": 5}, "there are 4 features"),
        ({"max_features": 0}, "max_features"),
        ({"max_features": 1.5}, "max_features"),
        ({"max_features": "all"}, "max_features"),
        ({"max_features_per_tree": 9}, "there are 4 features"),
        ({"max_samples": 0}, "max_samples"),
        ({"max_samples": 10, "bootstrap": False}, "max_samples=10 is for bootstrap=True"),
        ({"max_samples": 10, "resampling": Pasting()}, "rate instead"),
        ({"resampling": "jackknife"}, "resampling"),
        ({"oob_score": "r3"}, "oob_score"),
        ({"min_samples_split": 1}, "min_samples_split"),
        ({"min_samples_leaf": 1.5}, "min_samples_leaf"),
        ({"min_weight_fraction_leaf": 0.6}, "min_weight_fraction_leaf"),
        ({"max_depth": 0}, "max_depth"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes"),
        ({"min_impurity_decrease": -1}, "min_impurity_decrease"),
        ({"ccp_alpha": -1}, "ccp_alpha"),
        ({"class_weight": "equal"}, "class_weight"),
        ({"max_bins": 256}, "max_bins"),
        ({"monotonic_cst": [1, 0, 0, 0]}, "two classes"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ParameterError, match=message):
        fit(RandomForestClassifier, **params)


def test_a_constraint_on_several_targets_is_refused():
    X, y = DIABETES
    model = RandomForestRegressor(3, monotonic_cst=[1] + 9 * [0])
    with pytest.raises(ParameterError, match="multiple outputs"):
        model.fit(X, np.column_stack([y, y]))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1.0, np.nan, 2.0], "NaN"),
        ([1.0, np.inf, 2.0], "infinity"),
        ([[1.0, 2.0], [1.0, np.nan], [1.0, 1.0]], "NaN"),
        ([1.0, 2.0], "inconsistent"),
    ],
    ids=str,
)
def test_bad_targets_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        RandomForestRegressor(2).fit([[1], [2], [3]], y)


def test_bad_counts_are_refused():
    model = RandomForestRegressor(2, criterion="poisson")
    with pytest.raises(DataError, match="negative"):
        model.fit([[1], [2]], [1, -1])
    with pytest.raises(DataError, match="not positive"):
        model.fit([[1], [2]], [0, 0])


def test_a_failed_fit_leaves_no_model():
    model = fit(RandomForestClassifier)
    with pytest.raises(ParameterError):
        model.set_params(max_features=9).fit(*IRIS)
    assert not hasattr(model, "forest_")


# --- progress ---


def test_silent_unless_asked(capfd):
    fit(RandomForestClassifier)
    assert capfd.readouterr() == ("", "")
    fit(RandomForestClassifier, verbose=1)
    out, err = capfd.readouterr()
    assert out == ""
    assert "8/8" in err


# --- pruning ---


@pytest.mark.parametrize("forest", FORESTS)
def test_pruned_forests_are_smaller(forest):
    full = fit(forest, bootstrap=True, n_estimators=20)
    for params in ({"prune": "oob"}, {"ccp_alpha": 0.01 if forest in CLASSIFIERS else 50.0}):
        pruned = fit(forest, bootstrap=True, n_estimators=20, **params)
        assert pruned.forest_.feature.size < 0.7 * full.forest_.feature.size
        X, y = get_data(forest)
        assert pruned.score(X, y) > 0.4


def test_posteriors_from_rows_out_of_the_bag_are_less_sure():
    full = fit(RandomForestClassifier, n_estimators=20)
    model = fit(RandomForestClassifier, n_estimators=20, leaf_posterior="oob")
    assert np.array_equal(full.forest_.feature, model.forest_.feature)
    assert full.forest_.value.max() == 1.0 > model.forest_.value.max()
    np.testing.assert_allclose(model.forest_.value.sum(axis=1), 1.0)
    numbers = fit(RandomForestRegressor, leaf_posterior="oob").predict(DIABETES[0])
    assert r2_score(DIABETES[1], numbers) > 0.4


@pytest.mark.parametrize("name", ["prune", "leaf_posterior"])
def test_a_score_of_rows_that_changed_trees_is_flagged(name):
    with pytest.warns(DataWarning, match="optimistic"):
        model = fit(RandomForestClassifier, **OOB, **{name: "oob"})
    assert model.oob_score_is_optimistic_
    assert not fit(RandomForestClassifier, **OOB).oob_score_is_optimistic_
    with pytest.raises(ParameterError, match="Out of bag"):
        fit(ExtraTreesClassifier, **{name: "oob"})
    with pytest.raises(ParameterError, match=name):
        fit(RandomForestClassifier, **{name: "yes"})


def test_posteriors_do_not_obey_constraints():
    with pytest.raises(ParameterError, match="do not go together"):
        fit(RandomForestRegressor, leaf_posterior="oob", monotonic_cst=[1] + 9 * [0])


# --- importances on rows out of the bag ---


@pytest.mark.parametrize("kind", ["permutation", "unbiased"])
@pytest.mark.parametrize("forest", FORESTS)
def test_out_of_bag_importances_see_through_noise(forest, kind, tmp_path):
    generator = np.random.default_rng(0)
    X = np.column_stack([generator.integers(0, 2, 400), generator.normal(size=400)])
    y = np.where(generator.random(400) < 0.8, X[:, 0], 1 - X[:, 0])
    weight = generator.integers(1, 3, 400).astype(float)
    model = forest(60, bootstrap=True, random_state=0).fit(X, y, weight)
    found = model.oob_importances(X, y, weight, kind)
    assert found.mean[0] > 0.06
    assert abs(found.mean[1]) < 0.03
    model.save(tmp_path / "model")
    again = sumwise.load(tmp_path / "model").oob_importances(X, y, weight, kind)
    assert np.array_equal(found.mean, again.mean)


def test_out_of_bag_importances_do_not_depend_on_labels():
    X, y = IRIS
    model = fit(RandomForestClassifier, class_weight="balanced_subsample", n_estimators=30)
    names = np.array(["a", "b", "c"])
    named = clone(model).fit(X, names[y])
    for kind in ("permutation", "unbiased"):
        found = model.oob_importances(X, y, kind=kind)
        np.testing.assert_array_equal(
            found.mean, named.oob_importances(X, names[y], None, kind).mean
        )
        assert found.mean[2:].min() > found.mean[:2].max()


def test_out_of_bag_importances_need_the_rows_of_fit():
    X, y = DIABETES
    model = fit(RandomForestRegressor)
    with pytest.raises(DataError, match="not those of fit"):
        model.oob_importances(X[:-5], y[:-5])
    with pytest.raises(DataError, match="442 rows, and y 441"):
        model.oob_importances(X, y[1:])
    with pytest.raises(ParameterError, match="kind"):
        model.oob_importances(X, y, kind="gain")
    with pytest.raises(DataError, match="out-of-bag"):
        fit(ExtraTreesRegressor).oob_importances(X, y)


def test_out_of_bag_importances_of_several_targets():
    X, y = DIABETES
    model = RandomForestRegressor(20, random_state=0).fit(X, np.column_stack([y, y]))
    found = model.oob_importances(X, np.column_stack([y, y])).mean
    assert found.argmax() in (2, 8)


# --- rows of trees ---


@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("part", [None, Bootstrap(0.5), Pasting(0.3), BayesianBootstrap()])
def test_rows_of_trees_are_those_they_grew_on(forest, part, tmp_path):
    X, y = get_data(forest)
    weight = np.random.default_rng(0).integers(0, 3, len(y)) * 1.5
    model = forest(5, resampling=part, random_state=0).fit(X, y, weight)
    rows = model.estimators_samples_
    seen = [np.unique(own[weight[own] > 0]).size for own in rows]
    assert seen == model.forest_.n_rows[model.forest_.start[:-1]].tolist()
    again = pickle.loads(pickle.dumps(model)).estimators_samples_
    assert all(np.array_equal(a, b) for a, b in zip(rows, again, strict=True))
    model.save(tmp_path / "model")
    assert not hasattr(sumwise.load(tmp_path / "model"), "estimators_samples_")
    assert not hasattr(forest(), "estimators_samples_")


def test_permutation_importances_of_members_take_forests_as_bagging():
    X, y = IRIS
    names = np.array(["a", "b", "c"])[y]
    model = RandomForestClassifier(20, random_state=0).fit(X, names)
    found = oob_permutation_importance(model, X, names, random_state=0)
    assert found.importances_mean.argmin() < 2  # a sepal
    assert found.importances_mean.max() > 0.1
    numbered = RandomForestClassifier(20, random_state=0).fit(X, y)
    same = oob_permutation_importance(numbered, X, y, random_state=0)
    np.testing.assert_array_equal(found.importances, same.importances)
    with pytest.raises(DataError, match="out-of-bag rows"):
        oob_permutation_importance(ExtraTreesClassifier(3).fit(X, y), X, y)


# --- fits that fail ---


def fail(*_):
    raise ZeroDivisionError


@pytest.mark.parametrize("forest", [RandomForestClassifier, RandomForestRegressor])
@pytest.mark.parametrize("breaks", ["scorer", "y", "weight"])
def test_a_failing_fit_leaves_nothing(forest, breaks):
    X, y = get_data(forest)
    model = forest(8, random_state=0).fit(X, y)
    weight = None
    if breaks == "scorer":
        model.set_params(oob_score=fail, n_estimators=30)
    elif breaks == "y":
        y = np.append(y[1:], np.nan)
    else:
        weight = np.full(len(y), -1.0)
    with pytest.raises((ZeroDivisionError, DataError)):
        model.fit(X, y, weight)
    assert set(vars(model)) == set(model.get_params(deep=False))
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_a_warning_that_is_an_error_leaves_nothing():
    model = RandomForestRegressor(2, oob_score=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataWarning, match="in the bag of every member"):
            model.fit(*DIABETES)
    assert not hasattr(model, "forest_")


def test_a_failing_warm_start_keeps_the_trees():
    X, y = DIABETES
    model = RandomForestRegressor(30, oob_score=True, warm_start=True, random_state=0).fit(X, y)
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    model.set_params(n_estimators=40, oob_score=fail)
    with pytest.raises(ZeroDivisionError):
        model.fit(X, y)
    assert len(model) == 30
    for name, value in before.items():
        assert vars(model)[name] is value
    model.set_params(oob_score=True).fit(X, y)
    at_once = RandomForestRegressor(40, oob_score=True, random_state=0).fit(X, y)
    assert model.oob_score_ == at_once.oob_score_


def test_warnings_point_to_the_call_of_fit():
    with pytest.warns(DataWarning, match="in the bag of every member") as seen:
        RandomForestRegressor(2, oob_score=True, random_state=0).fit(*DIABETES)
    assert seen[0].filename == __file__
    with pytest.warns(DataWarning, match="it is optimistic") as seen:
        RandomForestRegressor(30, oob_score=True, prune="oob", random_state=0).fit(*DIABETES)
    assert seen[0].filename == __file__


@pytest.mark.parametrize("metric", [mean_squared_error, lambda y_true, y_pred: 0.5])
def test_a_metric_scores_as_in_scikit_learn(metric):
    """The value of the metric itself, whether or not lower is better."""
    model = fit(RandomForestRegressor, n_estimators=30, oob_score=metric)
    assert model.oob_score_ == metric(DIABETES[1], model.oob_prediction_)


# --- extreme numbers ---


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("temperature", [10, 100])
def test_extreme_bayesian_weights_predict_numbers(forest, temperature, tmp_path):
    X, _ = get_data(forest)
    model = fit(forest, resampling=BayesianBootstrap(temperature))
    assert np.isfinite(predict(model, X)).all()
    assert np.isfinite(model.forest_.gain).all()
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert all(np.isfinite(tree.tree_.value).all() for tree in model)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(predict(sumwise.load(tmp_path / "model"), X), predict(model, X))


def test_weights_beyond_the_range_of_numbers_are_refused():
    with pytest.raises(ParameterError, match=r"temperature=101.* at most 100"):
        fit(RandomForestRegressor, resampling=BayesianBootstrap(101))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("class_weight", [None, {0: 1e-300, 1: 1e300}])
def test_extreme_weights_predict_numbers(forest, class_weight):
    X, y = get_data(forest)
    params = {}
    if class_weight is not None:
        if forest in REGRESSORS:
            return
        params = {"class_weight": class_weight}
    model = forest(5, random_state=0, bootstrap=False, **params)
    model.fit(X, y, None if class_weight else np.logspace(-300, 300, len(y)))
    assert np.isfinite(predict(model, X)).all()
    assert np.isfinite(model.feature_importances_).all()


@pytest.mark.filterwarnings("error")
def test_gains_of_large_targets_and_weights_are_finite():
    X, y = DIABETES
    model = RandomForestRegressor(3, bootstrap=False, random_state=0)
    model.fit(X, (y - y.mean()) * 1e9, np.full(len(y), 1e12))
    expected = RandomForestRegressor(3, bootstrap=False, random_state=0).fit(X, y - y.mean())
    np.testing.assert_allclose(model.predict(X), 1e9 * expected.predict(X), rtol=1e-6, atol=1e-3)
    np.testing.assert_allclose(model.feature_importances_, expected.feature_importances_, atol=0.05)


FLOATS = {
    "neighbors": 1.0 + np.finfo(float).eps * np.arange(40),
    "subnormal": 5e-324 * np.arange(40),
    "limits": np.linspace(-1, 1, 40) * np.finfo(float).max,
    "infinities": np.repeat([-np.inf, -1.0, 1.0, np.inf], 10),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", list(FLOATS))
@pytest.mark.parametrize("kind", ["number", "two", "three"])
def test_random_cuts_of_neighboring_and_huge_numbers(name, kind):
    X = FLOATS[name][:, np.newaxis]
    place = np.arange(40) // 10
    if kind == "number":
        model, y = ExtraTreesRegressor(30, random_state=0), place.astype(float)
    else:
        model, y = (
            ExtraTreesClassifier(30, random_state=0),
            np.minimum(place, int(kind == "three") + 1),
        )
    model.fit(X, y)
    assert np.isfinite(model.forest_.gain).all()
    assert model.feature_importances_.tolist() == [1.0]
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("forest", REGRESSORS)
@pytest.mark.filterwarnings("error")
def test_targets_near_the_limits(forest):
    X, y = DIABETES
    with pytest.raises(DataError, match=r"y has .* in row \d+: .* The limit is 1e\+301; scale y"):
        forest(3).fit(X, y * 1e305)
    params = {"n_estimators": 40, "bootstrap": True, "oob_score": True, "random_state": 0}
    expected = forest(**params).fit(X, y)
    for factor in (2.0**990, 2.0**-1000):
        model = forest(**params).fit(X, y * factor)
        np.testing.assert_allclose(model.predict(X), expected.predict(X) * factor)
        assert model.oob_score_ == pytest.approx(expected.oob_score_)


# --- how many rows are drawn ---


def test_shares_of_weighted_rows_are_shares_of_their_weight():
    """As in scikit-learn since version 1.9: a weight of 2 is as good as the row twice."""
    X, y = DIABETES
    weight = np.full(len(y), 2.0)
    model = RandomForestRegressor(2, max_samples=0.5, random_state=0).fit(X, y, weight)
    assert [own.size for own in model.estimators_samples_] == [442, 442]
    model.set_params(max_samples=100).fit(X, y, weight)
    assert [own.size for own in model.estimators_samples_] == [100, 100]
    model.set_params(max_samples=0.5)
    with pytest.warns(DataWarning, match="draws only 1 rows for a tree") as seen:
        model.fit(X, y, weight / weight.sum())
    assert seen[0].filename == __file__


@pytest.mark.parametrize("value", [1 << 32, 1e8])
def test_draws_are_bounded(value):
    with pytest.raises(ParameterError, match=r"max_samples=.* cannot draw more than 4294967295"):
        fit(RandomForestRegressor, max_samples=value)


# --- members as scikit-learn has them ---


def test_members_are_views():
    model = fit(RandomForestClassifier)
    assert [len(model[:3]), len(model[::4]), len(list(model))] == [3, 2, 8]
    np.testing.assert_array_equal(model[-1].predict(IRIS[0]), model[7].predict(IRIS[0]))
    assert np.shares_memory(model[2].forest_.value, model.forest_.value)
    with pytest.raises(IndexError):
        model[8]
    with pytest.raises(NotFittedError):
        len(RandomForestClassifier())
    with pytest.raises(NotFittedError):
        RandomForestClassifier()[0]


def test_the_template_of_the_members():
    model = fit(ExtraTreesRegressor, max_depth=3)
    assert isinstance(model.estimator_, DecisionTreeRegressor)
    assert (model.estimator_.max_depth, model.estimator_.splitter) == (3, "random")
    assert not hasattr(model.estimator_, "forest_")


@pytest.mark.parametrize(("value", "expected"), [("sqrt", 2), (0.5, 2), (3, 3), (None, 4)])
def test_features_that_a_node_draws(value, expected):
    model = fit(RandomForestClassifier, max_features=value)
    assert model.max_features_ == model[0].max_features_ == expected
