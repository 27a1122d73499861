"""Kernels become object files: what is passed, what is returned, what can be seen."""

from typing import NamedTuple

import llvmlite.binding as llvm
import numpy as np
import pytest
from numba import types

from sumwise.kernels.runtime import compiling
from sumwise.kernels.runtime.arguments import find_kind
from sumwise.kernels.runtime.compiling import compile_to_object, to_type
from sumwise.kernels.runtime.jit import AbortError, kernel

pytestmark = pytest.mark.usefixtures("own_cache")


class Pair(NamedTuple):
    """A named tuple that kernels take."""

    numbers: np.ndarray
    factor: float


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, types.int64),
        (np.uint64(3), types.uint64),
        (0.5, types.float64),
        (True, types.boolean),
        (np.zeros(3), types.Array(types.float64, 1, "C")),
        (np.zeros((2, 3), dtype=np.uint8), types.Array(types.uint8, 2, "C")),
        (np.zeros((4, 3))[::2], types.Array(types.float64, 2, "A", aligned=False)),
        ((1, 0.5), types.Tuple((types.int64, types.float64))),
    ],
)
def test_types_of_arguments(value, expected):
    assert to_type(find_kind(value)) == expected


def test_a_named_tuple_keeps_its_class():
    kind = to_type(find_kind(Pair(np.zeros(2), 1.0)))
    assert kind.instance_class is Pair
    assert kind.fields == Pair._fields


MODULE = """
@number = global i64 3
declare i64 @outside(i64)
define i64 @routine(i64 %x) {
  ret i64 %x
}
define i64 @symbol(i64 %x) {
  %y = call i64 @routine(i64 %x)
  ret i64 %y
}
"""


def test_only_the_symbol_can_be_seen():
    """Two kernels may have routines of one name."""
    module = llvm.parse_assembly(MODULE)
    compiling._hide_all_but(module, ("symbol",))
    seen = {value.name: value.linkage.name for value in module.functions}
    assert seen == {"outside": "external", "routine": "internal", "symbol": "external"}
    assert [value.linkage.name for value in module.global_variables] == ["internal"]


def test_an_object_file_has_the_symbol():
    def add(x, y):
        return x + y

    code = compile_to_object(add, ("int64", "int64"), "the_symbol", False)
    assert b"the_symbol\0" in code
    assert b"the_symbol_result\0" in code
    verb = compile_to_object(add, ("int64", "int64"), "other", True)
    assert b"other\0" in verb
    assert b"other_result\0" not in verb


def test_results_of_every_kind():
    @kernel
    def return_all(x):
        return np.int8(-x), np.uint8(x), x > 1, 0.5 * x

    assert return_all(3) == (-3, 3, True, 1.5)
    assert type(return_all(3)[2]) is bool


def test_arrays_are_read_where_they_are():
    @kernel
    def scale(pair, out):
        for i in range(out.shape[0]):
            for j in range(out.shape[1]):
                out[i, j] = pair.factor * pair.numbers[i, j]

    numbers = np.arange(24.0).reshape(4, 6)
    for own in (numbers, numbers[::2, ::3], numbers.T):
        out = np.zeros(own.shape)
        scale(Pair(own, 2.0), out)
        np.testing.assert_array_equal(out, 2.0 * own)
    assert len(scale.signatures) == 2  # plain and strided


def test_a_division_by_zero_is_a_number():
    @kernel
    def divide(x, y):
        return x / y

    assert divide(1.0, 0.0) == np.inf
    assert np.isnan(divide(0.0, 0.0))


def test_an_error_in_a_kernel_ends_the_call():
    @kernel
    def refuse(x):
        if x > 1:
            raise ValueError
        return x

    assert refuse(1) == 1
    with pytest.raises(AbortError):
        refuse(2)


def test_code_is_for_any_address():
    machine = compiling._get_target_machine()
    assert machine is compiling._get_target_machine()
    assert machine.triple == llvm.get_process_triple()
