"""Routines that are chosen when a kernel is compiled, by the type of their first argument.

The target of a forest is one of several named tuples (see targets.py), and a grower is compiled
once per kind of its arguments. A function made by :func:`choose_by_type` is replaced by the routine
for that type during compilation: nothing is decided while a tree grows, and a fit compiles the
routines of its own target only.
"""

from typing import Any

from sumwise.kernels.runtime.jit import Compiled


class _Choice(Compiled):
    """A function of ``(target, ...)`` that calls the routine of the target's type."""

    def __init__(self, name: str, routines: dict[type, Any]) -> None:
        def function(target, *args):
            raise TypeError(f"{name} is called from kernels only")

        super().__init__(function, "")
        self.__name__ = name
        self._routines = routines

    def prepare(self) -> Any:
        if self._prepared is None:
            # Import here, because Numba may not be installed.
            from sumwise.kernels.runtime.compiling import prepare_choice

            self._prepared = prepare_choice(self.py_func, self._routines)
        return self._prepared


def choose_by_type(name: str, routines: dict[type, Any]) -> Any:
    """Make a function of ``(target, ...)`` that calls the routine of the target's type."""
    return _Choice(name, routines)
