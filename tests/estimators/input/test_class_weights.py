"""class_weight and scale_pos_weight are factors on the sample weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise import GradientBoostingClassifier, load
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.input.class_weights import find_class_weights
from sumwise.peers import ALONE
from tests.threaded_peers import run_together

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
TWO = (X[:, 0] + RNG.normal(size=300) > 1.2).astype(int)
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + RNG.normal(size=300), (0, 1.5))]
SMALL = {"n_estimators": 5, "max_leaves": 6}
WEIGHT = RNG.random(300) + 0.1


def fit(y, weight=None, **params):
    return GradientBoostingClassifier(**SMALL, **params).fit(X, y, weight)


def assert_same(model, expected):
    assert np.array_equal(model.decision_function(X), expected.decision_function(X))


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_a_dict_of_weights(weight):
    factors = {"a": 2.0, "c": 0.25}
    by_row = np.array([factors.get(label, 1.0) for label in THREE])
    expected = fit(THREE, by_row if weight is None else by_row * weight)
    assert_same(fit(THREE, weight, class_weight=factors), expected)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_balanced_classes_weigh_the_same(y, weight):
    model = fit(y, weight, class_weight="balanced")
    given = np.ones(300) if weight is None else weight
    totals = {label: given[y == label].sum() for label in np.unique(y)}
    by_row = given * np.array([given.sum() / (len(totals) * totals[label]) for label in y])
    np.testing.assert_allclose(
        model.decision_function(X), fit(y, by_row).decision_function(X), rtol=1e-9, atol=1e-12
    )
    if y is TWO:
        assert abs(model.ensemble_.base_score[0]) < 1e-12


def test_balanced_is_a_factor_of_rows_and_of_weights():
    repeats = RNG.integers(1, 4, 300)
    params = {**SMALL, "class_weight": "balanced", "min_samples_leaf": 1}
    weighted = GradientBoostingClassifier(**params).fit(X, TWO, repeats)
    rows = np.repeat(np.arange(300), repeats)
    repeated = GradientBoostingClassifier(**params).fit(X[rows], TWO[rows])
    np.testing.assert_allclose(
        weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-6, atol=1e-9
    )


def test_scale_pos_weight_is_the_weight_of_the_second_class():
    expected = fit(TWO, np.where(TWO == 1, 3.5, 1.0))
    assert_same(fit(TWO, scale_pos_weight=3.5), expected)
    assert_same(fit(TWO, class_weight={1: 3.5}), expected)
    assert fit(TWO, scale_pos_weight=20).predict(X).mean() > fit(TWO).predict(X).mean()
    assert_same(fit(TWO, scale_pos_weight=1), fit(TWO))


def test_a_class_without_weight_takes_no_part():
    model = fit(THREE, class_weight={"b": 0.0})
    assert "b" not in model.predict(X)


@pytest.mark.parametrize(
    ("y", "params", "kind", "message"),
    [
        (THREE, {"class_weight": {"d": 2.0}}, DataError, "'d', which is not a class of y; its cl"),
        (TWO, {"class_weight": {"1": 2.0}}, DataError, "'1', which is not a class"),
        (TWO, {"class_weight": {1: -1.0}}, ParameterError, r"class_weight\[1\] is -1.0"),
        (TWO, {"class_weight": {1: np.nan}}, ParameterError, r"class_weight\[1\] is nan"),
        (TWO, {"class_weight": {1: "2"}}, ParameterError, r"class_weight\[1\] is '2'"),
        (TWO, {"class_weight": {0: 0, 1: 0}}, DataError, "all sample weights are zero"),
        (TWO, {"class_weight": "equal"}, ParameterError, "class_weight='equal'; must be 'balanced"),
        (TWO, {"class_weight": [1, 2]}, ParameterError, r"class_weight=\[1, 2\]; must be"),
        (TWO, {"scale_pos_weight": 0}, ParameterError, "scale_pos_weight=0; must be a number abo"),
        (TWO, {"scale_pos_weight": None}, ParameterError, "scale_pos_weight=None"),
        (THREE, {"scale_pos_weight": 2.0}, DataError, "for two classes; y has 3: use class_weight"),
        (
            TWO,
            {"scale_pos_weight": 2.0, "class_weight": "balanced"},
            ParameterError,
            "either class_weight or scale_pos_weight",
        ),
    ],
)
def test_errors(y, params, kind, message):
    with pytest.raises(kind, match=message):
        fit(y, **params)


@pytest.mark.parametrize(
    ("y", "params"),
    [
        (TWO, {"class_weight": {np.int64(1): np.float32(2.0), 0: 1}}),
        (THREE, {"class_weight": {"c": 3, "a": 0.5}}),
        (TWO == 1, {"class_weight": {True: 2.0}}),
        (TWO, {"class_weight": "balanced"}),
        (TWO, {"scale_pos_weight": 4.0}),
    ],
    ids=str,
)
def test_saved_models_know_their_weights(y, params, tmp_path):
    model = fit(y, **params)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    for name, value in params.items():
        assert getattr(loaded, name) == value
    assert_same(loaded, model)
    assert_same(loaded.fit(X, y), model)


def test_the_order_of_rows_changes_no_weight():
    indices = np.unique(THREE, return_inverse=True)[1]
    orders = [RNG.permutation(300) for _ in range(5)]
    found = [
        find_class_weights(np.arange(3), "balanced", 1, indices[order], WEIGHT[order])
        for order in orders
    ]
    assert len({weights.tobytes() for weights in found}) == 1


@pytest.mark.parametrize("weight", [None, np.arange(300) % 7 + 0.0], ids=["plain", "integers"])
def test_balanced_weights_of_integers_are_exact(weight):
    indices = np.unique(THREE, return_inverse=True)[1]
    totals = np.bincount(indices, weights=weight)
    found = find_class_weights(np.arange(3), "balanced", 1, indices, weight)
    assert found.tobytes() == (totals.sum() / (3 * totals)).tobytes()


def test_classes_of_low_weight_are_balanced():
    weight = np.array([1.0, 1e-100, 3e-100])
    found = find_class_weights(np.arange(2), "balanced", 1, np.array([0, 1, 1]), weight)
    assert found == pytest.approx([0.5, 1 / 8e-100], rel=1e-15)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 4), st.floats(0.0, 1e100), st.integers(0, 2)), max_size=20
    ),
    balance=st.sampled_from(["balanced", {3: 2.0}, None]),
    weighted=st.booleans(),
    kind=st.sampled_from([np.uint8, np.intp, np.float64]),
)
def test_peers_find_the_weights_of_one_process(rows, balance, weighted, kind):
    indices, weight, owners = np.array(rows, dtype=np.float64).reshape(-1, 3).T.copy()
    indices, classes = indices.astype(kind), np.arange(5)

    def find(mask, peers):
        own = weight[mask] if weighted and mask.any() else None
        found = find_class_weights(classes, balance, 1, indices[mask], own, peers)
        return None if found is None else found.tobytes()

    expected = find(owners >= 0, ALONE)
    found = run_together(3, lambda peers: find(owners == peers.rank, peers))
    assert found == [expected] * 3


def test_balancing_among_peers_takes_two_messages():
    def work(peers):
        find_class_weights(np.arange(2), "balanced", 1, np.array([0, 1]), np.ones(2), peers)
        return peers.n_messages

    assert run_together(2, work) == [2, 2]
