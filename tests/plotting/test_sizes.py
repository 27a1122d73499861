"""Errors of votes against the number of learners."""

from collections import Counter

import numpy as np
import pytest

from sumwise.errors import ParameterError
from sumwise.plotting import ensemble_sizes, plot_ensemble_sizes
from sumwise.theory import hoeffding_bound, majority_vote_error


def is_right(votes, truth):
    counts = Counter(votes)
    own = counts.pop(truth, 0)
    return own > max(counts.values(), default=0)


@pytest.mark.parametrize("n_labels", [2, 4])
def test_votes_are_counted(n_labels):
    rng = np.random.default_rng(0)
    predictions, y = rng.integers(n_labels, size=(25, 6)), rng.integers(n_labels, size=25)
    weight = rng.uniform(size=25)
    data = ensemble_sizes(predictions, y, sample_weight=weight)
    for t in range(1, 7):
        wrong = [not is_right(row[:t].tolist(), truth) for row, truth in zip(predictions, y)]  # noqa: B905
        assert data.error[t - 1] == pytest.approx(np.average(wrong, weights=weight))
    mean_error = np.average((predictions != y[:, None]).mean(axis=1), weights=weight)
    assert data.mean_error == pytest.approx(mean_error)


def test_independent_learners_follow_the_theory():
    rng = np.random.default_rng(0)
    wrong = rng.random((20_000, 15)) < 0.3
    data = ensemble_sizes(wrong, np.zeros(20_000, dtype=bool))
    np.testing.assert_allclose(data.error, data.independent_error, atol=0.02)
    np.testing.assert_array_equal(
        data.independent_error, majority_vote_error(data.n_learners, data.mean_error)
    )
    np.testing.assert_array_equal(data.bound, hoeffding_bound(data.n_learners, data.mean_error))


def test_curves_are_drawn():
    predictions = np.random.default_rng(0).random((50, 4)) < 0.3
    data = ensemble_sizes(predictions, np.zeros(50, dtype=bool))
    ax = plot_ensemble_sizes(data)
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["this ensemble", "independent learners", "Hoeffding bound"]
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), data.error)


def test_bad_learners_have_no_bound():
    data = ensemble_sizes([[1, 1, 0], [1, 1, 1]], [0, 0])
    assert data.bound is None
    assert len(plot_ensemble_sizes(data).get_legend().get_texts()) == 2
    with pytest.raises(ParameterError, match="needs y"):
        ensemble_sizes([[0, 1]], None)
