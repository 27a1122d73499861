"""Weights of features, smoothed paths, random splits: what estimators make of them."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import sumwise
from sumwise import (
    Columns,
    Dart,
    Forest,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Ordered,
    Subsample,
    TargetStatistics,
)
from sumwise.errors import ParameterError
from tests.estimators.split_data import GROWTHS, make_data

NAMES = list("abcde")


def regress(**params):
    return GradientBoostingRegressor(**{"n_estimators": 6, "random_state": 0, **params})


def assert_same_trees(model, other):
    for name in ("feature", "threshold", "missing_left", "left", "value", "gain"):
        own = getattr(model.ensemble_, name)
        assert own.tobytes() == getattr(other.ensemble_, name).tobytes(), name


def count_splits(model):
    return model.get_feature_importances("count", normalize=False)


# Weights of features


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("shares", [{"by_tree": 0.6}, {"by_level": 0.5}, {"by_node": 0.4}], ids=str)
def test_equal_weights_change_nothing(shares, growth):
    X, y = make_data()
    plain = regress(growth=growth, columns=Columns(**shares)).fit(X, y)
    weighted = regress(growth=growth, columns=Columns(**shares, weights=[2.5] * 5)).fit(X, y)
    assert_same_trees(weighted, plain)


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("shares", [{}, {"by_tree": 0.6}, {"by_level": 0.5}, {"by_node": 0.4}])
def test_features_without_weight_are_never_used(shares, growth):
    X, y = make_data()
    columns = Columns(**shares, weights=[0, 1, 3, 0, 2])
    counts = count_splits(regress(growth=growth, columns=columns).fit(X, y))
    assert counts[[0, 3]].tolist() == [0, 0]
    assert counts[[1, 2]].min() > 0


def test_heavier_features_are_drawn_more_often():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)), rng.normal(size=300)
    columns = Columns(by_node=0.2, weights=[1, 1, 1, 1, 12])
    counts = count_splits(regress(n_estimators=60, columns=columns).fit(X, y))
    assert counts[4] / counts.sum() == pytest.approx(0.75, abs=0.04)


def test_weights_by_name():
    X, y = make_data()
    frame = pd.DataFrame(X, columns=NAMES)
    by_name = regress(columns=Columns(by_node=0.5, weights={"c": 4, "a": 0})).fit(frame, y)
    by_place = regress(columns=Columns(by_node=0.5, weights=[0, 1, 4, 1, 1])).fit(X, y)
    assert_same_trees(by_name, by_place)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], "weights that are None, a dict.* for each of 5 features, not 2"),
        (3.0, "for each of 5 features$"),
        ("auto", "for each of 5 features$"),
        ([1, 1, -1, 1, 1], r"weights\[2\] is -1; it must be a finite number of at least 0"),
        ([1, 1, 1, np.nan, 1], r"weights\[3\] is .*nan"),
        ([1, 1, 1, "2", 1], r"weights\[3\] is '2'"),
        ([0] * 5, "all weights are 0"),
        ({"q": 1.0}, "X has no feature 'q'"),
        ({"a": np.inf}, r"weights\['a'\] is inf"),
        (dict.fromkeys(NAMES, 0), "all weights are 0"),
    ],
    ids=str,
)
def test_other_weights_are_refused(weights, message):
    X, y = make_data(100)
    model = regress(columns=Columns(by_tree=0.5, weights=weights))
    with pytest.raises(ParameterError, match=message):
        model.fit(pd.DataFrame(X, columns=NAMES), y)


def test_weights_of_encoded_categories():
    """What stands for a category has its weight; a combination has the smallest of its features."""
    X, y = make_data()
    X = np.column_stack([X, np.arange(len(X)) % 70])
    encoding = TargetStatistics(native_limit=2, max_combined=2)
    given = {"categorical_features": [1, 5], "categorical_encoding": encoding}
    model = regress(columns=Columns(weights=[1, 1, 1, 1, 1, 0]), **given).fit(X, y)
    importances = model.feature_importances_
    assert importances[5] == 0
    assert importances[1] > 0


def test_weights_are_parameters_like_others(tmp_path):
    X, y = make_data()
    model = regress(columns=Columns(by_tree=0.5, weights=np.array([1.0, 2, 0, 1, 1])))
    assert_same_trees(clone(model).fit(X, y), model.fit(X, y))
    model.save(tmp_path / "model")
    again = sumwise.load(tmp_path / "model")
    assert again.columns.weights == [1.0, 2, 0, 1, 1]
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    search = GridSearchCV(model, {"columns__weights": [None, [0, 0, 0, 0, 1]]}, cv=2).fit(X, y)
    assert search.best_params_ == {"columns__weights": None}


# Smoothed paths


@pytest.mark.parametrize("growth", GROWTHS)
def test_strong_smoothing_leaves_little(growth):
    """The more, the closer leaves are to the root; none at all is the plain model."""
    X, y = make_data()
    plain = regress(growth=growth).fit(X, y)
    assert_same_trees(regress(growth=growth, path_smooth=0).fit(X, y), plain)
    spread = [
        regress(growth=growth, path_smooth=smooth).fit(X, y).predict(X).std()
        for smooth in (0.0, 20.0, 1000.0, 1e12)
    ]
    assert spread == sorted(spread, reverse=True)
    assert spread[-1] < 1e-3 * spread[0]


@pytest.mark.parametrize("growth", GROWTHS)
def test_smoothed_leaves_obey_constraints(growth):
    X, y = make_data()
    model = regress(
        growth=growth, path_smooth=15.0, monotonic_cst=[1, 0, 0, -1, 0], n_estimators=20
    )
    model.fit(X, y)
    for feature, sign in ((0, 1), (3, -1)):
        grid = X[:100].copy()
        predictions = []
        for value in np.linspace(-3, 3, 20):
            grid[:, feature] = value
            predictions.append(model.predict(grid))
        assert (sign * np.diff(predictions, axis=0) >= 0).all()


def test_smoothing_and_refitted_leaves():
    """Medians stay medians; smoothing chooses other splits."""
    X, y = make_data()
    params = {"loss": "absolute_error", "n_estimators": 1, "learning_rate": 1.0, "max_leaves": 6}
    model = regress(path_smooth=200.0, **params).fit(X, y)
    leaves = model.apply(X)[:, 0]
    for leaf in np.unique(leaves):
        assert model.predict(X[leaves == leaf])[0] == pytest.approx(np.median(y[leaves == leaf]))
    assert (model.predict(X) != regress(**params).fit(X, y).predict(X)).any()


def test_smoothing_of_leaves_from_other_permutations():
    """Ordered statistics choose splits and leaves by different ones; both are smoothed."""
    X, y = make_data()
    encoding = TargetStatistics(native_limit=2, permutations=2)
    given = {"categorical_features": [1], "categorical_encoding": encoding}
    spread = [
        regress(path_smooth=smooth, **given).fit(X, y).predict(X).std() for smooth in (0.0, 1e12)
    ]
    assert spread[1] < 1e-3 * spread[0]


@pytest.mark.parametrize("growth", ["leaf", "depth"])
def test_refitted_leaves_are_smoothed_as_well(growth):
    """On the rows of the fit, they are what they were."""
    X, y = make_data()
    model = regress(path_smooth=30.0, growth=growth, learning_rate=0.5).fit(X, y)
    again = model.refit(X, y, decay=0.0)
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-9)


# Random splits


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("splits", ["histogram", "approx", "exact"])
def test_random_splits_learn(splits, growth):
    X, y = make_data()
    params = {"splits": splits, "growth": growth, "max_bins": 64, "n_estimators": 60}
    best = regress(**params).fit(X, y)
    drawn = regress(extra_trees=True, **params).fit(X, y)
    assert 0.6 < drawn.score(X, y) < best.score(X, y)
    other = clone(drawn).set_params(random_state=1).fit(X, y)
    assert (other.predict(X) != drawn.predict(X)).any()


def test_random_splits_of_sparse_rows():
    X, y = make_data()
    X = np.nan_to_num(X) * (np.random.default_rng(0).random(X.shape) < 0.3)
    for growth in ("leaf", "symmetric"):
        dense = regress(extra_trees=True, growth=growth).fit(X, y)
        assert_same_trees(regress(extra_trees=True, growth=growth).fit(csr_matrix(X), y), dense)


# All of them


OPTIONS = {
    "path_smooth": 5.0,
    "extra_trees": True,
    "columns": Columns(by_level=0.8, by_node=0.7, weights=[1, 2, 3, 1, 1]),
}


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"growth": "symmetric", "monotonic_cst": [1, 0, 0, -1, 0]},
        {"growth": "depth", "sampler": Subsample(0.6), "max_bins": {"a": 7, "c": 100}},
        {"booster": Dart(drop_rate=0.5, skip_drop=0.0), "max_bins": 1000},
        {"booster": Ordered(), "growth": "symmetric"},
        {"booster": Forest(), "splits": "exact"},
        {"categorical_features": ["b"], "max_bins": 700},
        {"categorical_features": ["b"], "categorical_encoding": TargetStatistics(native_limit=2)},
    ],
    ids=repr,
)
def test_any_number_of_threads_gives_the_same_bytes(params, bytes_of, teams):
    X, y = make_data(3_000)
    frame = pd.DataFrame(X, columns=NAMES)
    models = [
        regress(n_jobs=n, early_stopping=True, **OPTIONS, **params).fit(frame, y) for n in (1, 2, 4)
    ]
    assert len({bytes_of(model) for model in models}) == 1
    own = models[0].history_["validation_loss"]
    assert own[-1] < own[0]


@pytest.mark.parametrize("growth", GROWTHS)
def test_training_knows_what_the_model_predicts(growth):
    (X, y), (X_val, y_val) = make_data(), make_data(200, seed=1)
    model = regress(growth=growth, **OPTIONS).fit(X, y, X_val=X_val, y_val=y_val)
    own = model.history_["validation_loss"][model.best_iteration_ - 1]
    assert own == pytest.approx(0.5 * np.mean((y_val - model.predict(X_val)) ** 2), rel=1e-9)


def test_options_go_on_and_come_back(tmp_path):
    X, y = make_data()
    whole = regress(n_estimators=6, **OPTIONS).fit(X, y)
    half = regress(n_estimators=3, **OPTIONS).fit(X, y)
    half.save(tmp_path / "half")
    again = sumwise.load(tmp_path / "half")
    assert (again.path_smooth, again.extra_trees) == (5.0, True)
    assert again.columns == OPTIONS["columns"]
    assert_same_trees(regress(n_estimators=6, **OPTIONS).fit(X, y, init_model=again), whole)


def test_several_classes():
    X, y = make_data()
    model = GradientBoostingClassifier(n_estimators=20, random_state=0, **OPTIONS)
    assert model.fit(X, np.digitize(y, [0, 1])).score(X, np.digitize(y, [0, 1])) > 0.6


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("path_smooth", -1.0),
        ("path_smooth", np.inf),
        ("path_smooth", "much"),
        ("path_smooth", None),
        ("extra_trees", "yes"),
        ("extra_trees", 1),
        ("extra_trees", None),
    ],
)
def test_other_values_are_refused(name, value):
    with pytest.raises(ParameterError, match=f"{name}="):
        regress(**{name: value}).fit(*make_data(50))


# Trees for several targets, linear leaves


def test_trees_for_several_targets_draw_by_weight():
    X, y = make_data()
    X, targets = np.nan_to_num(X), np.column_stack([y, y**2])
    columns = Columns(by_node=0.5, weights=[0, 1, 3, 0, 2])
    model = regress(columns=columns, multi_strategy="multi_output_tree").fit(X, targets)
    counts = count_splits(model)
    assert counts[[0, 3]].tolist() == [0, 0]
    assert counts[1] > 0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"path_smooth": 3.0}, "path_smooth=3.0 cannot be combined with multi_strategy"),
        ({"extra_trees": True}, "extra_trees=True cannot be combined with multi_strategy"),
        ({"max_bins": 500}, "max_bins=500: trees for several targets have at most 255 bins"),
    ],
)
def test_what_trees_for_several_targets_have_not(params, message):
    X, y = make_data()
    X, targets = np.nan_to_num(X), np.column_stack([y, y**2])
    with pytest.raises(ParameterError, match=message):
        regress(multi_strategy="multi_output_tree", **params).fit(X, targets)
    one_each = regress(n_estimators=40, **params).fit(X, targets)
    assert one_each.score(X, targets) > 0.2


def test_linear_leaves_are_not_smoothed():
    X, y = make_data()
    with pytest.raises(
        ParameterError, match=r"leaves='linear' and path_smooth=2.0 cannot be combined"
    ):
        regress(leaves="linear", path_smooth=2.0).fit(X, y)
    for params in ({"extra_trees": True}, {"max_bins": 500}):
        assert regress(leaves="linear", n_estimators=40, **params).fit(X, y).score(X, y) > 0.5
