"""Early stopping: the best round, and when to give up."""

import math

import pytest

from sumwise.errors import TrainingError
from sumwise.training.stopping import EarlyStopping


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
