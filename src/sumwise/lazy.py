"""lazy: an attribute that is computed on first access and then kept."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


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
