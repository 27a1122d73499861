"""Named tuples by reference, and routines that are compiled on their own and called by address.

A grower needs a hundred arrays, in nested named tuples. Passed by value, each array is seven words
of each call, and compiling that takes most of the time; converting them from Python takes longer
than growing a small tree. A :class:`Reference` is one word: it is passed instead, and an attribute
is loaded where it is read. :class:`Stored` is what Python passes.

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
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
    unbox,
)
from numba.np.numpy_support import as_dtype

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


_known: dict[Any, tuple[Reference, np.dtype]] = {}


def _find_type(values: Any) -> tuple[Reference, np.dtype]:
    """Return the type of references to a named tuple, and its layout in memory."""
    key = _sketch(values)
    if key not in _known:
        kind = numba.typeof(values)
        memory, context = _memory_of(kind), cpu_target.target_context
        assert memory.itemsize == context.get_abi_sizeof(context.get_value_type(kind))
        _known[key] = Reference(kind), memory
    return _known[key]


def _sketch(value: Any) -> Any:
    """What the type of a value depends on; Numba takes milliseconds to tell it of a job."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        return value.dtype, value.ndim, flags.c_contiguous, flags.writeable, flags.aligned
    if isinstance(value, tuple):
        return type(value), *map(_sketch, value)
    return type(value)


def _memory_of(kind: Any) -> np.dtype:
    """Return the layout that Numba's type has in memory: that of a C struct."""
    if isinstance(kind, types.NamedTuple):
        fields = [(name, _memory_of(own)) for name, own in zip(kind.fields, kind, strict=True)]
        return np.dtype(fields, align=True)
    if isinstance(kind, types.Array):
        names = ("meminfo", "parent", "size", "itemsize", "data")
        extents = [(name, np.int64, kind.ndim) for name in ("shape", "strides")]
        return np.dtype([*((name, np.int64) for name in names), *extents], align=True)
    return as_dtype(kind)


def _write(place: np.ndarray, value: Any) -> None:
    """Write a value to its place in a structured array, all copies alike."""
    if isinstance(value, tuple):
        for name, own in zip(value._fields, value, strict=True):  # type: ignore[attr-defined]
            if isinstance(own, tuple | np.ndarray):
                _write(place[name], own)
            else:
                place[name] = own
        return
    place["size"], place["itemsize"], place["data"] = value.size, value.itemsize, value.ctypes.data
    place["shape"], place["strides"] = value.shape, value.strides


class Stored:
    """Copies of a named tuple in memory, end to end: what Python passes as a reference.

    Kernels refer to the first; :func:`item` to any. It keeps the arrays alive.
    """

    def __init__(self, values: Any, n_copies: int) -> None:
        self.reference, memory = _find_type(values)
        self._numba_type_ = self.reference  # Numba asks for it
        self._values = dict(zip(values._fields, values, strict=True))
        self._memory = np.zeros(n_copies, dtype=memory)
        self.address = self._memory.ctypes.data
        _write(self._memory, values)

    def replace(self, **values: Any) -> None:
        """Write other named tuples of the same types, by their names."""
        for name, value in values.items():
            self._values[name] = value
            _write(self._memory[name], value)


@unbox(Reference)
def _unbox_address(kind, obj, context):
    number = context.pyapi.object_getattr_string(obj, "address")
    address = context.pyapi.long_as_voidptr(number)
    context.pyapi.decref(number)
    pointer = context.builder.bitcast(address, context.context.get_value_type(kind))
    error = cgutils.is_not_null(context.builder, context.pyapi.err_occurred())
    return NativeValue(pointer, is_error=error)


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


@lower_setattr_generic(Reference)
def _store_attribute(context, builder, signature, args, name):
    kind, given = signature.args
    place = kind.target.fields.index(name)
    value = context.cast(builder, args[1], given, kind.target[place])
    builder.store(value, cgutils.gep_inbounds(builder, args[0], 0, place))


@intrinsic
def item(typing_context, reference, index):
    """Return a reference to one of several named tuples end to end."""

    def generate(context, builder, signature, args):
        index = context.cast(builder, args[1], signature.args[1], types.intp)
        return builder.gep(args[0], [index])

    return reference(reference, index), generate


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
