"""Tables of objectives: what the losses of another library are here."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sumwise.compat.conversions import UserObjective
from sumwise.errors import ParameterError
from sumwise.parts import find_close_name

Values = Mapping[str, Any]


class Objective(NamedTuple):
    """A loss of regression: its names, what it is here, and the metric that belongs to it."""

    names: tuple[str, ...]
    text: str
    make: Callable[[Values], Any]
    metric: str


class Objectives(NamedTuple):
    """The objectives of a library.

    The first one of ``regression`` is its default. For ``classification``, the number of classes
    decides. ``refused`` says what to use instead.
    """

    regression: tuple[Objective, ...]
    classification: tuple[str, ...]
    refused: Mapping[str, str]

    def find_loss(self, owner: str, values: Values, is_class: bool) -> tuple[Any, str | None]:
        """Return the loss, and the name of its metric (None for a classifier or a function)."""
        given = values["objective"]
        if callable(given):
            return UserObjective(owner, given), None
        if is_class:
            if given is None or given in self.classification:
                return "log_loss", None
            known = self.classification
        else:
            for row in self.regression:
                if given is None or given in row.names:
                    return row.make(values), row.metric
            known = tuple(name for row in self.regression for name in row.names)
        if given in self.refused:
            raise ParameterError(f"{owner}: objective={given!r}: {self.refused[given]}")
        close = find_close_name(str(given), known)
        hint = f"must be one of {', '.join(known)}" if close is None else f"did you mean {close!r}?"
        raise ParameterError(f"{owner}: objective={given!r}; {hint}")
