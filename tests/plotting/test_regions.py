"""Decision regions are what the model predicts."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from sumwise.errors import DataError, ParameterError
from sumwise.plotting import decision_regions, plot_decision_regions

IRIS = load_iris()
X = IRIS.data[:, [0, 2]]
Y = IRIS.target_names[IRIS.target]


def test_regions_are_predictions():
    model = GaussianNB().fit(X, Y)
    data = decision_regions(model, X, Y, n_steps=7)
    assert data.classes.tolist() == ["setosa", "versicolor", "virginica"]
    for row, column in [(0, 0), (3, 5), (6, 6)]:
        place = [[data.horizontal[column], data.vertical[row]]]
        assert data.classes[data.regions[row, column]] == model.predict(place)[0]
    np.testing.assert_array_equal(data.classes[data.point_classes], Y)
    assert data.horizontal[0] < X[:, 0].min() < X[:, 0].max() < data.horizontal[-1]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_names(frame):
    rows = frame({"sepal": X[:, 0], "petal": X[:, 1]})
    model = GaussianNB().fit(rows, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = decision_regions(model, rows, Y, n_steps=5)
    ax = plot_decision_regions(data)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("sepal", "petal")


def test_regions_and_points_are_drawn():
    model = GaussianNB().fit(X, Y)
    with_points = plot_decision_regions(decision_regions(model, X, Y, n_steps=20))
    texts = [text.get_text() for text in with_points.get_legend().get_texts()]
    assert texts == ["setosa", "versicolor", "virginica"]
    without = plot_decision_regions(decision_regions(model, X, n_steps=20))
    assert without.get_legend() is None
    assert len(with_points.collections) == len(without.collections) + 3


def test_a_single_region():
    model = GaussianNB().fit(X[:50], Y[:50])
    data = decision_regions(model, np.ones((1, 2)), n_steps=4)
    assert (data.regions == 0).all()
    plot_decision_regions(data)


def test_inputs_are_checked():
    model = GaussianNB().fit(X, Y)
    with pytest.raises(DataError, match="regions need two features"):
        decision_regions(model, IRIS.data)
    with pytest.raises(DataError, match="cannot be drawn"):
        decision_regions(model, [[0.0, np.nan]])
    with pytest.raises(DataError, match=r"y has shape \(3,\); X has 150 rows"):
        decision_regions(model, X, Y[:3])
    with pytest.raises(ParameterError, match="n_steps=1"):
        decision_regions(model, X, n_steps=1)


def test_rows_may_be_sparse():
    model = GaussianNB().fit(X, Y)
    own, other = (decision_regions(model, rows, Y, n_steps=5) for rows in (csr_array(X), X))
    assert np.array_equal(own.regions, other.regions)
    assert np.array_equal(own.points, X)
