import numpy as np
import pytest
from sklearn import metrics as known
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from sumwise.cli.comparing.scores import METRICS, predict

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 2))
Y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + RNG.normal(size=90), [-0.5, 0.5])]
CLASSES = np.unique(Y)


def test_probabilities_are_rated():
    model = GaussianNB().fit(X, Y)
    found = predict(model, X, CLASSES)
    rates = {
        name: metric.rate(Y, found, CLASSES) for name, metric in METRICS["classification"].items()
    }
    probabilities = model.predict_proba(X)
    assert rates["log_loss"] == pytest.approx(known.log_loss(Y, probabilities))
    expected = known.roc_auc_score(Y, probabilities, multi_class="ovr")
    assert rates["roc_auc"] == pytest.approx(expected)
    assert rates["accuracy"] == model.score(X, Y)


def test_two_classes():
    pair = Y != "c"
    model = GaussianNB().fit(X[pair], Y[pair])
    found = predict(model, X[pair], CLASSES[:2])
    expected = known.roc_auc_score(Y[pair], model.predict_proba(X[pair])[:, 1])
    assert METRICS["classification"]["roc_auc"].rate(Y[pair], found, CLASSES[:2]) == expected


def test_unseen_classes_have_probability_zero():
    model = GaussianNB().fit(X[Y != "b"], Y[Y != "b"])
    found = predict(model, X, CLASSES)
    assert found.probabilities.shape == (90, 3)
    assert (found.probabilities[:, 1] == 0).all()


def test_models_without_probabilities_have_no_score_of_them():
    found = predict(LinearSVC().fit(X, Y), X, CLASSES)
    assert found.probabilities is None
    assert np.isnan(METRICS["classification"]["log_loss"].rate(Y, found, CLASSES))
