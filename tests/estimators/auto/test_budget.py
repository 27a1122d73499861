"""Budget: what is left, and what fits into it."""

import math

from sumwise.estimators.auto.budget import Budget
from tests.estimators.auto.samples import FakeClock


def test_a_part_is_left_for_combining_and_for_refits():
    clock = FakeClock()
    budget = Budget(100.0, clock)
    assert budget.remaining == 95.0
    clock.now, budget.reserved = 30.0, 5.0
    assert (budget.elapsed, budget.remaining) == (30.0, 60.0)
    clock.now = 99.0
    assert (budget.remaining, budget.is_over) == (0.0, False)
    clock.now = 100.0
    assert budget.is_over


def test_without_a_limit_everything_is_allowed():
    budget = Budget(None, FakeClock())
    assert not budget.is_limited
    assert budget.share_out(5) == math.inf
    assert budget.allows("boosting", 10**9, measured=1e9)


def test_steps_share_what_is_left_and_the_first_member_does_not_take_all():
    budget = Budget(100.0, FakeClock())
    assert budget.share_out(5) == 19.0
    assert budget.share_out(5, is_first=True) == 0.6 * 19.0


def test_a_member_is_allowed_if_its_steps_would_end_in_time():
    budget = Budget(100.0, FakeClock())
    assert budget.allows("boosting", 1000)  # nothing is known
    for seconds in (10.0, 20.0, 30.0):
        budget.learn("boosting", seconds)
    assert budget.allows("boosting", 4)
    assert not budget.allows("boosting", 5)
    assert budget.allows("forest", 5)
    assert budget.allows("boosting", 5, measured=19.0)
    assert not budget.allows("boosting", 5, measured=19.1)


def test_nothing_is_allowed_after_the_end():
    clock = FakeClock()
    budget = Budget(10.0, clock)
    clock.now = 9.6
    assert not budget.allows("linear", 1)
