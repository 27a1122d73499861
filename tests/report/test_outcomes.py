"""Confusion, residuals, calibration and rejection."""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from sumwise.report.blocks import Figure, Table
from sumwise.report.outcomes import describe_outcomes, describe_probabilities
from sumwise.report.predictions import Predictions

RNG = np.random.default_rng(0)


def find(section, kind, name=None):
    found = [b for b in section.blocks if isinstance(b, kind)]
    return {getattr(b, "key", getattr(b, "caption", "")): b for b in found}


@pytest.fixture
def three():
    classes = np.array(["a", "b", "c"])
    y, predicted = RNG.choice(classes, 90), RNG.choice(classes, 90)
    return Predictions(y, predicted, classes)


def test_confusion_of_classes(three):
    section = describe_outcomes(three)
    figure = find(section, Figure)["confusion"]
    expected = confusion_matrix(three.y, three.predicted)
    assert (figure.data["counts"] == expected).all()
    tables = find(section, Table)
    own = tables["Classes"].to_dict()["columns"]
    precision, recall, f1, n_rows = precision_recall_fscore_support(three.y, three.predicted)
    assert own["Rows"] == n_rows.tolist()
    assert own["Recall"] == pytest.approx(recall, rel=1e-5)
    assert own["Precision"] == pytest.approx(precision, rel=1e-5)
    assert own["F1"] == pytest.approx(f1, rel=1e-5)
    most = tables["Most frequent confusions"].to_dict()["columns"]["Rows"]
    np.fill_diagonal(expected, 0)
    assert most[0] == expected.max()
    assert sum(most) == expected.sum()


def test_many_classes_have_a_table_but_no_matrix():
    classes = np.arange(40)
    y = RNG.integers(0, 40, 500)
    section = describe_outcomes(Predictions(y, RNG.permutation(y), classes))
    assert not find(section, Figure)
    assert set(find(section, Table)) == {"Most frequent confusions", "Classes"}


def test_without_errors_there_are_no_confusions(three):
    section = describe_outcomes(Predictions(three.y, three.y, three.classes))
    assert set(find(section, Table)) == {"Classes"}


def test_a_class_that_is_never_predicted_has_no_precision():
    y = np.array(["a", "b", "a"])
    section = describe_outcomes(Predictions(y, np.array(["a"] * 3), np.array(["a", "b"])))
    own = find(section, Table)["Classes"].to_dict()["columns"]
    assert own["Precision"] == [pytest.approx(2 / 3, rel=1e-5), None]
    assert own["Recall"] == [1.0, 0.0]


def test_residuals():
    y = RNG.normal(size=5000)
    known = Predictions(y, y - np.linspace(-1, 1, 5000))
    figures = find(describe_outcomes(known), Figure)
    assert set(figures) == {"predicted", "residuals", "residual-histogram"}
    assert figures["predicted"].data["true"].size == 1000
    assert "1,000 of 5,000 rows" in figures["predicted"].caption
    histogram = figures["residual-histogram"].data
    assert histogram["counts"].sum() == 5000
    sizes = find(describe_outcomes(known), Table)["Sizes of errors"].to_dict()["columns"]
    assert sizes["Error is at most"][0] == pytest.approx(0.5, abs=0.01)
    assert sizes["Error is at most"][-1] == 1.0


def test_perfect_predictions_have_a_histogram_too():
    figures = find(describe_outcomes(Predictions(np.arange(9.0), np.arange(9.0))), Figure)
    assert figures["residual-histogram"].data["counts"].sum() == 9


def test_calibration_and_rejection():
    share = RNG.random(2000)
    y = (RNG.random(2000) < share).astype(int)
    shares = np.column_stack([1 - share, share])
    known = Predictions(y, (share > 0.5).astype(int), np.array([0, 1]), shares)
    figures = find(describe_probabilities(known), Figure)
    assert figures["calibration"].data["error"] < 0.05
    reject = figures["reject"].data
    assert reject["coverage"].size <= 200
    assert reject["coverage"][-1] == 1.0
    assert reject["accuracy"][-1] == pytest.approx(np.mean(y == known.predicted))
    assert reject["accuracy"][0] > reject["accuracy"][-1]


def test_labels_without_probabilities_have_no_section(three):
    assert describe_probabilities(three) is None
