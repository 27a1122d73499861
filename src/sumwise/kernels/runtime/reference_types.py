"""The type of a reference, as Numba knows it: a pointer to a struct whose fields are attributes.

Imported only when there is something to compile.
"""

import hashlib
from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
)

from sumwise.kernels.runtime.arguments import TupleKind, find_layout


class Reference(types.Type):
    """The type of a reference to a named tuple; named after all that its layout depends on."""

    def __init__(self, target: types.NamedTuple) -> None:
        self.target = target
        digest = hashlib.sha256(_spell(target).encode()).hexdigest()
        super().__init__(f"Reference_{target.instance_class.__name__}_{digest[:16]}")


def _spell(kind: Any) -> str:
    """Describe a type; a named tuple with its fields, which its name in Numba does not tell."""
    if isinstance(kind, types.BaseNamedTuple):
        own = f"{kind.instance_class.__module__}.{kind.instance_class.__qualname__}"
        items = (f"{field}: {_spell(item)}" for field, item in zip(kind.fields, kind, strict=True))
        return f"{own}({', '.join(items)})"
    return str(kind)


def check_layout(kind: TupleKind, target: types.NamedTuple) -> None:
    """Make sure that Python writes a named tuple as kernels read it."""
    context, layout = cpu_target.target_context, find_layout(kind)
    struct = context.get_value_type(target)
    offsets = [context.get_abi_sizeof(struct)]
    # Where a field begins: the size of all before it, and the padding that its alignment asks for.
    end = 0
    for item in target:
        inside = context.get_value_type(item)
        alignment = context.get_abi_alignment(inside)
        begin = -(-end // alignment) * alignment
        offsets.append(begin)
        end = begin + context.get_abi_sizeof(inside)
    assert offsets == [layout.size, *(field.offset for field in layout.fields.values())]


@register_model(Reference)
class _ReferenceModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Reference) -> None:
        target = manager.lookup(kind.target).get_value_type()
        super().__init__(manager, kind, target.as_pointer())


@infer_getattr
class _ReferenceAttributes(AttributeTemplate):
    key = Reference

    def generic_resolve(self, kind: Reference, name: str) -> Any:
        if name not in kind.target.fields:
            return None
        field = kind.target[kind.target.fields.index(name)]
        return Reference(field) if isinstance(field, types.BaseNamedTuple) else field


@lower_getattr_generic(Reference)
def _load_attribute(context, builder, kind, value, name):
    place = kind.target.fields.index(name)
    pointer = cgutils.gep_inbounds(builder, value, 0, place)
    if isinstance(kind.target[place], types.BaseNamedTuple):
        return pointer
    return builder.load(pointer)


@lower_setattr_generic(Reference)
def _store_attribute(context, builder, signature, args, name):
    kind, given = signature.args
    place = kind.target.fields.index(name)
    value = context.cast(builder, args[1], given, kind.target[place])
    builder.store(value, cgutils.gep_inbounds(builder, args[0], 0, place))
