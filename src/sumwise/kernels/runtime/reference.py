"""Named tuples by reference, and routines that are compiled on their own and called by address.

A kernel gets dozens of arrays in nested named tuples. Passed by value, each array is seven words of
each call, and compiling that takes most of the time. A :class:`Reference` is one word: it is passed
instead, and an attribute is loaded where it is read.

A *verb* takes such a reference and integers, and returns an integer. It is compiled and cached
apart from its callers, which call it by its address: so one grower serves every kind of table, and
a fit compiles only the verbs that its table needs.
"""

import hashlib
import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    models,
    register_model,
    unbox,
)

from sumwise.kernels.runtime.cache import spell_out
from sumwise.kernels.runtime.jit import export


class Reference(types.Type):
    """The type of a reference to a named tuple; named after all that its layout depends on."""

    def __init__(self, target: types.NamedTuple) -> None:
        self.target = target
        digest = hashlib.sha256(repr(spell_out(target)).encode()).digest()
        self.number = int.from_bytes(digest[:8], "little", signed=True)
        super().__init__(f"Reference_{target.instance_class.__name__}_{digest[:8].hex()}")


@register_model(Reference)
class _ReferenceModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Reference) -> None:
        target = manager.lookup(kind.target).get_value_type()
        super().__init__(manager, kind, target.as_pointer())


@unbox(Reference)
def _unbox_address(kind, obj, context):
    """Python has no references: who calls a verb from there gives an address."""
    address = context.pyapi.long_as_voidptr(obj)
    pointer = context.builder.bitcast(address, context.context.get_value_type(kind))
    return NativeValue(
        pointer, is_error=cgutils.is_not_null(context.builder, context.pyapi.err_occurred())
    )


@infer_getattr
class _ReferenceAttributes(AttributeTemplate):
    key = Reference

    def generic_resolve(self, kind: Reference, name: str) -> Any:
        if name not in kind.target.fields:
            return None
        field = kind.target[kind.target.fields.index(name)]
        return Reference(field) if isinstance(field, types.NamedTuple) else field


@lower_getattr_generic(Reference)
def _load_attribute(context, builder, kind, value, name):
    place = kind.target.fields.index(name)
    pointer = cgutils.gep_inbounds(builder, value, 0, place)
    if isinstance(kind.target[place], types.NamedTuple):
        return pointer
    return builder.load(pointer)


@intrinsic
def refer(typing_context, values):
    """Return a reference to a named tuple, valid as long as the calling kernel runs."""
    kind = Reference(values)

    def generate(context, builder, signature, args):
        return cgutils.alloca_once_value(builder, args[0])

    return kind(values), generate


@intrinsic
def layout_number(typing_context, reference):
    """The number of a reference's layout: that of the verbs it is passed to must be the same."""

    def generate(context, builder, signature, args):
        return context.get_constant(types.int64, reference.number)

    return types.int64(reference), generate


@intrinsic
def call_verb(typing_context, address, reference, numbers):
    """Call the verb at an address with a reference and a tuple of integers."""
    passed = (reference, *(types.int64 for _ in numbers))

    def generate(context, builder, signature, args):
        given = [args[1]]
        for i, kind in enumerate(numbers):
            number = builder.extract_value(args[2], i)
            given.append(context.cast(builder, number, kind, types.int64))
        convention = context.call_conv
        function_type = convention.get_function_type(types.int64, passed)
        function = builder.inttoptr(args[0], ir.PointerType(function_type))
        status, result = convention.call_function(builder, function, types.int64, passed, given)
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return result

    return types.int64(types.int64, reference, numbers), generate


def verb(function: Callable[..., Any]) -> Any:
    """Compile a function of a reference and integers that returns an integer, on its own."""
    return export(function)


@cache
def find_address(verb: Any, reference: Reference) -> int:
    """Return the address of a verb for references of a type; compile it if need be."""
    n_numbers = len(inspect.signature(verb.py_func).parameters) - 1
    signature = types.int64(reference, *(types.int64,) * n_numbers)
    verb.compile(signature)
    compiled = verb.overloads[signature.args]
    return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)


def describe(values: tuple[Any, ...], kind: type) -> Reference:
    """Return the type of references to a named tuple with these values."""
    return Reference(types.NamedTuple([numba.typeof(value) for value in values], kind))
