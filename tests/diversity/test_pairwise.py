"""Pairwise measures against hand-made tables, degenerate ones included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import cohen_kappa_score, matthews_corrcoef

from sumwise.diversity import (
    contingency_table,
    correlation,
    disagreement,
    double_fault,
    kappa,
    kappa_error_points,
    pairwise_matrix,
    q_statistic,
)
from sumwise.errors import DataError, ParameterError

PAIRWISE = {
    "kappa": kappa,
    "disagreement": disagreement,
    "correlation": correlation,
    "q_statistic": q_statistic,
}


def answers_of(a, b, c, d):
    """Right (0) and wrong (1) answers of two learners that have this table."""
    return [0] * (a + b) + [1] * (c + d), [0] * a + [1] * b + [0] * c + [1] * d


def measure(function, table):
    """The measure from labels, which must be that of right and wrong as well."""
    first, second = answers_of(*table)
    by_labels = function(first, second)
    assert function(first, second, np.zeros(len(first))) == by_labels
    return by_labels


@pytest.mark.parametrize(
    "table", [(5, 2, 1, 4), (1, 5, 5, 1), (3, 0, 2, 4), (0, 3, 4, 5), (10, 20, 30, 40)]
)
def test_formulas(table):
    a, b, c, d = table
    m = a + b + c + d
    p1, p2 = (a + d) / m, ((a + b) * (a + c) + (c + d) * (b + d)) / m**2
    expected = {
        "disagreement": (b + c) / m,
        "correlation": (a * d - b * c) / np.sqrt((a + b) * (a + c) * (c + d) * (b + d)),
        "q_statistic": (a * d - b * c) / (a * d + b * c),
        "kappa": (p1 - p2) / (1 - p2),
    }
    for name, function in PAIRWISE.items():
        assert measure(function, table) == pytest.approx(expected[name], rel=1e-14), name
    first, second = answers_of(*table)
    assert double_fault(first, second, np.zeros(m)) == d / m
    np.testing.assert_array_equal(contingency_table(first, second), [[a, b], [c, d]])


@pytest.mark.parametrize(
    ("table", "correlated", "q", "kappa_value"),
    [
        ((4, 0, 0, 0), 1, 1, 1),  # both constant, the same
        ((0, 0, 0, 4), 1, 1, 1),
        ((3, 0, 0, 2), 1, 1, 1),  # identical
        ((0, 4, 0, 0), -1, -1, 0),  # both constant, complementary; kappa is 0/1
        ((0, 0, 3, 0), -1, -1, 0),
        ((0, 2, 2, 0), -1, -1, -1),  # complementary
        ((3, 2, 0, 0), 0, 0, 0),  # one constant
        ((0, 3, 0, 2), 0, 0, 0),
        ((3, 0, 2, 0), 0, 0, 0),
    ],
)
def test_degenerate_tables(table, correlated, q, kappa_value):
    assert measure(correlation, table) == pytest.approx(correlated, abs=1e-15)
    assert measure(q_statistic, table) == q
    assert measure(kappa, table) == pytest.approx(kappa_value, abs=1e-15)


LABELS = hnp.arrays(np.int64, st.tuples(st.integers(1, 30), st.just(2)), elements=st.integers(0, 3))


@given(LABELS)
def test_measures_are_symmetric_and_bounded(labels):
    for function in PAIRWISE.values():
        value = function(labels[:, 0], labels[:, 1])
        assert value == pytest.approx(function(labels[:, 1], labels[:, 0]), abs=1e-12)
        assert -1 - 1e-12 <= value <= 1
        assert function(labels[:, 0], labels[:, 0]) == (0 if function is disagreement else 1)


@given(LABELS, st.data())
def test_weights_count_rows(labels, data):
    counts = data.draw(hnp.arrays(np.int64, len(labels), elements=st.integers(0, 3)).filter(np.any))
    repeated = np.repeat(labels, counts, axis=0)
    for function in PAIRWISE.values():
        weighted = function(labels[:, 0], labels[:, 1], sample_weight=counts * 0.1)
        assert weighted == pytest.approx(function(repeated[:, 0], repeated[:, 1]), abs=1e-12)


@given(LABELS)
def test_agrees_with_sklearn_where_that_is_defined(labels):
    first, second = labels.T
    if np.unique(labels).size > 1:
        assert kappa(first, second) == pytest.approx(cohen_kappa_score(first, second), abs=1e-12)
    if np.unique(first).size > 1 and np.unique(second).size > 1:
        expected = matthews_corrcoef(first, second)
        assert correlation(first, second) == pytest.approx(expected, abs=1e-12)


def test_labels_may_be_text_and_many():
    first = np.array(["cat", "dog", "cow", "cow", "dog", "cat"])
    second = np.array(["cat", "dog", "cow", "cat", "cow", "dog"], dtype=object)
    assert disagreement(first, second) == 0.5
    assert kappa(first, second) == pytest.approx(cohen_kappa_score(first, list(second)))
    # Each label: a = 1, b = c = 1, d = 3.
    assert q_statistic(first, second) == pytest.approx((3 - 1) / (3 + 1))


def test_two_wrong_labels_are_both_wrong():
    assert disagreement([1, 2], [2, 2]) == 0.5
    assert disagreement([1, 2], [2, 2], y=[0, 2]) == 0.0
    assert double_fault([1, 2], [2, 2], y=[0, 2]) == 0.5


PREDICTIONS = np.array([[0, 0, 1, 2], [0, 1, 1, 2], [1, 1, 0, 2], [1, 1, 0, 0], [2, 1, 0, 2]])
Y = np.array([0, 1, 1, 1, 2])


@pytest.mark.parametrize("name", PAIRWISE)
@pytest.mark.parametrize("y", [None, Y])
def test_a_matrix_has_what_the_pairs_have(name, y):
    matrix = pairwise_matrix(PREDICTIONS, y, name, labels="abcd", sample_weight=[1, 2, 1, 0, 1])
    assert matrix.labels == ("a", "b", "c", "d")
    assert matrix.measure == name
    for i in range(4):
        for j in range(4):
            pair = PAIRWISE[name](
                PREDICTIONS[:, i], PREDICTIONS[:, j], y, sample_weight=[1, 2, 1, 0, 1]
            )
            assert matrix.values[i, j] == pytest.approx(pair, abs=1e-15)


def test_labels_of_other_learners_do_not_matter():
    constant = np.array([[0, 1, 2], [0, 1, 0]])
    assert pairwise_matrix(constant, measure="correlation").values[0, 1] == -1


def test_double_faults_of_one_learner_are_its_errors():
    matrix = pairwise_matrix(PREDICTIONS, Y, "double_fault")
    np.testing.assert_allclose(np.diag(matrix.values), (Y[:, None] != PREDICTIONS).mean(axis=0))


def test_points_of_a_kappa_error_diagram():
    points = kappa_error_points(PREDICTIONS, Y)
    assert points.pairs.tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    errors = (Y[:, None] != PREDICTIONS).mean(axis=0)
    assert points.error[1] == pytest.approx((errors[0] + errors[2]) / 2)
    assert points.kappa[1] == pytest.approx(kappa(PREDICTIONS[:, 0], PREDICTIONS[:, 2]))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: kappa([0, 1], [0]), DataError, "pred_i has 2 rows, pred_j has 1"),
        (lambda: kappa([0, 1], [0, 1], [0]), DataError, "y has 1 rows; the predictions have 2"),
        (lambda: kappa([], []), DataError, "pred_i has no rows"),
        (lambda: kappa([[0, 1]], [0]), DataError, r"pred_i has shape \(1, 2\)"),
        (lambda: kappa([0.0, np.nan], [0, 1]), DataError, r"pred_i\[1\] is nan, missing"),
        (lambda: kappa(["a", None], ["a", "b"]), DataError, r"pred_i\[1\] is None, missing"),
        (lambda: kappa(["0", "1"], [0, 1]), DataError, "strings, pred_j has numbers"),
        (lambda: kappa([0], [0], sample_weight=[-1]), DataError, r"\[0\] is -1.0, negative"),
        (lambda: kappa([0], [0], sample_weight=[0]), DataError, "all sample weights are zero"),
        (lambda: kappa([0], [0], sample_weight=[1, 2]), DataError, "sample_weight has 2 rows"),
        (lambda: kappa([0], [0], sample_weight=["x"]), DataError, "must be numbers"),
        (lambda: double_fault([0], [0], None), ParameterError, "double_fault needs y"),
        (lambda: pairwise_matrix([[0], [1]]), DataError, "1 column; diversity needs two"),
        (lambda: pairwise_matrix([[0, 1]], measure="q"), ParameterError, "'q': must be one of"),
        (lambda: pairwise_matrix([[0, 1]], labels=["a"]), ParameterError, "1 names for 2"),
        (lambda: pairwise_matrix([[0, 1]], None, "double_fault"), ParameterError, "needs y"),
        (lambda: kappa_error_points([[0, 1]], None), ParameterError, "needs y"),
        (lambda: pairwise_matrix([[0, 1], [1, 0]], ["a", "b"]), DataError, "y has strings"),
    ],
)
def test_inputs_are_checked(call, error, message):
    with pytest.raises(error, match=message):
        call()
