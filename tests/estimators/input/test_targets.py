"""Targets, weights and initial scores, checked and converted."""

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import DataConversionWarning

from sumwise.errors import DataError
from sumwise.estimators.input.targets import (
    check_init_score,
    check_sample_weight,
    read_target,
)

# Targets


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        np.array,
        pd.Series,
        lambda y: pd.Series(y, index=[9, 8, 7]),
        lambda y: pd.Series(y).convert_dtypes(),
        lambda y: pd.Series(y, dtype=object),
        lambda y: pd.Series(y).convert_dtypes(dtype_backend="pyarrow"),
        lambda y: pd.Series(y, dtype="category"),
        pl.Series,
        pa.array,
        lambda y: pa.chunked_array([y[:1], y[1:]]),
        lambda y: pa.array(y).dictionary_encode(),
        lambda y: pa.chunked_array([pa.array(y[:1]), pa.array(y[1:])]).dictionary_encode(),
    ],
)
@pytest.mark.parametrize("y", [[3, 1, 2], [1.5, 0.0, -2.0], ["b", "a", "ü"], [True, False, True]])
def test_targets_of_any_kind(make, y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_target(make(y), is_number=False).tolist() == y
        if not isinstance(y[0], str):
            assert read_target(make(y), is_number=True).astype(float).tolist() == y


@pytest.mark.parametrize(
    "make",
    [
        lambda y: [[v] for v in y],
        lambda y: pd.DataFrame({"y": y}),
        lambda y: pl.DataFrame({"y": y}),
        lambda y: pl.DataFrame({"y": y}).lazy(),
        lambda y: pa.table({"y": y}),
        lambda y: pa.table({"y": pa.array(y).dictionary_encode()}),
    ],
)
def test_one_column_gives_a_warning(make):
    with pytest.warns(DataConversionWarning, match="column-vector"):
        assert read_target(make([3, 1, 2]), is_number=True).tolist() == [3, 1, 2]


def test_no_target():
    assert read_target(None, is_number=True) is None


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1.0, np.nan], r"y contains NaN: y\[1\] is nan"),
        ([1.0, np.inf], r"y contains infinity: y\[1\] is inf"),
        ([1.0, None], r"y contains NaN: y\[1\] is None"),
        (["a", None], r"y contains NaN: y\[1\] is None"),
        (np.array(["a", np.nan], dtype=object), r"y\[1\] is nan, a missing"),
        (pd.Series([1, None], dtype="Int64"), r"y\[1\] is nan"),
        (pd.Series([True, None], dtype="boolean"), r"y\[1\] is <NA>"),
        (pd.Series(["a", None]), r"y\[1\] is (nan|None)"),
        (pd.Series(["a", None], dtype="category"), r"y\[1\] is nan"),
        (pl.Series([1, None]), r"y\[1\] is nan"),
        (pl.Series(["a", None]), r"y\[1\] is None"),
        (pa.array([1, None]), r"y\[1\] is nan"),
        (pa.array(["a", None]).dictionary_encode(), r"y\[1\] is None"),
        ([1j, 2], "Complex data not supported"),
        (np.ones((2, 2)), r"y should be a 1d array, got an array of shape \(2, 2\)"),
        (pl.DataFrame({"a": [1], "b": [2]}), "y should be a 1d array"),
    ],
)
def test_bad_targets(y, message):
    for is_number in (True, False):
        with pytest.raises(ValueError, match=message):
            read_target(y, is_number=is_number)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["1", "b"], "y must be numbers for a regressor; it has 'b' in row 1"),
        (pd.Series(["a", "b"]), "'a' in row 0"),
        (np.array(["2020-01-01"], dtype="M8[D]"), r"it has type datetime64\[D\]"),
        (np.array([1, [2]], dtype=object), r"it has \[2\] in row 1"),
        (np.array(["1", "inf"]), r"y\[1\] is inf"),
    ],
)
def test_targets_of_a_regressor_are_numbers(y, message):
    with pytest.raises(DataError, match=message):
        read_target(y, is_number=True)


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", ">f8"])
@pytest.mark.parametrize("is_number", [False, True])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 40_000])
def test_values_that_are_not_finite_are_found(kind, is_number, bad, row):
    y = np.ones(40_001, dtype=kind)
    assert read_target(y, is_number) is y
    y[row] = bad
    with pytest.raises(DataError, match=rf"Input y contains (NaN|infinity): y\[{row}\] is"):
        read_target(y, is_number)


def test_objects_that_are_numbers():
    y = np.array([1, Decimal("1.5"), True, "2"], dtype=object)
    assert read_target(y, is_number=True).tolist() == [1, 1.5, 1, 2]


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
        pd.Series([1, 0, 2], dtype="Int64"),
        pl.Series([1, 0, 2]),
        pa.array([1, 0, 2]),
        pa.chunked_array([[1], [0, 2]]),
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
        ([1, 2, None], r"sample_weight\[2\] is nan"),
        (pd.Series([1, None, 2], dtype="Int64"), r"sample_weight\[1\] is nan"),
        (pd.Series([True, None, True], dtype="boolean"), r"sample_weight\[1\] is nan"),
        (pl.Series([1, None, 2]), r"sample_weight\[1\] is nan"),
        (pa.array([1, None, 2]), r"sample_weight\[1\] is nan"),
        (pa.array(["a", "b", "c"]), "must be numbers"),
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


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_initial_scores_from_frames(frame):
    score = frame({"a": [1, 4], "b": [2, 5], "c": [3, 6]})
    assert check_init_score(score, 2, 3).tolist() == [[1, 4], [2, 5], [3, 6]]


@pytest.mark.parametrize("series", [pd.Series, pl.Series, pa.array])
def test_initial_scores_from_series(series):
    assert check_init_score(series([1.5, 2, 3]), 3, 1).tolist() == [[1.5, 2, 3]]


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
        ([1, np.nan, 2], 1, "init_score must be finite; row 1 has nan"),
        (pl.Series([1, None, 2]), 1, "init_score must be finite; row 1 has nan"),
        ([1, np.inf, 2], 1, "init_score must be finite"),
        (["a", "b", "c"], 1, "init_score must be numbers"),
        ([1, [2], 3], 1, "init_score must be numbers"),
    ],
)
def test_bad_initial_scores(score, n_outputs, message):
    with pytest.raises(DataError, match=message):
        check_init_score(score, 3, n_outputs)
