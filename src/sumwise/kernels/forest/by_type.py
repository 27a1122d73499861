"""Routines that are chosen when a kernel is compiled, by the type of their first argument.

The target of a forest is one of several named tuples (see targets.py), and Numba compiles the
grower once per type of its arguments. A function made by :func:`choose_by_type` is replaced by the
routine for that type during compilation: nothing is decided while a tree grows, and a fit compiles
the routines of its own target only. Closures would do the same, but Numba's disk cache cannot
recognize closures over compiled functions in another process.
"""

from typing import Any

from numba.extending import overload

from sumwise.kernels.runtime.jit import MERGED_OPTIONS, rename


def choose_by_type(name: str, routines: dict[type, Any]) -> Any:
    """Make a function of ``(target, ...)`` that calls the routine of the target's type.

    The name must be unique among these functions: machine code is identified by it.
    """

    def function(target, *args):
        raise TypeError(f"{name} is called from kernels only")

    @overload(function, jit_options=MERGED_OPTIONS)
    def choose(target, *args):
        implementation = routines[target.instance_class]

        def call(target, *args):
            return implementation(target, *args)

        return rename(call, f"{name}_of_target")

    return function
