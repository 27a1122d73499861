"""Leaderboards: intervals, order and differences."""

import numpy as np
import pytest
from scipy.stats import t

from sumwise.report import Comparison, Contender
from sumwise.report.leaderboard import (
    describe_leaderboard,
    estimate_interval,
    estimate_score,
    rank_contenders,
)

NAN = float("nan")


def compare(*contenders, greater=False):
    best = contenders[0].name
    return Comparison(
        "d", "regression", "RMSE", greater, np.zeros((3, 1)), np.arange(3), None, contenders, best
    )


def make(name, *scores, seconds=1.0, group=None):
    return Contender(name, scores, seconds, 0.1, None, group=group)


def test_the_interval_accounts_for_the_overlap_of_training_sets():
    scores = np.array([1.0, 2.0, 4.0, 5.0, 8.0])
    own = estimate_interval(scores)
    error = scores.std(ddof=1) * np.sqrt(1 / 5 + 1 / 4)
    assert own.mean == 4.0
    assert own.high == pytest.approx(4.0 + t.ppf(0.975, 4) * error)
    assert own.low == pytest.approx(4.0 - t.ppf(0.975, 4) * error)


def test_missing_folds_are_left_out():
    assert estimate_interval(np.array([1.0, NAN, 3.0])) == estimate_interval(np.array([1.0, 3.0]))
    assert estimate_interval(np.array([2.0]))[0] == 2.0
    assert np.isnan(estimate_interval(np.array([2.0]))[1])
    assert np.isnan(estimate_interval(np.array([NAN])).mean)


def test_intervals_end_at_perfect_scores():
    a = make("a", 0.1, 0.9)
    assert estimate_score(compare(a), a).low == 0.0
    assert estimate_score(compare(a), a).high > 1.0
    assert estimate_score(compare(a, greater=True), a).high == 1.0
    b = make("b", -1.0, 1.0)  # a score that may be negative
    assert estimate_score(compare(a, b), a).low < 0.0


@pytest.mark.parametrize(("greater", "order"), [(False, "abc"), (True, "bac")])
def test_the_best_is_first_and_those_without_scores_last(greater, order):
    comparison = compare(make("c", NAN), make("b", 2.0), make("a", 1.0), greater=greater)
    assert "".join(c.name for c in rank_contenders(comparison)) == order


def test_differences_are_of_the_same_folds():
    # A constant difference is certain, however much the folds differ.
    comparison = compare(make("a", 1.0, 5.0, 9.0), make("b", 2.0, 6.0, 10.0))
    (table, *_) = describe_leaderboard(comparison).blocks
    columns = table.to_dict()["columns"]
    assert columns["Behind the best"] == [None, 1.0]
    assert table.rows[1][3].text == "1.000 (1.000 to 1.000)"
    assert table.marked == 0


def test_families_have_colors_and_a_legend():
    comparison = compare(
        make("a", 1.0, group="trees"), make("b", 2.0), make("c", 3.0, group="trees")
    )
    table, figure, times, text = describe_leaderboard(comparison).blocks
    assert table.to_dict()["columns"]["Family"] == ["trees", "", "trees"]
    assert '<ul class="legend">' in figure.svg
    assert figure.svg.count('"dot s0"') == 2
    assert figure.svg.count('"dot s1"') == 1
    assert times.data["seconds"].tolist() == [1.0, 1.0, 1.0]
    assert "One fold has no interval" in text.text


def test_a_score_far_off_does_not_flatten_the_others():
    scores = [make(name, 1.0 + k / 10, 1.1 + k / 10) for k, name in enumerate("abcde")]
    figure = describe_leaderboard(compare(*scores, make("far", 1000.0, 1001.0))).blocks[1]
    assert "→" in figure.svg
    assert "arrows" in figure.caption
    assert figure.data["mean"][-1] == 1000.5  # the numbers stay
    ticks = describe_leaderboard(compare(*scores)).blocks[1].svg
    assert "→" not in ticks
