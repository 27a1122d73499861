import numpy as np
import pytest

from sumwise.data.binning import BinMapper
from sumwise.errors import ParameterError
from sumwise.kernels.runtime.threads import Team
from sumwise.tree.shallow import ShallowGrower


@pytest.fixture
def team():
    with Team(1) as team:
        yield team


def make(X, target, team, max_depth=1, n_classes=0):
    mapper = BinMapper.fit(X, team=team)
    return ShallowGrower(
        *mapper.map_to_columns(X, team), mapper, max_depth, team, target, n_classes
    )


def test_thresholds_are_midpoints_and_values_means(team):
    X = np.array([[1.0], [2.0], [4.0], [8.0]])
    y = np.array([1e6, 1e6 + 1, 1e6 + 10, 1e6 + 12])
    grower = make(X, y, team, max_depth=2)
    tree = grower.grow(np.full(4, 0.25))
    assert tree.threshold[0] == 3.0
    np.testing.assert_allclose(tree.value[1:3, 0], [1e6 + 0.5, 1e6 + 11], rtol=1e-15)
    np.testing.assert_allclose(tree.value[3:, 0], y, rtol=1e-15)
    np.testing.assert_array_equal(tree.n_rows, [4, 2, 2, 1, 1, 1, 1])
    # The gain is that of the weighted mean of squares.
    within = [np.var(y), (np.var(y[:2]) + np.var(y[2:])) / 2]
    assert tree.gain[0] == pytest.approx(within[0] - within[1], rel=1e-9)
    predicted = np.empty(4)
    grower.predict_rows(np.ascontiguousarray(tree.value[:, 0]), predicted)
    np.testing.assert_allclose(predicted, y, rtol=1e-15)


def test_gains_are_those_of_gini(team):
    rng = np.random.default_rng(0)
    X, y = rng.random((50, 3)), rng.integers(0, 3, 50)
    weight = rng.random(50)
    weight /= weight.sum()
    tree = make(X, y, team, n_classes=3).grow(weight)
    goes_left = X[:, tree.feature[0]] <= tree.threshold[0]

    def impurity(rows):
        share = np.bincount(y[rows], weight[rows], minlength=3) / weight[rows].sum()
        return weight[rows].sum() * (1.0 - (share**2).sum())

    expected = impurity(np.full(50, True)) - impurity(goes_left) - impurity(~goes_left)
    assert tree.gain[0] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(tree.value.sum(axis=1), 1.0, rtol=1e-15)


def test_a_table_without_usable_features_gives_a_leaf(team):
    tree = make(np.ones((4, 2)), np.array([0, 0, 1, 0]), team, n_classes=2).grow(np.full(4, 0.25))
    assert tree.n_nodes == 1
    np.testing.assert_array_equal(tree.value, [[0.75, 0.25]])
    # A constant target.
    assert make(np.eye(3), np.ones(3), team).grow(np.full(3, 1 / 3)).value == [[1.0]]


def test_histograms_have_a_limit(team, monkeypatch):
    monkeypatch.setattr("sumwise.tree.shallow._MOST_BYTES", 1000)
    with pytest.raises(ParameterError, match="depth 8 and 2 classes would need"):
        make(np.eye(3), np.array([0, 1, 1]), team, max_depth=8, n_classes=2)
