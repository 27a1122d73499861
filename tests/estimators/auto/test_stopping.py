"""Early stopping: each half of the held-out rows is predicted with the other's best round."""

from types import SimpleNamespace

import numpy as np

from sumwise.estimators.auto.stopping import StopWhenStale, choose_rounds, halve_rows


def state(number, first, second):
    return SimpleNamespace(round_number=number, scores={"first_loss": first, "second_loss": second})


def test_halves_have_alternate_rows():
    rows = np.arange(5, 26)
    halves = halve_rows(rows, None)
    assert halves["first"].tolist() == rows[::2].tolist()
    assert halves["second"].tolist() == rows[1::2].tolist()


def test_too_few_rows_have_no_halves():
    assert halve_rows(np.arange(19), None) == {}


def test_groups_are_in_one_half():
    groups = np.repeat(np.arange(8), 5)
    halves = halve_rows(np.arange(40), groups)
    assert set(groups[halves["first"]]) == {0, 2, 4, 6}
    assert set(groups[halves["second"]]) == {1, 3, 5, 7}
    assert halve_rows(np.arange(40), np.zeros(40))["first"].size == 20


def test_rounds_for_a_half_do_not_depend_on_its_own_loss():
    shares = {"first": 0.5, "second": 0.5}
    losses = {
        "first_loss": np.array([3.0, 2.0, 1.0, 2.0]),
        "second_loss": np.array([1.0, 0.5, 2.0, 3.0]),
    }
    best, by_half = choose_rounds(losses, shares)
    assert best == 2
    assert by_half == {"first": 2, "second": 3}
    losses["first_loss"] = np.array([0.0, 2.0, 1.0, 2.0])
    assert choose_rounds(losses, shares)[1]["first"] == 2
    assert choose_rounds(losses, shares)[1]["second"] == 1


def test_training_ends_when_the_loss_of_both_is_stale():
    stop = StopWhenStale({"first": 0.5, "second": 0.5}, 2, lambda: False)
    losses = [(3, 1), (2, 1), (3, 1), (1, 1), (2, 2), (1, 2)]
    answers = [stop(state(k + 1, *pair)) for k, pair in enumerate(losses)]
    assert answers == [False, False, False, False, False, True]
    assert not stop.was_cut


def test_training_ends_when_it_must():
    stop = StopWhenStale({}, 2, lambda: True)
    assert stop(state(1, 0.0, 0.0))
    assert stop.was_cut
    watching = StopWhenStale({}, 2, lambda: False)
    assert not any(watching(state(k, 1.0, 1.0)) for k in range(1, 50))
