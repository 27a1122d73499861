"""Named tuples by reference, and calls of verbs by their address: what kernels use.

A grower needs a hundred arrays, in nested named tuples. Passed by value, each array is seven words
of each call, which takes long to compile; and they would be read from Python for every tree. A
reference is one word: it is passed instead, and an attribute is loaded where it is read.
:class:`~sumwise.kernels.runtime.arguments.TupleMemory` is what Python passes.

A *verb* takes such a reference and integers, and returns an integer. It is compiled and kept apart
from its callers, which call it by its address: so one grower serves every kind of table, and a fit
compiles only the verbs that its table needs.
"""

from sumwise.kernels.runtime.jit import cgutils, intrinsic, ir, types


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
    from sumwise.kernels.runtime.reference_types import Reference

    kind = Reference(values)

    def generate(context, builder, signature, args):
        return cgutils.alloca_once_value(builder, args[0])

    return kind(values), generate


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
