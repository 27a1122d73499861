"""The automatic classifier: labels, probabilities, rare classes."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris

from sumwise import AutoEnsembleClassifier, member_predictions
from sumwise.errors import DataError
from tests.estimators.auto.samples import make_classes, make_frame

FEW = {
    "time_limit": None,
    "members": ["leaf_quick", "linear", "extra_trees"],
    "n_folds": 3,
    "n_repeats": 1,
    "random_state": 0,
    "n_jobs": 1,
}


def test_labels_and_probabilities():
    X, y = load_iris(return_X_y=True, as_frame=True)
    y = np.array(["setosa", "versicolor", "virginica"])[y]
    model = AutoEnsembleClassifier(**FEW).fit(X, y)
    shares = model.predict_proba(X)
    assert shares.shape == (150, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert model.score(X, y) > 0.95
    np.testing.assert_array_equal(model.predict(X), model.classes_[shares.argmax(axis=1)])
    np.testing.assert_array_equal(model.decision_function(X), np.log(shares))
    np.testing.assert_array_equal(model.predict_log_proba(X), np.log(shares))
    assert member_predictions(model, X).values.shape == (150, len(model.estimators_))


def test_decisions_for_two_classes():
    X, y = make_classes()
    model = AutoEnsembleClassifier(**FEW).fit(X, y)
    shares = model.predict_proba(X)
    np.testing.assert_allclose(model.decision_function(X), np.log(shares[:, 1] / shares[:, 0]))


def test_a_class_of_one_row():
    X, y = load_iris(return_X_y=True)
    y[0] = 7
    model = AutoEnsembleClassifier(**FEW).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2, 7]
    assert np.isnan(model.out_of_fold_[0]).all()
    assert not np.isnan(model.out_of_fold_[1:]).any()
    assert model.predict_proba(X[:1])[0, 3] > 0.005  # all models have seen it


def test_every_row_a_class_of_its_own():
    X, _ = make_frame(6)
    model = AutoEnsembleClassifier(**FEW).fit(X, np.arange(6))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_training_rows_of_one_class():
    """A class that is in one group is unknown to the models that predict it."""
    X, _ = make_frame()
    y, groups = np.repeat(["a", "b"], 60), np.repeat([0, 1], 60)
    model = AutoEnsembleClassifier(**FEW).fit(X, y, groups=groups)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_a_single_class():
    X, _ = make_frame(30)
    model = AutoEnsembleClassifier(time_limit=None, n_jobs=1).fit(X, np.full(30, "only"))
    assert (model.predict(X) == "only").all()
    assert model.predict_proba(X).tolist() == [[1.0]] * 30
    assert [entry.name for entry in model.leaderboard_] == ["ensemble", "leaf_quick"]


def test_sparse_rows():
    rng = np.random.default_rng(0)
    X = csr_matrix(rng.binomial(1, 0.2, (150, 20)) * rng.normal(size=(150, 20)))
    y = (X[:, 0].toarray() + X[:, 1].toarray() > 0).ravel()
    model = AutoEnsembleClassifier(**FEW).fit(X, y)
    assert model.score(X, y) > 0.8
    np.testing.assert_allclose(model.predict_proba(X.toarray()), model.predict_proba(X))


@pytest.mark.parametrize("metric", ["log_loss", "roc_auc", "accuracy", "balanced_accuracy"])
def test_metrics(metric):
    X, y = make_classes()
    model = AutoEnsembleClassifier(**FEW, metric=metric).fit(X, y)
    assert model.leaderboard_.metric == metric
    assert model.leaderboard_.greater_is_better == (metric != "log_loss")
    scores = [entry.score for entry in model.leaderboard_[1:]]
    assert scores == sorted(scores, reverse=metric != "log_loss")


def test_refit_needs_the_same_classes():
    X, y = make_classes()
    model = AutoEnsembleClassifier(**FEW).fit(X, y)
    with pytest.raises(DataError, match="y has the classes"):
        model.refit(X, np.where(y == "no", "never", y))


def test_numbers_are_no_classes():
    X, y = make_frame()
    with pytest.raises(ValueError, match="continuous"):
        AutoEnsembleClassifier(**FEW).fit(X, y)
