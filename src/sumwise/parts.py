"""Parts: the small parameter objects an estimator is put together from."""

import inspect
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
