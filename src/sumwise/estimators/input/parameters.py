"""Checks of estimator parameters, with messages that name the parameter and its valid values."""

import inspect
import math
import numbers
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any, NoReturn, Self

import numpy as np

from sumwise.errors import ParameterError, UnknownParameterError
from sumwise.parts import Part, find_close_name, is_number, refuse_unknown_names
from sumwise.training.callbacks import Snapshot


class NamedParametersMixin:
    """Names the estimator and suggests a parameter where a name is misspelled."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        known, n_positional = _find_parameters(cls)  # type: ignore[arg-type]
        if known is not None:
            refuse_unknown_names(cls, kwargs, known)
        if len(args) > n_positional:
            raise UnknownParameterError(
                f"{cls.__name__} takes {n_positional} parameters by position, and {len(args)} were "
                "given; pass them by name"
            )
        return super().__new__(cls)

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, those of parts and estimators as ``name__parameter=...``.

        Parameters
        ----------
        **params : dict
            Values by name.

        Returns
        -------
        self
        """
        names = [key.partition("__")[0] for key in params]
        own = self.get_params(deep=False)  # type: ignore[attr-defined]
        if not all(name in own for name in names):  # they may be names of members
            own = self.get_params(deep=True)  # type: ignore[attr-defined]
            refuse_unknown_names(type(self), names, [key for key in own if "__" not in key])
        for key, name in zip(params, names, strict=True):
            value = params.get(name, own[name])
            if key != name and not hasattr(value, "set_params"):
                raise ParameterError(
                    f"{type(self).__name__}: cannot set {key}, because {name}={value!r} has no "
                    "parameters"
                )
        super().set_params(**params)  # type: ignore[misc]
        return self


@cache
def _find_parameters(kind: type) -> tuple[tuple[str, ...] | None, float]:
    """Return a class's parameter names (None if it takes any) and how many are positional."""
    own = list(inspect.signature(kind.__init__).parameters.values())[1:]  # type: ignore[misc]
    kinds = [p.kind for p in own]
    names = None if inspect.Parameter.VAR_KEYWORD in kinds else tuple(p.name for p in own)
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return names, math.inf
    return names, kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD)


def check_number(
    owner: object, name: str, low: float, high: float = math.inf, open_low: bool = False
) -> float:
    """Return a finite number in [low, high], or in (low, high] if open."""
    value = getattr(owner, name)
    if not is_number(value) or not (low < value if open_low else low <= value) or value > high:
        above = "above" if open_low else "at least"
        upper = "" if high == math.inf else f" and at most {high:g}"
        refuse(owner, name, f"must be a number {above} {low:g}{upper}")
    if not math.isfinite(value):
        refuse(owner, name, "must be finite")
    return float(value)


def check_integer(
    owner: object, name: str, low: int, high: int | None = None, optional: bool = False
) -> int | None:
    """Return an integer in [low, high], or None if that is allowed."""
    value = getattr(owner, name)
    if optional and value is None:
        return None
    is_integer = is_number(value, numbers.Integral)
    if not is_integer or value < low or (high is not None and value > high):
        upper = "" if high is None else f" and at most {high}"
        none = " or None" if optional else ""
        refuse(owner, name, f"must be an integer of at least {low}{upper}{none}")
    return int(value)


def check_choice(owner: object, name: str, choices: Collection[Any]) -> Any:
    """Return one of the choices."""
    value = getattr(owner, name)
    if not isinstance(value, (str, bool, np.bool_)) or value not in choices:
        refuse(owner, name, f"must be one of {', '.join(map(repr, choices))}")
    return value


def resolve_part(owner: object, name: str, kinds: Collection[type[Part]], names: bool) -> Any:
    """Return a checked part or None; with ``names`` a part may be given by its name."""
    value: Any = getattr(owner, name)
    by_name = {kind.__name__.lower(): kind for kind in kinds} if names else {}
    if isinstance(value, str) and value in by_name:
        value = by_name[value]()
    if value is None:
        return None
    if not isinstance(value, tuple(kinds)):
        classes = [f"{kind.__name__}(...)" for kind in kinds]
        refuse(owner, name, f"must be {', '.join(classes + [repr(k) for k in by_name])} or None")
    value.check()  # type: ignore[attr-defined]
    return value


def name_part(name: str, kinds: Collection[type[Part]], params: Mapping[str, Any]) -> str:
    """Return the name of the class that the parameters ``name__...`` among ``params`` belong to.

    If none of the ``kinds`` has them all, the first with similar names is meant.
    """
    inner = {key.removeprefix(f"{name}__") for key in params if key.startswith(f"{name}__")}
    fitting = [kind for kind in kinds if inner <= kind._defaults().keys()]
    fitting += [kind for kind in kinds if all(_guess_name(kind, key) for key in inner)]
    return (fitting or list(kinds))[0].__name__


def _guess_name(kind: type[Part], name: str) -> str | None:
    """Return the parameter of a part that a (perhaps misspelled) name means."""
    known = kind._defaults()
    return name if name in known else find_close_name(name, known)


def check_callbacks(owner: object, name: str = "callbacks") -> None:
    """Refuse callbacks that cannot be called, before training starts."""
    callbacks = getattr(owner, name)
    if callbacks is None:
        return
    if not isinstance(callbacks, (list, tuple)) or not all(map(callable, callbacks)):
        refuse(owner, name, "must be None or a list of functions of a RoundState")
    for callback in callbacks:
        if isinstance(callback, Snapshot):
            callback.check()


def check_nested(owner: object, params: Mapping[str, Any], kinds: Mapping[str, str]) -> None:
    """Refuse ``part__name=...`` where the part is given by name, not at all or has no parameters.

    ``kinds`` names the class to use for each part.
    """
    for key in params:
        name, nested, inner = key.partition("__")
        value = params.get(name, getattr(owner, name, None))
        if nested and name in kinds and not hasattr(value, "set_params"):
            meant = _guess_name(Part._by_name[kinds[name]], inner) or inner
            raise ParameterError(
                f"{type(owner).__name__}: cannot set {key}, because {name}={value!r} has no "
                f"parameters; pass {name}={kinds[name]}({meant}=...)"
            )


def extend_parameters(base: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make ``__init__(self, *, own..., **shared)`` show the parameters of the base class as well.

    scikit-learn reads parameters from the signature. Those of the base class are written once.
    """

    def extend(init: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(init).parameters.values())
        named = [p for p in own[1:] if p.kind is not p.VAR_KEYWORD]
        names = {"self", *(p.name for p in named)}
        inherited = inspect.signature(base.__init__).parameters.values()  # type: ignore[misc]
        shared = [p for p in inherited if p.name not in names]
        both = sorted([*shared, *named], key=lambda p: p.kind)  # those without a star first
        signature = inspect.Signature([own[0], *both], return_annotation=None)
        init.__signature__ = signature  # type: ignore[attr-defined]
        return init

    return extend


def refuse(owner: object, name: str, rule: str) -> NoReturn:
    """Raise an error that shows a parameter of an estimator and its valid values."""
    raise ParameterError(f"{type(owner).__name__}: {name}={getattr(owner, name)!r}; {rule}")
