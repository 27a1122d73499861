"""lazy: an attribute that is computed when it is first asked for, and kept."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801 - it is used like a function
    """What ``functools.cached_property`` is from Python 3.12 on.

    Before, that holds a lock, one for all objects, while it computes: fits in several threads would
    wait for each other, and a child that is forked meanwhile would wait for ever. Here two threads
    that ask at the same time may both compute, and one result is kept.
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
        # From now on the attribute is found there, before this is asked.
        instance.__dict__[self._name] = value
        return value
