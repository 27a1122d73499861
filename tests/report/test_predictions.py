"""Predictions: of models, and known ones."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix

from sumwise import RandomForestClassifier, RandomForestRegressor
from sumwise.errors import DataError
from sumwise.report.predictions import (
    draw_rows,
    name_features,
    predict_rows,
    read_known,
    say_sample,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))


@pytest.fixture(scope="module")
def classifier():
    return RandomForestClassifier(5, random_state=0).fit(X, np.where(X[:, 0] > 0, "b", "a"))


@pytest.fixture(scope="module")
def regressor():
    return RandomForestRegressor(5, random_state=0).fit(X, X[:, 0])


def test_labels_and_probabilities(classifier):
    y = np.where(X[:, 0] > 0, "b", "a")
    known = predict_rows(classifier, X, pd.Series(y, index=range(9, 69)))
    assert known.is_classification
    assert known.codes.tolist() == (y == "b").astype(int).tolist()
    assert known.probabilities.shape == (60, 2)


def test_targets_that_cannot_be_compared(classifier, regressor):
    with pytest.raises(DataError, match="has not seen in training: 'c'; leave these rows out"):
        predict_rows(classifier, X, np.full(60, "c"))
    with pytest.raises(DataError, match="X has 60 rows and y has 5"):
        predict_rows(regressor, X, np.zeros(5))
    with pytest.raises(DataError, match="expected one value per row"):
        predict_rows(regressor, X, np.zeros((60, 2)))
    with pytest.raises(DataError, match="must hold numbers for regression, got <U1"):
        predict_rows(regressor, X, np.full(60, "c"))
    y = np.zeros(60)
    y[7] = np.nan
    with pytest.raises(DataError, match="y has nan at row 7"):
        predict_rows(regressor, X, y)
    both = RandomForestRegressor(2, random_state=0).fit(X, X)
    with pytest.raises(DataError, match="predicts 2 targets at once"):
        predict_rows(both, X, np.zeros(60))


def test_known_probabilities_and_labels():
    y = np.array(["b", "a", "b"])
    known = read_known("classification", y, [[0.2, 0.8], [np.nan, np.nan], [0.9, 0.1]])
    assert known.y.tolist() == ["b", "b"]  # the second row was in no fold
    assert known.predicted.tolist() == ["b", "a"]
    assert read_known("classification", y, y[::-1]).probabilities is None
    torn = read_known("classification", y, np.array(["a", None, "b"], dtype=object))
    assert torn.y.tolist() == ["b", "b"]
    assert torn.predicted.tolist() == ["a", "b"]
    with pytest.raises(DataError, match="has 3 columns, and y has 2 classes"):
        read_known("classification", y, np.ones((3, 3)))


def test_known_numbers_leave_missing_ones_out():
    known = read_known("regression", [1.0, 2.0, 3.0], [1.5, np.nan, 2.5])
    assert known.y.tolist() == [1.0, 3.0]
    assert known.predicted.tolist() == [1.5, 2.5]


def test_samples_are_the_same_each_time_and_said():
    rows = draw_rows(10_000, 100)
    assert rows.size == np.unique(rows).size == 100
    assert (np.diff(rows) > 0).all()
    assert (draw_rows(10_000, 100) == rows).all()
    assert draw_rows(5, 100).tolist() == [0, 1, 2, 3, 4]
    assert say_sample(5, 5) == ""
    assert "100 of 10,000 rows" in say_sample(100, 10_000)


def test_names_come_from_the_frame_the_model_or_numbers(classifier):
    frame = pd.DataFrame({"a": [1], "columns": [2], "column_names": [3]})
    assert name_features(None, frame) == ("a", "columns", "column_names")
    assert name_features(None, pl.DataFrame({"u": [1.0]})) == ("u",)
    assert name_features(None, pl.DataFrame({"u": [1.0]}).to_arrow()) == ("u",)
    assert name_features(classifier, X) == ("x0", "x1")
    assert name_features(None, csr_matrix(X)) == ("x0", "x1")
    assert name_features(None, X, ["p", "q"]) == ("p", "q")
    named = RandomForestClassifier(2).fit(pd.DataFrame(X, columns=["p", "q"]), X[:, 0] > 0)
    assert name_features(named, X) == ("p", "q")
