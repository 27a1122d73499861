"""Parts: the small parameter objects an estimator is put together from."""

import inspect
import math
from typing import Any, Self

from sumwise.errors import ParameterError


class Part:
    """Base of parts: parameters are the arguments of ``__init__``, kept as attributes.

    This is all that ``sklearn.base.clone``, ``set_params(part__name=...)``, grid search, pickle
    and ``repr`` need, without importing scikit-learn here.
    """

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        parameters = inspect.signature(cls.__init__).parameters
        return {name: p.default for name, p in parameters.items() if name != "self"}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        for name, value in params.items():
            if name not in self._defaults():
                raise ParameterError(
                    f"{type(self).__name__} has no parameter {name!r}; "
                    f"it has {', '.join(self._defaults())}"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = self._defaults()
        changed = [f"{k}={v!r}" for k, v in self.get_params().items() if v != defaults[k]]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


def check_rate(part: Part, name: str) -> None:
    """Refuse a rate outside (0, 1]."""
    value = getattr(part, name)
    is_number = isinstance(value, (int, float)) or hasattr(value, "__float__")
    if isinstance(value, bool) or not is_number or not 0 < value <= 1:
        raise ParameterError(f"{type(part).__name__}({name}={value!r}): must be in (0, 1]")


def check_count(part: Part, name: str, low: int, optional: bool = False) -> None:
    """Refuse what is no integer of at least ``low``, or None where that is allowed."""
    value = getattr(part, name)
    if optional and value is None:
        return
    is_integer = hasattr(value, "__index__") and not isinstance(value, bool)
    if not is_integer or value < low:
        none = " or None" if optional else ""
        raise ParameterError(
            f"{type(part).__name__}({name}={value!r}): must be an integer of at least {low}{none}"
        )


def check_number(part: Part, name: str, low: float, high: float = math.inf) -> None:
    """Refuse what is no finite number of [low, high]."""
    value = getattr(part, name)
    is_number = isinstance(value, (int, float)) or hasattr(value, "__float__")
    if isinstance(value, bool) or not is_number or not low <= value <= high or value == math.inf:
        upper = "" if high == math.inf else f" and at most {high:g}"
        raise ParameterError(
            f"{type(part).__name__}({name}={value!r}): must be a number of at least {low:g}{upper}"
        )


def check_flag(part: Part, name: str) -> None:
    """Refuse what is neither true nor false."""
    value = getattr(part, name)
    if type(value).__name__ not in ("bool", "bool_"):
        raise ParameterError(f"{type(part).__name__}({name}={value!r}): must be True or False")
