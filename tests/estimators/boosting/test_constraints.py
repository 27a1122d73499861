"""Reading the parameters, and what they promise."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sumwise import GradientBoostingClassifier, GradientBoostingRegressor, load
from sumwise.errors import ParameterError
from sumwise.estimators.boosting.constraints import read_constraints

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4)).round(1)
Y = X[:, 0] * X[:, 1] + np.sin(4 * X[:, 0]) + X[:, 2] + RNG.normal(size=120)
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "part"])
SMALL = {"n_estimators": 4, "min_samples_leaf": 3, "max_leaves": 6}


def fit(X=X, y=Y, **params):
    return GradientBoostingRegressor(**{**SMALL, **params}).fit(X, y)


def read(X=X, **params):
    model = fit(X).set_params(**params)
    return read_constraints(model, np.zeros(model.n_features_in_, dtype=bool))


# Monotone constraints


@pytest.mark.parametrize(
    "given",
    [[1, 0, -1, 0], (1, 0, -1, 0), np.array([1.0, 0, -1, 0]), pd.Series([1, 0, -1, 0])],
    ids=lambda given: type(given).__name__,
)
def test_directions_of_all_features(given):
    assert read(monotonic_cst=given).directions == [1, 0, -1, 0]
    assert read(FRAME, monotonic_cst=given).directions == [1, 0, -1, 0]


def test_directions_by_name():
    assert read(FRAME, monotonic_cst={"c": -1, "a": 1}).directions == [1, 0, -1, 0]
    assert read(FRAME, monotonic_cst={"part": np.int8(1)}).directions == [0, 0, 0, 1]


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"monotonic_cst": [0, 0, 0, 0]},
        {"monotonic_cst": {}},
        {"interaction_cst": []},
        {"interaction_cst": [[0, 1, 2, 3], [0]]},
    ],
    ids=str,
)
def test_nothing_to_obey(params):
    assert read(**params) is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1, 0], "for each of 4 features, not 2"),
        (1, "must be None, a dict of feature names, or an array"),
        ("increasing", "must be None, a dict"),
        (np.array(1), "must be None, a dict"),
        ([[1, 0, 0, 0]] * 4, r"monotonic_cst\[0\]=\[1, 0, 0, 0\]; must be -1, 0 or 1"),
        ([1, 0, 2, 0], r"monotonic_cst\[2\]=2; must be -1, 0 or 1"),
        ([1, 0, 0.5, 0], r"monotonic_cst\[2\]=0.5; must be"),
        ([1, 0, np.nan, 0], r"monotonic_cst\[2\]=nan; must be"),
        ([1, 0, True, 0], r"monotonic_cst\[2\]=True; must be"),
        ([1, 0, "1", 0], r"monotonic_cst\[2\]='1'; must be"),
        ([1, 0, None, 0], r"monotonic_cst\[2\]=None; must be"),
        ({"a": "pos"}, r"monotonic_cst\['a'\]='pos'; must be -1, 0 or 1"),
        ({"z": 1}, "X has no feature 'z'"),
        ({0: 1}, "0 is not a feature"),
    ],
    ids=str,
)
def test_wrong_directions(given, message):
    with pytest.raises(ParameterError, match=f"GradientBoostingRegressor: .*{message}"):
        fit(FRAME, monotonic_cst=given)


def test_names_need_names():
    with pytest.raises(ParameterError, match="X has no feature names, so 'a' is unknown"):
        fit(monotonic_cst={"a": 1})
    with pytest.raises(ParameterError, match="X has no feature names"):
        fit(interaction_cst=[["a", "b"]])


def test_many_classes_cannot_be_monotone():
    classes = np.digitize(Y, [-1, 1])
    model = GradientBoostingClassifier(**SMALL, monotonic_cst=[1, 0, 0, 0])
    with pytest.raises(ParameterError, match=r"two classes.*y has 3"):
        model.fit(X, classes)
    assert not hasattr(model, "ensemble_")
    model.set_params(monotonic_cst=[0] * 4, interaction_cst="pairwise").fit(X, classes)


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
def test_the_probability_of_the_second_class(growth, loss):
    labels = np.where(Y > 0, "no", "yes")  # sorted: the second class is "yes", for low Y
    model = GradientBoostingClassifier(
        **SMALL, growth=growth, loss=loss, monotonic_cst=[0, 0, -1, 0]
    ).fit(X, labels)
    grid = np.repeat(X, 50, axis=0)
    grid[:, 2] = np.tile(np.linspace(-4, 4, 50), len(X))
    second = model.predict_proba(grid)[:, 1].reshape(len(X), 50)
    assert np.diff(second, axis=1).max() <= 0
    assert np.ptp(second, axis=1).max() > 0


def test_categories_have_no_order():
    X = np.array([["a", 1.0], ["b", 2.0]] * 20, dtype=object)
    y = np.arange(40.0)
    GradientBoostingRegressor(monotonic_cst=[0, 1]).fit(X, y)
    with pytest.raises(ParameterError, match=r"feature 0, which is categorical"):
        GradientBoostingRegressor(monotonic_cst=[1, 0]).fit(X, y)


# Interactions


@pytest.mark.parametrize(
    ("given", "groups", "most"),
    [
        ([{0, 1}], [[0, 1], [2, 3]], 0),  # the others are one group, as for scikit-learn
        ([{1, 0}, [2], (2, 3)], [[0, 1], [2], [2, 3]], 0),
        ([frozenset([3])], [[3], [0, 1, 2]], 0),
        (np.array([[0, 1], [2, 3]]), [[0, 1], [2, 3]], 0),
        (["ac", "b"], None, 0),
        ([["a", 1], {"c"}], [[0, 1], [2], [3]], 0),
        ("no_interactions", [], 1),
        ("pairwise", [], 2),
    ],
    ids=str,
)
def test_groups(given, groups, most):
    if groups is None:
        with pytest.raises(ParameterError, match="'ac' is not a group"):
            read(FRAME, interaction_cst=given)
        return
    constraints = read(FRAME, interaction_cst=given)
    assert constraints.groups == groups
    assert constraints.max_path_features == most


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("all", "must be None, 'no_interactions', 'pairwise', or a list of groups"),
        (3, "or a list of groups"),
        ({"a": 1}, "or a list of groups"),
        ([0, 1], "0 is not a group"),
        ([[0], []], "group 1 is empty; leave it out"),
        ([[0, 4]], "feature 4 is not one of 0 to 3"),
        ([[-1]], "feature -1 is not one of 0 to 3"),
        ([[1.0]], "1.0 is not a feature"),
        ([[True]], "True is not a feature"),
        ([["z"]], "X has no feature 'z'"),
    ],
    ids=str,
)
def test_wrong_groups(given, message):
    with pytest.raises(ParameterError, match=f"interaction_cst=.*; .*{message}"):
        fit(FRAME, interaction_cst=given)


def test_words_for_one_or_two_features_change_nothing():
    one, two = X[:, :1], X[:, :2]
    assert read(one, interaction_cst="no_interactions") is None
    assert read(two, interaction_cst="pairwise") is None
    assert read(two, interaction_cst="no_interactions").max_path_features == 1


# Parameters


ALL_KINDS = [
    {"monotonic_cst": np.array([1, 0, -1, 0])},
    {"monotonic_cst": (1, 0, -1, 0)},
    {"monotonic_cst": {"a": 1, "part": -1}},
    {"interaction_cst": [{0, 3}, {"b"}]},
    {"interaction_cst": ({"b", "a"}, np.array([2, 3]))},
    {"interaction_cst": "pairwise", "monotonic_cst": [0, 0, np.int64(1), 0]},
]


def describe(value):
    """As text; the order of a set may change when it is copied."""
    if isinstance(value, (list, tuple)):
        return type(value), [describe(item) for item in value]
    return sorted(map(str, value)) if isinstance(value, set) else repr(value)


@pytest.mark.parametrize("params", ALL_KINDS, ids=range(len(ALL_KINDS)))
def test_parameters_are_cloned_saved_and_loaded(params, tmp_path):
    model = fit(FRAME, **params)
    again = clone(model)
    for name, value in params.items():
        assert getattr(model, name) is value
        assert describe(getattr(again, name)) == describe(value)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    no_categories = np.zeros(model.n_features_in_, dtype=bool)
    assert read_constraints(loaded, no_categories) == read_constraints(model, no_categories)
    assert loaded.predict(FRAME).tolist() == model.predict(FRAME).tolist()
    loaded.fit(FRAME, Y).save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    assert "monotonic_cst" in repr(model) or "interaction_cst" in repr(model)


def test_groups_are_saved_in_one_order(tmp_path):
    names = [f"feature {i}" for i in range(20)]  # sets of strings have another order in every run
    wide = pd.DataFrame(RNG.normal(size=(120, 20)), columns=names)
    files = []
    for group in (names[:15], names[14::-1]):
        fit(wide, interaction_cst=[set(group)]).save(tmp_path / "model")
        files.append((tmp_path / "model").read_bytes())
    assert files[0] == files[1]
    assert load(tmp_path / "model").interaction_cst == [sorted(names[:15])]


def test_grid_search_over_constraints():
    grid = {"monotonic_cst": [None, [1, 0, 0, 0]], "interaction_cst": [None, [{0}, {1, 2}]]}
    search = GridSearchCV(GradientBoostingRegressor(**SMALL), grid, cv=2).fit(X, Y)
    assert len(search.cv_results_["params"]) == 4


def test_a_refit_forgets_the_constraints():
    model = fit(monotonic_cst=[-1, 0, 0, 0])
    plain = fit()
    model.set_params(monotonic_cst=None).fit(X, Y)
    assert model.predict(X).tolist() == plain.predict(X).tolist()
