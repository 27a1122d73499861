"""Early stopping: the best round, and when to give up."""

import math

import numpy as np
import pytest

from sumwise.errors import TrainingError
from sumwise.training.stopping import OOB, EarlyStopping


def rounds_until_stop(losses, patience):
    stopping = EarlyStopping(patience)
    for n_rounds, loss in enumerate(losses, start=1):
        if stopping.should_stop(n_rounds, loss):
            return n_rounds, stopping
    return None, stopping


def test_stops_after_patience_rounds_without_a_new_best():
    stopped, stopping = rounds_until_stop([5, 4, 3, 3.5, 3.2, 3.1, 2], patience=3)
    assert stopped == 6
    assert (stopping.best_round, stopping.best_score) == (3, 3)


def test_a_new_best_starts_the_count_again():
    stopped, stopping = rounds_until_stop([5, 6, 4, 6, 3, 6, 6], patience=2)
    assert stopped == 7
    assert stopping.best_round == 5


def test_an_equal_loss_is_no_new_best():
    stopped, stopping = rounds_until_stop([1.0] * 10, patience=4)
    assert stopped == 5
    assert stopping.best_round == 1


def test_goes_on_while_it_gets_better():
    stopped, stopping = rounds_until_stop([1 / n for n in range(1, 50)], patience=1)
    assert stopped is None
    assert stopping.best_round == 49


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_is_an_error(loss):
    stopping = EarlyStopping(3)
    stopping.should_stop(1, 0.5)
    with pytest.raises(TrainingError, match="lower learning_rate"):
        stopping.should_stop(2, loss)


def test_a_score_should_be_high():
    stopping = EarlyStopping(2, watched="validation_score")
    answers = [stopping.should_stop(n, score) for n, score in enumerate([1, 3, 2, 3], start=1)]
    assert answers == [False, False, False, True]
    assert (stopping.best_round, stopping.best_score) == (2, 3)


@pytest.mark.parametrize(
    ("watched", "scores"),
    [("validation_loss", [4, 3.5, 2.9, 2.5]), ("validation_score", [1, 1.5, 2.1, 2.5])],
)
def test_small_improvements_are_none(watched, scores):
    stopping = EarlyStopping(9, tol=1.0, watched=watched)
    for n_rounds, score in enumerate(scores, start=1):
        stopping.should_stop(n_rounds, score)
    assert stopping.best_round == 3
    assert stopping.best_score == scores[2]


def test_a_score_that_is_not_finite_is_an_error():
    stopping = EarlyStopping(3, watched="validation_score")
    with pytest.raises(TrainingError, match="choose another scoring"):
        stopping.should_stop(1, math.nan)


def test_old_rounds_on_the_same_rows_count():
    stopping = EarlyStopping(3)
    assert not stopping.resume([5.0, 3.0, 4.0], np.array([5.0, 3.0, 4.0, 7.0]))
    assert stopping.best_round == 2
    assert not stopping.should_stop(4, 3.5)
    assert stopping.should_stop(5, 3.5)


def test_old_rounds_on_the_same_rows_may_be_enough():
    stopping = EarlyStopping(2)
    assert stopping.resume([5.0, 3.0, 4.0, 4.0, 1.0], [5.0, 3.0, 4.0, 4.0, 1.0])
    assert stopping.best_round == 2


@pytest.mark.parametrize("recorded", [[], [5.0, 3.0], [5.0, 3.0, 4.5]])
def test_old_rounds_on_other_rows_are_given(recorded):
    stopping = EarlyStopping(1)
    assert not stopping.resume([5.0, 3.0, 4.0], recorded)
    assert (stopping.best_round, stopping.best_score) == (3, 4.0)


def test_improvements_add_up():
    stopping = EarlyStopping(2, watched=OOB)
    improvements = [0.5, -0.1, 0.3, -0.2, 0.1]
    assert [stopping.should_stop(k + 1, each) for k, each in enumerate(improvements)] == [
        False,
        False,
        False,
        False,
        True,
    ]
    assert stopping.best_round == 3
    assert stopping.best_score == pytest.approx(0.7)
    paused = EarlyStopping(2, watched=OOB)
    assert not paused.resume(improvements[:2], improvements[:2])
    assert paused.best_round == 1
