"""Codes, and decoding by definition."""

import numpy as np
import pytest

from sumwise.combine.output_codes import (
    LOSSES,
    count_columns,
    couple_probabilities,
    make_exhaustive_code,
    make_random_code,
    make_tree_code,
    measure_hamming,
    measure_loss,
    measure_row_distance,
)
from sumwise.errors import DataError


def partitions(code):
    """Each column as the set of classes on the side of the first, without those left out."""
    return {tuple((column * column[np.flatnonzero(column)[0]]).tolist()) for column in code.T}


@pytest.mark.parametrize("n_classes", [2, 3, 5, 8])
def test_exhaustive_codes_have_every_partition_once(n_classes):
    code = make_exhaustive_code(n_classes)
    assert code.shape == (n_classes, 2 ** (n_classes - 1) - 1)
    assert len(partitions(code)) == code.shape[1]
    assert (np.abs(code.astype(int).sum(axis=0)) < n_classes).all()
    # Dietterich and Bakiri: any two classes differ in 2^(K-2) columns.
    assert measure_row_distance(code) == 2 ** (n_classes - 2)


def test_exhaustive_codes_of_many_classes_are_refused():
    with pytest.raises(DataError, match="2047 columns"):
        make_exhaustive_code(12)


@pytest.mark.parametrize(("n_classes", "n_columns"), [(3, 3), (4, 5), (10, 15), (15, 30), (40, 60)])
def test_random_codes_tell_classes_apart(n_classes, n_columns):
    code = make_random_code(n_classes, n_columns, np.random.RandomState(0))
    assert code.shape == (n_classes, n_columns)
    assert set(np.unique(code)) == {-1, 1}
    assert len(partitions(code)) == n_columns
    assert measure_row_distance(code) >= 1
    assert (np.abs(code.astype(int).sum(axis=0)) < n_classes).all()


def test_random_codes_are_better_than_one_draw():
    chosen = measure_row_distance(make_random_code(10, 30, np.random.RandomState(0)))
    draws = np.random.RandomState(1)
    plain = [measure_row_distance(2 * draws.randint(2, size=(10, 30)) - 1) for _ in range(20)]
    assert chosen > np.mean(plain)


def test_trees_part_what_is_least_alike_first():
    similarity = np.full((5, 5), 0.01)
    for group in ([0, 3], [1, 2, 4]):
        similarity[np.ix_(group, group)] = 1.0
    code = make_tree_code(similarity)
    assert code.shape == (5, 4)
    assert code[:, 0].tolist() == [1, -1, -1, 1, -1]
    for column in code.T:
        assert {1, -1} <= set(column.tolist())
    assert np.unique(code, axis=0).shape[0] == 5


@pytest.mark.parametrize("similarity", [np.zeros((4, 4)), np.ones((4, 4))])
def test_trees_of_classes_that_are_all_alike(similarity):
    code = make_tree_code(similarity)
    assert code.shape == (4, 3)
    assert np.unique(code, axis=0).shape[0] == 4


CODE = np.array([[1, 1, 0], [-1, 1, 1], [-1, -1, -1]], dtype=np.int8)
MARGINS = np.array([[2.0, 0.5, -1.0], [-0.5, -3.0, 0.25]])


def test_hamming_distances_by_definition():
    expected = [
        [sum((1 - bit * np.sign(m)) / 2 for bit, m in zip(word, row, strict=True)) for word in CODE]
        for row in MARGINS
    ]
    np.testing.assert_array_equal(measure_hamming(CODE, MARGINS), expected)
    assert measure_hamming(CODE, MARGINS)[0].tolist() == [0.5, 2.0, 2.0]


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_by_definition(loss):
    functions = {
        "logistic": lambda z: np.log(1 + np.exp(-z)),
        "exponential": lambda z: np.exp(-z),
        "hinge": lambda z: max(0, 1 - z),
        "squared": lambda z: (1 - z) ** 2,
        "linear": lambda z: -z,
    }
    expected = [
        [sum(functions[loss](bit * m) for bit, m in zip(word, row, strict=True)) for word in CODE]
        for row in MARGINS
    ]
    np.testing.assert_allclose(measure_loss(CODE, MARGINS, loss), expected)


def test_number_of_columns():
    assert [count_columns(k) for k in (2, 3, 4)] == [1, 3, 7]


@pytest.mark.parametrize("kind", ["exhaustive", "random", "tree", "ternary"])
def test_coupling_finds_the_probabilities_that_explain_all_sides(kind):
    draws = np.random.RandomState(0)
    code = {
        "exhaustive": lambda: make_exhaustive_code(5),
        "random": lambda: make_random_code(5, 9, draws),
        "tree": lambda: make_tree_code(draws.uniform(size=(5, 5))),
        "ternary": lambda: draws.randint(-1, 2, size=(5, 30)),
    }[kind]()
    q = draws.dirichlet(np.ones(5), size=20)
    one, other = q @ (code == 1), q @ (code == -1)
    used = (one > 0) & (other > 0)
    sides = np.where(used, one / np.maximum(one + other, 1e-9), one > 0)
    np.testing.assert_allclose(couple_probabilities(code, sides), q, atol=1e-4)


def test_coupling_of_sure_and_of_contradicting_sides():
    code = make_exhaustive_code(3)
    sure = (code[1] == 1).astype(float)[np.newaxis]
    np.testing.assert_allclose(couple_probabilities(code, sure), [[0, 1, 0]], atol=1e-5)
    for sides in (np.zeros((1, 3)), np.ones((1, 3))):
        q = couple_probabilities(code, sides)
        assert np.isfinite(q).all()
        assert q.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(couple_probabilities(code[:1, :0], np.empty((2, 0))), [[1], [1]])


def test_coupling_of_a_row_does_not_depend_on_others():
    code, draws = make_exhaustive_code(4), np.random.RandomState(0)
    sides = draws.uniform(size=(50, code.shape[1]))
    together = couple_probabilities(code, sides)
    for row in (0, 17):
        alone = couple_probabilities(code, sides[row : row + 1])
        np.testing.assert_allclose(alone[0], together[row], rtol=1e-12)
