"""Measures of whole ensembles against formulas and pairwise measures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sumwise.diversity import (
    difficulty,
    entropy,
    interrater_kappa,
    kohavi_wolpert_variance,
    pairwise_matrix,
)
from sumwise.errors import DataError, ParameterError

MEASURES = [kohavi_wolpert_variance, interrater_kappa, entropy, difficulty]

# Rows: right learners 4, 3, 2, 1 of 4.
PREDICTIONS = np.array([[0, 0, 0, 0], [1, 1, 1, 2], [2, 2, 0, 0], [2, 1, 0, 0]])
Y = np.array([0, 1, 2, 2])
N_RIGHT = np.array([4, 3, 2, 1])


def test_formulas_with_a_target():
    spread = (N_RIGHT * (4 - N_RIGHT)).sum()
    p = N_RIGHT.sum() / 16
    assert kohavi_wolpert_variance(PREDICTIONS, Y) == pytest.approx(spread / (4 * 16))
    expected = 1 - spread / 4 / (4 * 3 * p * (1 - p))
    assert interrater_kappa(PREDICTIONS, Y) == pytest.approx(expected)
    assert entropy(PREDICTIONS, Y) == pytest.approx((0 + 1 + 2 + 1) / 4 / 2)
    assert difficulty(PREDICTIONS, Y) == pytest.approx(np.var(N_RIGHT / 4))


def test_formulas_without_a_target():
    shares = np.array([[4, 0, 0], [0, 3, 1], [2, 0, 2], [2, 1, 1]]) / 4
    variance = np.mean([(1 - (row**2).sum()) / 2 for row in shares])
    assert kohavi_wolpert_variance(PREDICTIONS) == pytest.approx(variance)
    terms = [-sum(p * np.log(p) for p in row if p > 0) for row in shares]
    assert entropy(PREDICTIONS) == pytest.approx(np.mean(terms))
    # Fleiss (1971): agreement of pairs of raters, observed and by chance.
    observed = np.mean(((shares * 4) ** 2).sum(axis=1) - 4) / (4 * 3)
    by_chance = (shares.mean(axis=0) ** 2).sum()
    expected = (observed - by_chance) / (1 - by_chance)
    assert interrater_kappa(PREDICTIONS) == pytest.approx(expected)


def test_odd_entropy_is_one_where_votes_are_close():
    assert entropy([[0, 0, 1], [0, 1, 1]], y=[0, 0]) == 1.0


@given(
    hnp.arrays(
        np.int64, st.tuples(st.integers(1, 20), st.integers(2, 6)), elements=st.integers(0, 2)
    )
)
def test_variance_is_the_mean_disagreement(predictions):
    n_learners = predictions.shape[1]
    factor = (n_learners - 1) / (2 * n_learners)
    off_diagonal = ~np.eye(n_learners, dtype=bool)
    for y in (None, predictions[:, 0]):
        matrix = pairwise_matrix(predictions, y, "disagreement").values
        variance = kohavi_wolpert_variance(predictions, y)
        assert variance == pytest.approx(factor * matrix[off_diagonal].mean(), abs=1e-12)
        assert interrater_kappa(predictions, y) <= 1


@given(st.lists(st.integers(0, 3), min_size=4, max_size=4).filter(any))
def test_weights_count_rows(counts):
    for measure in MEASURES:
        weighted = measure(PREDICTIONS, Y, sample_weight=np.array(counts) * 0.3)
        repeated = measure(np.repeat(PREDICTIONS, counts, axis=0), np.repeat(Y, counts))
        assert weighted == pytest.approx(repeated, abs=1e-12)


def test_identical_learners():
    same = np.repeat([[0], [1], [1]], 3, axis=1)
    for y in (None, [0, 1, 0], [0, 1, 1]):
        assert kohavi_wolpert_variance(same, y) == 0
        assert entropy(same, y) == 0
        assert interrater_kappa(same, y) == 1
    assert interrater_kappa([[1, 1], [1, 1]]) == 1
    assert difficulty(same, [0, 1, 1]) == 0


def test_inputs_are_checked():
    with pytest.raises(ParameterError, match="difficulty needs y"):
        difficulty(PREDICTIONS, None)
    for measure in MEASURES:
        with pytest.raises(DataError, match="1 column"):
            measure([[0], [1]], [0, 1])
        with pytest.raises(DataError, match="y has 3 rows"):
            measure(PREDICTIONS, [0, 1, 2])
        with pytest.raises(DataError, match=r"predictions\[0, 1\] is nan"):
            measure([[0.0, np.nan]], [0])
