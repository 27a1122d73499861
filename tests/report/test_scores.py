"""Scores of a model: values, intervals and the constant prediction."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, log_loss, r2_score, roc_auc_score

from sumwise import GradientBoostingRegressor
from sumwise.report.predictions import Predictions
from sumwise.report.scores import describe_scores, list_metrics, predict_constant, score_rows

RNG = np.random.default_rng(0)
MODEL = GradientBoostingRegressor()  # named in errors only


def read_table(known, trained=None):
    table = describe_scores(MODEL, known, trained).blocks[0].to_dict()["columns"]
    values = zip(*(table[name] for name in list(table)[1:]), strict=True)
    return {
        name: dict(zip(list(table)[1:], own, strict=True))
        for name, own in zip(table["Score"], values, strict=True)
    }


@pytest.fixture
def numbers():
    y = RNG.normal(size=200)
    return Predictions(y, y + 0.5 * RNG.normal(size=200))


@pytest.fixture
def classes():
    y = RNG.choice(["a", "b"], 300, p=[0.7, 0.3])
    share = np.clip(0.2 + 0.5 * (y == "b") + 0.2 * RNG.normal(size=300), 0.01, 0.99)
    shares = np.column_stack([1 - share, share])
    return Predictions(y, np.array(["a", "b"])[shares.argmax(axis=1)], np.array(["a", "b"]), shares)


def test_scores_of_numbers(numbers):
    table = read_table(numbers)
    rmse = np.sqrt(np.mean((numbers.y - numbers.predicted) ** 2))
    own = table["root mean squared error"]
    assert own["This model"] == pytest.approx(rmse, rel=1e-5)
    assert own["95 % low"] < rmse < own["95 % high"]
    assert own["Constant"] == pytest.approx(numbers.y.std(), rel=1e-5)
    assert table["R²"]["This model"] == pytest.approx(
        r2_score(numbers.y, numbers.predicted), rel=1e-4
    )
    assert table["R²"]["Constant"] == pytest.approx(0.0, abs=1e-12)


def test_scores_of_classes(classes):
    table = read_table(classes)
    truth = classes.y == "b"
    expected = {
        "log loss": log_loss(truth, classes.probabilities[:, 1]),
        "area under the ROC curve": roc_auc_score(truth, classes.probabilities[:, 1]),
        "accuracy": np.mean(classes.y == classes.predicted),
        "balanced accuracy": balanced_accuracy_score(classes.y, classes.predicted),
    }
    assert {name: own["This model"] for name, own in table.items()} == pytest.approx(
        expected, rel=1e-4
    )
    assert table["accuracy"]["Constant"] == pytest.approx(1 - truth.mean(), rel=1e-4)


def test_accuracy_is_that_of_the_labels():
    """A vote may predict another label than the most probable one."""
    y = np.array(["a", "b"] * 10)
    shares = np.tile([0.9, 0.1], (20, 1))
    known = Predictions(y, y, np.array(["a", "b"]), shares)
    assert read_table(known)["accuracy"]["This model"] == 1.0


def test_labels_alone_have_fewer_scores():
    y = np.array(["a", "b"] * 10)
    known = Predictions(y, y[::-1], np.array(["a", "b"]))
    assert set(read_table(known)) == {"accuracy", "balanced accuracy"}


def test_intervals_end_at_perfect_scores(classes):
    for metric in list_metrics(MODEL, classes):
        score, low, high = score_rows(metric, classes)
        assert low <= score <= high
        assert low >= 0.0
        assert high <= (np.inf if metric.sign < 0 else 1.0)


def test_training_rows_have_a_column_and_give_the_constant(numbers):
    trained = Predictions(numbers.y + 3, numbers.y + 3)
    own = read_table(numbers, trained)["root mean squared error"]
    assert own["Training rows"] == 0.0
    gap = np.sqrt(np.mean((numbers.y - trained.y.mean()) ** 2))
    assert own["Constant"] == pytest.approx(gap, rel=1e-5)


def test_the_constant_of_classes_is_their_frequency(classes):
    shares = predict_constant(classes, np.array(["a", "a", "b", "a"]))
    assert shares.shape == (300, 2)
    assert shares[0].tolist() == [0.75, 0.25]
