import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression, Ridge

from sumwise import StackingRegressor
from sumwise.cli.comparing.sharing import Memory, SharedMember

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))


class CountingRidge(Ridge):
    fits = 0

    def fit(self, X, y):
        CountingRidge.fits += 1
        return super().fit(X, y)


def test_clones_share_fits_and_predictions_on_the_same_rows():
    CountingRidge.fits = 0
    memory = Memory()
    member = SharedMember(CountingRidge(), "ridge", memory)
    first, second = clone(member).fit(X, X[:, 0]), clone(member).fit(X.copy(), X[:, 0])
    assert CountingRidge.fits == 1
    assert memory.saved_seconds > 0
    assert first.predict(X) is second.predict(X)
    other = clone(member).fit(X[:30], X[:30, 0])
    assert CountingRidge.fits == 2
    assert other.predict(X) is not first.predict(X)


def test_combinations_predict_as_without_sharing():
    y = X[:, 0] + RNG.normal(size=60)
    members = [("a", Ridge()), ("b", Ridge(100.0))]
    memory = Memory()
    shared = [(name, SharedMember(model, name, memory)) for name, model in members]
    expected = StackingRegressor(members).fit(X, y).predict(X)
    for _ in range(2):
        np.testing.assert_array_equal(StackingRegressor(shared).fit(X, y).predict(X), expected)


def test_members_are_of_the_kind_of_their_estimator():
    memory = Memory()
    classifier = SharedMember(LogisticRegression(), "c", memory).fit(X, X[:, 0] > 0)
    assert is_classifier(classifier)
    assert classifier.classes_.tolist() == [False, True]
    assert classifier.predict_proba(X).shape == (60, 2)
    assert is_regressor(SharedMember(Ridge(), "r", memory))


def test_saved_seconds_are_those_of_the_first_time(monkeypatch):
    times = iter([0.0, 2.5])
    monkeypatch.setattr("sumwise.cli.comparing.sharing.perf_counter", lambda: next(times))
    memory = Memory()
    assert [memory.recall("a", lambda: 7), memory.recall("a", lambda: 8)] == [7, 7]
    assert memory.saved_seconds == pytest.approx(2.5)
