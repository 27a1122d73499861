"""Named tuples by reference, and verbs called by address."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.reference import (
    call_verb,
    describe,
    find_address,
    layout_number,
    refer,
    verb,
)


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
        raise ValueError("no such place")
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
    return found, call_verb(verbs[1], task, ()), layout_number(task)


def make_task():
    work, verbs = Work(np.zeros(5, dtype=np.int64), np.zeros(7)), np.zeros(2, dtype=np.int64)
    reference = describe((0, work, False, verbs), Task)
    verbs[:] = find_address(add, reference), find_address(count, reference)
    return work, verbs, reference


def test_attributes_and_verbs():
    work, verbs, reference = make_task()
    # three places: 10 + the thread's 2 + 7 weights
    assert run(2, work, True, verbs, 3) == (57, 7, reference.number)
    assert work.total.tolist() == [10, 10, 10, 0, 0]


def test_an_error_in_a_verb_ends_the_kernel():
    work, verbs, _ = make_task()
    with pytest.raises(ValueError, match="no such place"):
        run(0, work, False, verbs, 5)
    assert work.total.tolist() == [5, 5, 5, 5, 0]


def test_layouts_have_numbers_of_their_own():
    work, verbs, reference = make_task()
    assert describe((0, work, False, verbs), Task) == reference
    wider = Work(np.zeros(5, dtype=np.int32), np.zeros(7))
    other = describe((0, wider, False, verbs), Task)
    assert other.number != reference.number
    assert find_address(add, other) != find_address(add, reference)
    assert find_address(add, reference) == verbs[0]


def test_an_unknown_attribute_is_a_compile_error():
    @verb
    def look_for_nothing(task):
        return task.nothing

    with pytest.raises(Exception, match="nothing"):
        find_address(look_for_nothing, make_task()[2])
