"""Attributes that are computed when they are first asked for."""

import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from sumwise.lazy import lazy


class Slow:
    """Counts how often its attribute is computed, and can be made to wait for it."""

    def __init__(self, go_on=None):
        self.count = 0
        self.begun, self.go_on = threading.Event(), go_on

    @lazy
    def answer(self):
        """The answer."""
        self.count += 1
        self.begun.set()
        if self.go_on is not None:
            assert self.go_on.wait(60)
        return 42


class Plain:
    @lazy
    def answer(self):
        return [42]


def test_computed_once_and_kept():
    slow = Slow()
    assert [slow.answer, slow.answer, slow.count] == [42, 42, 1]
    assert Slow.answer.__doc__ == "The answer."
    plain = Plain()
    plain.answer.append(1)
    assert pickle.loads(pickle.dumps(plain)).answer == [42, 1]
    del plain.answer
    assert plain.answer == [42]


def test_objects_do_not_wait_for_each_other():
    go_on = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        slow = Slow(go_on)
        waiting = pool.submit(lambda: slow.answer)
        assert slow.begun.wait(60)
        assert Slow().answer == 42
        go_on.set()
        assert waiting.result(60) == 42


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_waits_for_nobody():
    """While a thread of the parent computes, which the child does not have."""
    go_on = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        slow = Slow(go_on)
        waiting = pool.submit(lambda: slow.answer)
        assert slow.begun.wait(60)
        child = os.fork()
        if child == 0:
            threading.Timer(60, os._exit, [1]).start()  # a child that hangs is a failure
            os._exit(0 if Slow().answer == 42 else 1)
        _, status = os.waitpid(child, 0)
        go_on.set()
        assert waiting.result(60) == 42
    assert status == 0
