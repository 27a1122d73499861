"""Named tuples by reference, and verbs called by address."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from sumwise.kernels.runtime.arguments import TupleMemory
from sumwise.kernels.runtime.jit import AbortError, kernel, routine, verb
from sumwise.kernels.runtime.reference import call_verb, item, refer


class Work(NamedTuple):
    total: Any
    weight: Any


class Task(NamedTuple):
    thread: int
    work: Work
    is_doubled: bool
    verbs: Any


@verb
def add(task, place, amount):
    if place == 4:
        raise AbortError
    task.work.total[place] += amount
    return task.work.total[place] + task.thread


@verb
def count(task):
    return np.int64(task.work.weight.size)


@routine
def add_once(task, place):
    work, factor = task.work, 2 if task.is_doubled else 1
    return call_verb(task.verbs[0], task, (place, factor * np.int32(5))) + work.weight.size


@kernel
def run(thread, work, is_doubled, verbs, n_places):
    task = refer(Task(thread, work, is_doubled, verbs))
    found = 0
    for place in range(n_places):
        found += add_once(task, place)
    return found, call_verb(verbs[1], task, ())


def describe(task):
    return TupleMemory(task, 1).reference


def make_task():
    work, verbs = Work(np.zeros(5, dtype=np.int64), np.zeros(7)), np.zeros(2, dtype=np.int64)
    reference = describe(Task(0, work, False, verbs))
    verbs[:] = add.find_address(reference), count.find_address(reference)
    return work, verbs, reference


def test_attributes_and_verbs():
    work, verbs, _ = make_task()
    # three places: 10 + the thread's 2 + 7 weights
    assert run(2, work, True, verbs, 3) == (57, 7)
    assert work.total.tolist() == [10, 10, 10, 0, 0]


def test_an_error_in_a_verb_ends_the_kernel():
    work, verbs, _ = make_task()
    with pytest.raises(AbortError):
        run(0, work, False, verbs, 5)
    assert work.total.tolist() == [5, 5, 5, 5, 0]


def test_layouts_have_numbers_of_their_own():
    work, verbs, reference = make_task()
    assert describe(Task(0, work, False, verbs)) == reference
    wider = Work(np.zeros(5, dtype=np.int32), np.zeros(7))
    other = describe(Task(0, wider, False, verbs))
    assert other != reference
    assert add.find_address(other) != add.find_address(reference)
    assert add.find_address(reference) == verbs[0]


def test_an_unknown_attribute_is_a_compile_error():
    @verb
    def look_for_nothing(task):
        return task.nothing

    with pytest.raises(Exception, match="nothing"):
        look_for_nothing.find_address(make_task()[2])


@kernel
def set_threads(tasks, n_tasks, weight):
    """Give each of several stored tasks its number and new weights; count them by a verb."""
    found = 0
    for i in range(n_tasks):
        task = item(tasks, i)
        task.thread = i
        task.work.weight = weight
        found += call_verb(task.verbs[0], task, (i, np.int64(1)))
        found += call_verb(task.verbs[1], task, ())
    return found


def test_stored_tuples_are_passed_by_reference():
    work, verbs, _ = make_task()
    tasks = TupleMemory(Task(0, work, False, verbs), 3)
    # each place gets 1, and returns it with the thread's number; then 5 weights each
    assert set_threads(tasks, 3, np.zeros(5)) == 3 * 1 + (0 + 1 + 2) + 3 * 5
    assert work.total.tolist() == [1, 1, 1, 0, 0]
    tasks.replace(work=Work(np.zeros(5, dtype=np.int64), np.zeros(2)))
    assert set_threads(tasks, 3, np.zeros(5)) == 21
    assert work.total.tolist() == [1, 1, 1, 0, 0]


def test_other_types_are_refused():
    work, verbs, _ = make_task()
    tasks = TupleMemory(Task(0, work, False, verbs), 1)
    for array in (np.zeros(5), np.zeros((5, 1), dtype=np.int64), np.zeros(9, dtype=np.int64)[::2]):
        with pytest.raises(TypeError, match="work has other types"):
            tasks.replace(work=Work(array, work.weight))
