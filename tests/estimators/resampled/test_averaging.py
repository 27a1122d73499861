"""Means of what members predict."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from sumwise.errors import DataError
from sumwise.estimators.resampled.averaging import (
    MEMBERS_PER_BLOCK,
    NumberedMember,
    average_members,
    average_out_of_bag,
    read_votes,
)

X = np.arange(12.0).reshape(4, 3)


class Sum(BaseEstimator):
    """Adds up the features of a row."""

    def predict(self, X):
        return X.sum(axis=1)


def read(member, X):
    return member.predict(X)


def make_members(n_members):
    return [NumberedMember(k, Sum(), np.array([k % 3])) for k in range(n_members)]


@pytest.mark.parametrize("n_members", [1, MEMBERS_PER_BLOCK, 2 * MEMBERS_PER_BLOCK + 1])
def test_means_of_features(n_members):
    mean = average_members(make_members(n_members), X, read, None, 0)
    np.testing.assert_allclose(mean, X[:, np.arange(n_members) % 3].mean(axis=1))


def test_members_predict_their_out_of_bag_rows_only():
    bags = {0: [0], 1: [0, 1], 2: [], 3: [0, 1], 4: [0]}
    found = average_out_of_bag(
        make_members(5), X, read, lambda k: np.array(bags[k], dtype=np.intp), (), 4, None, 0
    )
    assert found.is_covered.tolist() == [True, True, False, False]
    assert found.values[:2].tolist() == [np.mean([0, 1, 0, 1]), np.mean([4, 3])]
    assert np.isnan(found.values[2:]).all()


class Partial(BaseEstimator):
    """Has seen the last two of three classes."""

    classes_ = np.array([1, 2])

    def predict(self, X):
        return np.full(len(X), 2)

    def predict_proba(self, X):
        return np.tile([0.25, 0.75], (len(X), 1))


def test_votes_for_classes_that_a_member_has_not_seen():
    assert read_votes(Partial(), X[:1], "predict", {}, 3).tolist() == [[0, 0, 1]]
    assert read_votes(Partial(), X[:1], "predict_proba", {}, 3).tolist() == [[0, 0.25, 0.75]]
    with pytest.raises(DataError, match="seen 2 of 3 classes"):
        read_votes(Partial(), X, "decision_function", {}, 3)
