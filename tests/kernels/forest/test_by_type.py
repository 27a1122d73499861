"""Routines that are chosen by the type of a named tuple."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from sumwise.kernels.forest.by_type import choose_by_type
from sumwise.kernels.runtime.jit import kernel, routine


class Ones(NamedTuple):
    items: Any


class Twos(NamedTuple):
    items: Any


@routine
def add_one(target, place):
    return target.items[place] + 1


@routine
def add_two(target, place):
    return target.items[place] + 2


add = choose_by_type("add_to_item", {Ones: add_one, Twos: add_two})


@kernel
def run(target, place):
    return add(target, place)


def test_the_type_chooses():
    items = np.array([10, 20])
    assert run(Ones(items), 1) == 21
    assert run(Twos(items), 0) == 12


def test_not_for_python():
    with pytest.raises(TypeError, match="add_to_item is called from kernels only"):
        add(Ones(np.array([1])), 0)
