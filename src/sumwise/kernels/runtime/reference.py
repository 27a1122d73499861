"""Named tuples by reference, and routines that are compiled on their own and called by address.

A grower needs a hundred arrays, in nested named tuples. Passed by value, each array is seven words
of each call, which takes long to compile; and every thread would convert them from Python for every
tree. A :class:`Reference` is one word: it is passed instead, and an attribute is loaded where it is
read. :class:`TupleMemory` is what Python passes.

A *verb* takes such a reference and integers, and returns an integer. It is compiled and cached
apart from its callers, which call it by its address: so one grower serves every kind of table, and
a fit compiles only the verbs that its table needs.
"""

import hashlib
import inspect
from collections.abc import Callable
from functools import cache
from struct import Struct
from typing import Any, NamedTuple

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


class _Layout(NamedTuple):
    """How a named tuple lies in memory: as a C struct."""

    reference: Reference
    size: int
    fields: dict[str, tuple[int, Struct]]  # where each begins, and what it holds
    sketch: dict[str, Any]  # and the type of its value


_known: dict[Any, _Layout] = {}


def _find_layout(values: Any) -> _Layout:
    key = _sketch(values)
    if key not in _known:
        kind = numba.typeof(values)
        context = cpu_target.target_context
        fields, end = {}, 0
        for name, own in zip(kind.fields, kind, strict=True):
            inside = context.get_value_type(own)
            alignment = context.get_abi_alignment(inside)
            begin = -(-end // alignment) * alignment
            fields[name] = begin, Struct(_spell_format(own))
            end = begin + context.get_abi_sizeof(inside)
            assert fields[name][1].size <= end - begin
        size = context.get_abi_sizeof(context.get_value_type(kind))
        assert end <= size < end + 8
        sketch = {name: _sketch(value) for name, value in values._asdict().items()}
        _known[key] = _Layout(Reference(kind), size, fields, sketch)
    return _known[key]


def _sketch(value: Any) -> Any:
    """What the type of a value depends on; Numba takes milliseconds to tell it of a job."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        order = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return value.dtype, value.ndim, order, flags.writeable, flags.aligned
    if isinstance(value, tuple):
        return type(value), *map(_sketch, value)
    return type(value)


def _spell_format(kind: Any) -> str:
    """Return the format of a value in memory, in the language of :mod:`struct`."""
    if isinstance(kind, types.NamedTuple):
        return "".join(map(_spell_format, kind))
    if isinstance(kind, types.Array):  # meminfo, parent, size, itemsize, data, shape, strides
        return f"{5 + 2 * kind.ndim}q"
    return {"l": "q", "L": "Q"}.get(as_dtype(kind).char, as_dtype(kind).char)


def _flatten(value: Any, numbers: list[Any]) -> None:
    """Append the numbers that a value is in memory."""
    if isinstance(value, np.ndarray):
        address, _ = value.__array_interface__["data"]
        numbers += (0, 0, value.size, value.itemsize, address, *value.shape, *value.strides)
    elif isinstance(value, tuple):
        for own in value:
            _flatten(own, numbers)
    else:
        numbers.append(value)


class TupleMemory:
    """Copies of a named tuple in memory, end to end: what Python passes as a reference.

    Kernels refer to the first; :func:`item` to any. It keeps the arrays alive.
    """

    def __init__(self, values: Any, n_copies: int) -> None:
        layout = _find_layout(values)
        self.reference = self._numba_type_ = layout.reference  # Numba asks for the second
        self._layout = layout
        self._values: dict[str, Any] = {}
        self._memory = np.zeros((n_copies, layout.size), dtype=np.uint8)
        self.address = self._memory.ctypes.data
        self._write(values._asdict())

    def replace(self, **values: Any) -> None:
        """Write other values of the same types, by the names of their fields."""
        for name, value in values.items():
            if _sketch(value) != self._layout.sketch[name]:
                raise TypeError(f"{name} has other types than what kernels were compiled for")
        self._write(values)

    def _write(self, values: dict[str, Any]) -> None:
        self._values |= values
        for name, value in values.items():
            offset, struct = self._layout.fields[name]
            numbers: list[Any] = []
            _flatten(value, numbers)
            struct.pack_into(self._memory[0], offset, *numbers)
        self._memory[1:] = self._memory[0]


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
