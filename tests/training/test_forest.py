"""Trees that grow side by side, whatever the number of threads."""

import pytest

from sumwise.kernels.runtime.threads import Team
from sumwise.training.forest import divide, grow_side_by_side


@pytest.mark.parametrize("n_threads", [1, 3])
def test_numbers_are_grown_once_and_returned_in_order(n_threads):
    started, shown = [], []

    def start_thread():
        started.append(1)
        return lambda number: number * 10

    with Team(n_threads) as team:
        grown = grow_side_by_side(start_thread, 2, 9, team, [shown.append])
    assert grown == [20, 30, 40, 50, 60, 70, 80]
    assert len(started) == n_threads
    assert [state.round_number for state in shown] == [3, 4, 5, 6, 7, 8, 9]
    assert {state.n_rounds for state in shown} == {9}


def test_a_tree_that_fails_ends_the_others():
    def grow(number):
        if number == 3:
            raise RuntimeError("no tree")
        return number

    with Team(2) as team, pytest.raises(RuntimeError, match="no tree"):
        grow_side_by_side(lambda: grow, 0, 1000, team)


@pytest.mark.parametrize(
    ("numbers", "n_parts", "expected"),
    [
        (range(7), 3, [range(0, 2), range(2, 4), range(4, 7)]),
        (range(5, 8), 9, [range(5, 6), range(6, 7), range(7, 8)]),
        (range(4, 4), 3, []),
        (range(3), 1, [range(3)]),
    ],
)
def test_numbers_are_divided_evenly(numbers, n_parts, expected):
    assert divide(numbers, n_parts) == expected
