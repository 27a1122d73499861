"""Parts: small objects with parameters that configure an estimator."""

import inspect
import math
import numbers
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, ClassVar, Self

from sumwise.errors import ParameterError, UnknownParameterError


def find_close_name(name: str, known: Collection[str]) -> str | None:
    """Return the known name closest to a misspelled one, None if none is close."""
    return next(iter(get_close_matches(name, known, n=1)), None)


def refuse_unknown_names(owner: type, names: Collection[str], known: Collection[str]) -> None:
    """Raise UnknownParameterError for the first name that is not a parameter of the class."""
    for name in names:
        if name not in known:
            close = find_close_name(name, known)
            hint = f"it has {', '.join(known)}" if close is None else f"did you mean {close!r}?"
            raise UnknownParameterError(f"{owner.__name__} has no parameter {name!r}; {hint}")


class Part:
    """Base of parts: the arguments of ``__init__`` are parameters and attributes.

    It has what ``sklearn.base.clone``, ``set_params(part__name=...)``, grid search, pickle and
    ``repr`` need, without importing scikit-learn.
    """

    _by_name: ClassVar[dict[str, type["Part"]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__module__.startswith("sumwise."):
            Part._by_name[cls.__name__] = cls

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Refuse a misspelled parameter by name."""
        refuse_unknown_names(cls, kwargs, cls._defaults())
        return super().__new__(cls)

    @classmethod
    @cache
    def _defaults(cls) -> Mapping[str, Any]:
        if cls.__init__ is object.__init__:  # whose signature has *args and **kwargs
            return {}
        parameters = inspect.signature(cls.__init__).parameters
        return {name: p.default for name, p in parameters.items() if name != "self"}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        refuse_unknown_names(type(self), params, self._defaults())
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = self._defaults()
        params = self.get_params().items()
        changed = [f"{k}={v!r}" for k, v in params if _as_plain(v) != _as_plain(defaults[k])]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        own, others = ({k: _as_plain(v) for k, v in vars(p).items()} for p in (self, other))
        return own == others

    __hash__ = None  # type: ignore[assignment]


def _as_plain(value: Any) -> Any:
    """Return arrays as lists, because comparing arrays gives no single boolean."""
    return value.tolist() if hasattr(value, "tolist") else value


def is_number(value: Any, kind: type = numbers.Real) -> bool:
    """Whether a value is a number of a ``kind``, any real number by default; booleans are not."""
    return isinstance(value, kind) and not isinstance(value, bool)


def check_rate(part: Part, name: str) -> None:
    """Refuse a rate outside (0, 1]."""
    value = getattr(part, name)
    if not is_number(value) or not 0 < value <= 1:
        _refuse(part, name, "must be in (0, 1]")


def check_count(part: Part, name: str, low: int, optional: bool = False) -> None:
    """Refuse anything but an integer of at least ``low``, or None if ``optional``."""
    value = getattr(part, name)
    if (value is None and optional) or (is_number(value, numbers.Integral) and value >= low):
        return
    _refuse(part, name, f"must be an integer of at least {low}{' or None' if optional else ''}")


def check_number(part: Part, name: str, low: float, high: float = math.inf) -> None:
    """Refuse anything but a finite number in [low, high]."""
    value = getattr(part, name)
    if not is_number(value) or not low <= value <= high or value == math.inf:
        upper = "" if high == math.inf else f" and at most {high:g}"
        _refuse(part, name, f"must be a number of at least {low:g}{upper}")


def check_flag(part: Part, name: str) -> None:
    """Refuse anything but a boolean."""
    if type(getattr(part, name)).__name__ not in ("bool", "bool_"):
        _refuse(part, name, "must be True or False")


def _refuse(part: Part, name: str, rule: str) -> None:
    raise ParameterError(f"{type(part).__name__}({name}={getattr(part, name)!r}): {rule}")
