from itertools import product

import numpy as np
import pytest

from sumwise.combine.vote import (
    REJECTED,
    break_ties_by_confidence,
    break_ties_by_hash,
    find_ties,
    measure_accuracy,
    report_rejects,
    share_labels,
    share_probabilities,
    vote_by_majority,
)


@pytest.mark.parametrize(("n_members", "n_classes"), [(1, 2), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_majority_by_enumeration(n_members, n_classes):
    labels = np.array(list(product(range(n_classes), repeat=n_members))).T
    decided = vote_by_majority(share_labels(labels, n_classes))
    for votes, winner in zip(labels.T, decided, strict=True):
        counts = np.bincount(votes, minlength=n_classes)
        expected = [k for k in range(n_classes) if 2 * counts[k] > n_members]
        assert winner == (expected[0] if expected else REJECTED)


def test_half_of_the_weights_is_no_majority():
    weights = np.array([0.1, 0.2, 0.3])  # 0.1 + 0.2 is not 0.3 in floats
    shares = share_labels(np.array([[0], [0], [1]]), 2, weights)
    assert vote_by_majority(shares)[0] == REJECTED
    assert find_ties(shares).all()


def test_shares_are_normalized():
    labels = np.array([[0, 1], [1, 1], [2, 1]])
    shares = share_labels(labels, 3, np.array([2.0, 1.0, 1.0]))
    np.testing.assert_array_equal(shares, [[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]])
    probabilities = np.array([[[0.5, 0.5]], [[0.5, 0.5]], [[0.25, 0.75]]])
    np.testing.assert_allclose(share_probabilities(probabilities), [[1.25 / 3, 1.75 / 3]])


def test_random_ties_are_fair_and_depend_on_key_and_seed_alone():
    is_tied = np.tile([True, False, True, True], (6000, 1))
    keys = np.arange(6000, dtype=np.uint64)
    chosen = break_ties_by_hash(is_tied, keys, seed=7)
    counts = np.bincount(chosen, minlength=4)
    assert counts[1] == 0
    assert np.abs(counts[[0, 2, 3]] - 2000).max() < 200
    some = np.array([17, 3, 5999])
    np.testing.assert_array_equal(break_ties_by_hash(is_tied[some], keys[some], 7), chosen[some])
    assert (break_ties_by_hash(is_tied, keys, seed=8) != chosen).mean() > 0.5


def test_confidence_breaks_ties_among_tied_classes_only():
    is_tied = np.array([[True, True, False], [True, True, False]])
    confidence = np.array([[0.2, 0.3, 0.5], [0.4, 0.4, 0.2]])
    np.testing.assert_array_equal(break_ties_by_confidence(is_tied, confidence), [1, 0])


def test_report_of_rejects():
    decided = np.array([0, 1, REJECTED, 1])
    report = report_rejects(decided, np.array([0, 0, 1, 1]))
    assert report == (0.75, 2 / 3, 1)
    weighted = report_rejects(decided, np.array([0, 0, 1, 1]), np.array([1.0, 0.0, 2.0, 1.0]))
    assert weighted == (0.5, 1.0, 1)
    nothing = report_rejects(np.array([REJECTED]), np.array([0]))
    assert nothing.coverage == 0.0
    assert np.isnan(nothing.accuracy)


def test_accuracy_by_member():
    labels = np.array([[0, 1, 1], [0, 0, 0]])
    np.testing.assert_allclose(measure_accuracy(labels, np.array([0, 1, 0])), [2 / 3, 2 / 3])
    weight = np.array([1.0, 1.0, 2.0])
    np.testing.assert_allclose(measure_accuracy(labels, np.array([0, 1, 0]), weight), [0.5, 0.75])
