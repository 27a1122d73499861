import os
import time

import pytest

from benchmarks.pinned import call_all, share_cpus

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="CPUs of a process can be set on Linux only"
)


def test_processes_have_cpus_of_their_own_as_long_as_there_are_enough():
    assert share_cpus([4, 5, 6, 7], 2, 2) == [[4, 5], [6, 7]]
    assert share_cpus([4, 5], 3, 2) == [[4, 5], [4, 5], [4, 5]]


def test_each_call_ends_in_its_own_way():
    arguments = [(0,), ("not a number",), (30,)]
    found = dict(call_all(time.sleep, arguments, 3, 1, [60.0, 60.0, 2.0]))
    assert found[0] == (None, "")
    assert found[1].error.startswith("TypeError: ")
    assert found[2].error == "killed after 2 s"


def test_calls_are_pinned_and_a_dead_one_is_reported():
    cpus = set(os.sched_getaffinity(0))
    found = dict(call_all(os.sched_getaffinity, [(0,)], 1, 1, [60.0]))
    assert len(found[0].value) == 1
    assert found[0].value <= cpus
    assert set(os.sched_getaffinity(0)) == cpus
    found = dict(call_all(os._exit, [(3,)], 1, 1, [60.0]))
    assert found[0].error == "ended without an answer, exit code 3"
