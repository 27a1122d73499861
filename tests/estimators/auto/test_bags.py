"""Fitted members: they predict on their own, as estimators of scikit-learn."""

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor

from sumwise.estimators.auto.bags import ClassifierBag, RegressorBag
from sumwise.estimators.auto.fold_fits import fit_fold
from sumwise.estimators.auto.portfolio import BY_NAME
from tests.estimators.auto.samples import make_classes, make_frame, make_terms, read


def make(name, is_class):
    X, y = make_classes() if is_class else make_frame()
    data = read(X, y, is_class=is_class)
    terms = make_terms(data)
    models = [fit_fold(terms, BY_NAME[name], fold, np.inf).model for fold in range(3)]
    kind = ClassifierBag if is_class else RegressorBag
    return kind(BY_NAME[name], models, data.make_reader(), data.classes), X, y


@pytest.mark.parametrize("name", ["leaf_quick", "symmetric_ordered", "forest", "linear"])
def test_a_classifier(name):
    bag, X, y = make(name, is_class=True)
    shares = bag.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert bag.classes_.tolist() == ["no", "yes"]
    assert bag.score(X, y) > 0.7
    assert is_classifier(bag)


@pytest.mark.parametrize("name", ["leaf_quick", "symmetric_ordered", "forest", "linear"])
def test_a_regressor(name):
    bag, X, y = make(name, is_class=False)
    assert bag.score(X, y) > 0.3
    assert is_regressor(bag)


def test_the_prediction_is_the_mean_of_the_models():
    bag, X, _ = make("leaf_quick", is_class=False)
    np.testing.assert_allclose(bag.predict(X), np.mean([m.predict(X) for m in bag.models], axis=0))


def test_importances_of_trees():
    bag, _, _ = make("leaf_quick", is_class=False)
    assert bag.find_importances().shape == (4,)
    assert bag.find_importances()[3] == 0.0  # the column without values
    assert make("linear", is_class=False)[0].find_importances() is None


def test_rounds_and_text():
    bag, _, _ = make("leaf_quick", is_class=False)
    assert bag.n_rounds == round(np.mean([m.best_iteration_ for m in bag.models]))
    assert repr(bag) == "RegressorBag('leaf_quick', 3 models)"
    assert make("linear", is_class=True)[0].n_rounds == 0
