"""What forests share: threads, members, draws of rows, warm starts, out-of-bag rows."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import (
    r2_score,
)

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
from tests.estimators.forests.forest_cases import (
    CLASSIFIERS,
    DIABETES,
    FORESTS,
    IRIS,
    fit,
    get_data,
    predict,
    save,
)

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


OOB = {"oob_score": True, "n_estimators": 30}


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
