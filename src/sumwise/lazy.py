"""What waits until it is asked for: attributes of objects, and names of modules."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


def import_on_use(module: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module that imports names when they are first asked for.

    ``places`` has the module of each name. A fit that needs none of them starts sooner.
    """

    def get_name(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(import_module(places[name]), name)
        setattr(sys.modules[module], name, value)
        return value

    return get_name


def late_function(module: str, name: str) -> Callable[..., Any]:
    """Return a function that imports the one it stands for when it is called.

    For what a class offers and a layer above it does, such as reports of models: as an attribute of
    the class it is a method.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(import_module(module), name)(*args, **kwargs)

    return call


class _Deferred(ModuleType):
    """Stands for a module that is not imported yet, until an attribute of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


@contextmanager
def defer_import(module: str) -> Iterator[None]:
    """Within this context, ``import`` of a submodule imports its parent alone.

    For code of others that imports what it does not use at once. Afterwards all is as if nobody had
    asked for the module: the next import, or an attribute of it, imports it.
    """
    if module in sys.modules:
        yield
        return
    stand_in = sys.modules[module] = _Deferred(module)
    try:
        yield
    finally:
        if sys.modules.get(module) is stand_in:
            del sys.modules[module]


class lazy(Generic[T]):  # noqa: N801 - it is used like a function
    """``functools.cached_property`` without a lock, as it is from Python 3.12 on.

    In earlier versions it holds one lock for all objects while it computes: fits in several threads
    would wait for each other, and a process forked meanwhile would wait forever. Here two threads
    may compute the same value at the same time; one result is kept.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "lazy[T]": ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> "lazy[T] | T":
        if instance is None:
            return self
        value = self._compute(instance)
        # The instance attribute takes precedence from now on.
        instance.__dict__[self._name] = value
        return value
