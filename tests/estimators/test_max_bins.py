"""``max_bins``: more than a byte can tell apart, and a number for each feature."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone

import sumwise
from sumwise import (
    Columns,
    Dart,
    Forest,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Ordered,
    StackingRegressor,
    Subsample,
    TargetStatistics,
)
from sumwise.data import thresholds
from sumwise.data.binning import BinMapper
from sumwise.errors import ParameterError
from sumwise.estimators.combined.shared_table import can_share
from tests.estimators.split_data import GROWTHS, make_data
from tests.naive.binning import cut_quantiles

NAMES = list("abcde")


def regress(**params):
    return GradientBoostingRegressor(**{"n_estimators": 5, "random_state": 0, **params})


def find_thresholds(model, feature):
    return np.unique(model.ensemble_.threshold[model.ensemble_.feature == feature])


def assert_same_trees(model, other):
    for name in ("feature", "threshold", "missing_left", "left", "value", "gain"):
        own = getattr(model.ensemble_, name)
        assert own.tobytes() == getattr(other.ensemble_, name).tobytes(), name


# More than 255


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_thresholds_are_those_of_quantiles(kind, weighted, growth):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 2)).astype(kind)
    X[rng.random(len(X)) < 0.1, 1] = np.nan
    y = np.sin(20 * X[:, 0]) + np.nan_to_num(X[:, 1])
    weight = rng.exponential(size=len(X)) if weighted else None
    model = regress(max_bins=600, growth=growth, n_estimators=60).fit(X, y, weight)
    of_rows = np.ones(len(X)) if weight is None else weight
    for feature in range(2):
        candidates = cut_quantiles(X[:, feature], of_rows, 600)
        assert candidates.size > 500
        used = find_thresholds(model, feature)
        assert np.isin(used[np.isfinite(used)], candidates).all()
    assert find_thresholds(model, 0).size > (50 if growth == "symmetric" else 255)


def test_many_bins_of_large_data_come_from_a_sample(monkeypatch):
    monkeypatch.setattr(thresholds, "SAMPLE_ROWS", 1_500)
    X, y = make_data(4_000)
    X[:, 1] = np.arange(4_000) % 777
    mapper = BinMapper.fit(X, 800)
    # Up to max_bins distinct values each has a bin; beyond, bins hold equal shares of the sample.
    assert mapper.thresholds[1].tolist() == (np.arange(776) + 0.5).tolist()
    assert 700 < mapper.thresholds[0].size < 800
    counts = np.bincount(np.searchsorted(mapper.thresholds[0], X[:, 0]))
    assert counts.max() < 40
    model = regress(max_bins=800).fit(X, y)
    assert model.score(X, y) > 0.3


def test_as_many_bins_as_values_are_exact_splits():
    """Where a threshold lies is another matter: between neighbors of the node, or of all rows."""
    X, y = make_data(900)
    bins = regress(max_bins=900).fit(X, y)
    exact = regress(splits="exact").fit(X, y)
    for name in ("feature", "gain", "left", "value", "missing_left"):
        np.testing.assert_array_equal(
            getattr(bins.ensemble_, name), getattr(exact.ensemble_, name), err_msg=name
        )
    np.testing.assert_array_equal(bins.predict(X), exact.predict(X))


def test_few_values_need_no_ranks():
    """The model is that of 255 bins, and as fast."""
    X, y = make_data()
    X = np.nan_to_num(X).round(1)
    assert_same_trees(regress(max_bins=5_000).fit(X, y), regress().fit(X, y))
    sparse = csr_matrix(X)
    assert_same_trees(regress(max_bins=5_000).fit(sparse, y), regress().fit(sparse, y))


def test_sparse_rows_give_the_model_of_dense_ones():
    X, y = make_data()
    X = np.nan_to_num(X) * (np.random.default_rng(0).random(X.shape) < 0.7)
    for params in ({}, {"growth": "symmetric"}, {"sample_weight": np.arange(1.0, 901)}):
        weight = params.pop("sample_weight", None)
        model = regress(max_bins=400, **params)
        dense = clone(model).fit(X, y, weight)
        assert_same_trees(model.fit(csr_matrix(X), y, weight), dense)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"growth": "depth", "sampler": Subsample(0.5)},
        {"growth": "symmetric", "monotonic_cst": [1, 0, 0, -1, 0]},
        {"booster": Dart(drop_rate=0.5, skip_drop=0.0), "sampler": "goss"},
        {"booster": Forest()},
        {"booster": Ordered(), "min_samples_leaf": 5},
        {"columns": Columns(by_tree=0.6, by_node=0.6), "loss": "absolute_error"},
        {"categorical_features": [1]},
        {"categorical_features": [1], "categorical_encoding": TargetStatistics(native_limit=2)},
    ],
    ids=repr,
)
def test_training_knows_what_the_model_predicts(params):
    (X, y), (X_val, y_val) = make_data(), make_data(200, seed=1)
    given = {"max_bins": 400, **params}
    model = regress(**given).fit(X, y, X_val=X_val, y_val=y_val)
    own = model.history_["validation_loss"][model.best_iteration_ - 1]
    error = y_val - model.predict(X_val)
    expected = np.mean(np.abs(error)) if "loss" in params else 0.5 * np.mean(error**2)
    assert own == pytest.approx(expected, rel=1e-9)


def test_three_classes_and_files(tmp_path):
    X, y = make_data()
    labels = np.digitize(y, [0.0, 1.0])
    model = GradientBoostingClassifier(max_bins=1_000, n_estimators=5).fit(X, labels)
    model.save(tmp_path / "model")
    again = sumwise.load(tmp_path / "model")
    assert again.max_bins == 1_000
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_continued_fits():
    X, y = make_data()
    whole = regress(max_bins=500, n_estimators=6).fit(X, y)
    half = regress(max_bins=500, n_estimators=3).fit(X, y)
    assert_same_trees(regress(max_bins=500, n_estimators=6).fit(X, y, init_model=half), whole)


# One number for each feature


def test_each_feature_has_its_bins():
    X, y = make_data()
    limits = [4, 255, 17, 100, 2]
    model = regress(max_bins=limits, n_estimators=60, min_samples_leaf=2).fit(X, y)
    for feature, most in enumerate(limits):
        values = X[:, feature]
        mass = np.ones(len(X))
        candidates = cut_quantiles(values, mass, most)
        used = find_thresholds(model, feature)
        assert used[np.isfinite(used)].size <= most - 1
        assert np.isin(used[np.isfinite(used)], candidates).all()


@pytest.mark.parametrize("many", [False, True])
def test_bins_by_name(many):
    X, y = make_data()
    frame = pd.DataFrame(X, columns=NAMES)
    most = 600 if many else 30
    by_name = regress(max_bins={"a": most, "e": 2}).fit(frame, y)
    by_place = regress(max_bins=np.array([most, 255, 255, 255, 2])).fit(X, y)
    assert_same_trees(by_name, by_place)
    assert find_thresholds(by_name, 4).size <= 1


def test_equal_numbers_are_one_number():
    X, y = make_data()
    for most in (40, 400):
        assert_same_trees(regress(max_bins=[most] * 5).fit(X, y), regress(max_bins=most).fit(X, y))
    sparse = csr_matrix(np.nan_to_num(X))
    assert_same_trees(
        regress(max_bins=[40] * 5).fit(sparse, y), regress(max_bins=40).fit(sparse, y)
    )


def test_sparse_features_have_their_bins():
    X, y = make_data()
    X = np.nan_to_num(X) * (np.random.default_rng(0).random(X.shape) < 0.5)
    model = regress(max_bins=[9, 9, 30, 700, 2])
    assert_same_trees(clone(model).fit(csr_matrix(X), y), model.fit(X, y))


def test_bins_of_encoded_categories(tmp_path):
    X, y = make_data()
    given = {"categorical_features": [1], "categorical_encoding": TargetStatistics(native_limit=2)}
    model = regress(max_bins=[20, 3, 20, 20, 20], n_estimators=20, **given).fit(X, y)
    assert model.score(X, y) > 0.3
    model.save(tmp_path / "model")
    assert sumwise.load(tmp_path / "model").max_bins == [20, 3, 20, 20, 20]


def test_members_of_stacks_may_differ():
    X, y = make_data(300)
    X = np.nan_to_num(X)
    members = [
        ("few", regress()),
        ("many", regress(max_bins=400)),
        ("own", regress(max_bins=[9] * 5)),
    ]
    assert [can_share(member, {}) for _, member in members] == [True, False, False]
    assert StackingRegressor(members, cv=2).fit(X, y).score(X, y) > 0.2


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1, r"max_bins=1; must be an integer of at least 2 and at most 65535"),
        (65_536, "max_bins=65536; must be"),
        (255.0, "max_bins=255.0; must be"),
        ("many", "max_bins='many'; must be"),
        (None, "max_bins=None; must be"),
        (True, "max_bins=True; must be"),
        ([9, 9], "for each of 5 features, not 2"),
        ([9, 9, 1, 9, 9], r"max_bins\[2\]=1; must be an integer"),
        ([9, 9, 2.5, 9, 9], r"max_bins\[2\]=2.5; must be an integer"),
        ({"q": 9}, "X has no feature 'q'"),
        ({"b": 0}, r"max_bins\['b'\]=0; must be"),
    ],
    ids=str,
)
def test_other_values_are_refused(value, message):
    X, y = make_data(50)
    with pytest.raises(ParameterError, match=message):
        regress(max_bins=value).fit(pd.DataFrame(X, columns=NAMES), y)


@pytest.mark.parametrize("value", [256, [9] * 5, {"a": 9}], ids=str)
def test_quantiles_of_hessians_take_one_number(value):
    X, y = make_data(50)
    with pytest.raises(ParameterError, match=r"splits='approx' with max_bins=.* at most 255"):
        regress(max_bins=value, splits="approx").fit(pd.DataFrame(X, columns=NAMES), y)
