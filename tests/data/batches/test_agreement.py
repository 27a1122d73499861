"""Errors of one peer are errors of all."""

import pytest

from sumwise.data.batches.agreement import agree, do_alike
from sumwise.errors import DataError, MemoryLimitError, TrainingError
from tests.threaded_peers import run_together


class Picky(Exception):  # noqa: N818
    """An error that cannot be made of its arguments."""

    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


def fail(error):
    raise error


def test_results_by_rank():
    every = run_together(3, lambda peers: agree(peers, lambda: peers.rank))
    assert every == [[0, 1, 2]] * 3
    assert run_together(3, lambda peers: do_alike(peers, lambda: peers.rank)) == [0, 1, 2]


@pytest.mark.parametrize("work_together", [agree, do_alike])
@pytest.mark.parametrize("error", [DataError("bad"), MemoryLimitError("bad"), KeyError("bad")])
def test_all_raise_the_first_error(work_together, error):
    raised = []

    def work(peers):
        own = error if peers.rank == 1 else ValueError("later")
        try:
            work_together(peers, lambda: fail(own) if peers.rank else 0)
        except Exception as found:
            raised.append(found)

    run_together(3, work)
    assert [(type(found), found.args) for found in raised] == [(type(error), ("bad",))] * 3


def test_an_error_with_what_cannot_be_sent_is_sent_without():
    error = DataError("bad")
    error.lock = lambda: None
    with pytest.raises(DataError, match="bad"):
        run_together(2, lambda peers: do_alike(peers, lambda: fail(error)))


def test_the_text_is_sent_at_least():
    with pytest.raises(TrainingError, match="Picky: one and two"):
        run_together(2, lambda peers: do_alike(peers, lambda: fail(Picky("one", "two"))))
