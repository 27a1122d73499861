"""Weights and initial scores, checked and converted."""

import warnings

import numpy as np
import pandas as pd
import pytest

from sumwise.errors import DataError, DataWarning
from sumwise.estimators.inputs import check_init_score, check_sample_weight, warn_of_rounding

# Weights


def test_no_weights():
    assert check_sample_weight(None, 3) is None


@pytest.mark.parametrize(
    "weight",
    [
        [1, 0, 2],
        (1.0, 0.0, 2.0),
        np.array([1, 0, 2], dtype=np.uint8),
        np.array([1, 0, 2], dtype=">f4"),
        np.array([1, 0, 2], dtype=object),
        pd.Series([1, 0, 2], index=[7, 8, 9]),
    ],
    ids=lambda weight: type(weight).__name__,
)
def test_weights_become_float64(weight):
    checked = check_sample_weight(weight, 3)
    assert checked.dtype == np.float64
    assert checked.dtype.isnative
    assert checked.tolist() == [1, 0, 2]


def test_one_weight_for_all():
    assert check_sample_weight(2, 3).tolist() == [2, 2, 2]
    assert check_sample_weight(np.float32(0.5), 2).tolist() == [0.5, 0.5]


def test_booleans_are_weights():
    assert check_sample_weight([True, False, True], 3).tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 1], r"\(2,\), expected \(3,\)"),
        ([], r"\(0,\), expected \(3,\)"),
        ([[1], [1], [1]], r"must be 1D array or scalar, got shape \(3, 1\)"),
        ([1, -0.5, 1], r"sample_weight\[1\] is -0.5; .* finite and not negative"),
        ([1, 1, np.nan], r"sample_weight\[2\] is nan"),
        ([np.inf, 1, 1], r"sample_weight\[0\] is inf"),
        ([0, 0, 0], "all sample weights are zero"),
        (0, "all sample weights are zero"),
        (-1, r"sample_weight\[0\] is -1"),
        ("heavy", "must be numbers"),
        (["a", "b", "c"], "must be numbers"),
        ([1, [2], 3], "must be numbers"),
        ([1j, 1, 1], "must be numbers"),
        ({"a": 1}, "must be numbers"),
    ],
)
def test_bad_weights(weight, message):
    with pytest.raises(DataError, match=message):
        check_sample_weight(weight, 3)


def test_complex_weights_are_refused():
    # NumPy would drop the imaginary part with no more than a warning.
    with pytest.raises(DataError, match="must be numbers"):
        check_sample_weight(np.array([1 + 1j, 1, 1]), 3)


# Initial scores


def test_no_initial_score():
    assert check_init_score(None, 3, 1) is None


@pytest.mark.parametrize("score", [[1, 2, 3], [[1], [2], [3]], np.array([1, 2, 3], dtype="i1")])
def test_initial_score_of_one_output(score):
    checked = check_init_score(score, 3, 1)
    assert checked.dtype == np.float64
    assert checked.tolist() == [[1, 2, 3]]


def test_initial_score_of_three_outputs():
    checked = check_init_score([[1, 2, 3], [4, 5, 6]], 2, 3)
    assert checked.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert checked.flags.c_contiguous


def test_as_many_rows_as_outputs():
    assert check_init_score([[1, 2, 3]] * 3, 3, 3).tolist() == [[1] * 3, [2] * 3, [3] * 3]


@pytest.mark.parametrize(
    ("score", "n_outputs", "message"),
    [
        ([1, 2], 1, r"init_score has shape \(2,\), expected \(3,\)"),
        (0.5, 1, r"init_score has shape \(\), expected \(3,\)"),
        ([[1, 2]] * 3, 1, r"init_score has shape \(3, 2\), expected \(3,\)"),
        ([1, 2, 3], 3, r"init_score has shape \(3,\), expected \(3, 3\)"),
        ([[1, 2]] * 3, 3, r"init_score has shape \(3, 2\), expected \(3, 3\)"),
        ([1, np.nan, 2], 1, "init_score must be finite"),
        ([1, np.inf, 2], 1, "init_score must be finite"),
        (["a", "b", "c"], 1, "init_score must be numbers"),
        ([1, [2], 3], 1, "init_score must be numbers"),
    ],
)
def test_bad_initial_scores(score, n_outputs, message):
    with pytest.raises(DataError, match=message):
        check_init_score(score, 3, n_outputs)


# Large integers


@pytest.mark.parametrize(
    ("X", "warns"),
    [
        (np.array([[2**53]]), False),
        (np.array([[2**53 + 1]]), True),
        (np.array([[-(2**53)]]), False),
        (np.array([[-(2**53) - 1]]), True),
        (np.array([[2**64 - 1]], dtype=np.uint64), True),
        (np.array([[2**31 - 1]], dtype=np.int32), False),
        (np.array([[1e300]]), False),
        (np.array([[True]]), False),
    ],
)
def test_large_integers(X, warns):
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        warn_of_rounding(X)
    assert [warning.category for warning in record] == ([DataWarning] if warns else [])
