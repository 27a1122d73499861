"""The parameters of another library as a table: what each becomes here, or why it cannot.

A row is made by one of five functions, which say what happens to a value other than the default:

===========  =======================================================================================
``direct``   it becomes a parameter of sumwise, perhaps converted
``joint``    it becomes one together with others, by code beside the table
``quiet``    it asks for what sumwise does anyway, or for output that sumwise does not make
``ignored``  it has no effect here, and none that matters to the model: a warning says so
``refused``  the model would be another one: an error says why, and what to use
===========  =======================================================================================
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise.errors import IgnoredParameterWarning, ParameterError, UnknownParameterError
from sumwise.estimators.warn import warn_user
from sumwise.parts import find_close_name

DIRECT, JOINT, QUIET, IGNORED, REFUSED = "direct", "joint", "quiet", "ignored", "refused"


@dataclass(frozen=True)
class Parameter:
    """A row of the table.

    Attributes
    ----------
    name : str
        The library's main name.
    default : Any
        The library's default.
    kind : str
        What happens to other values.
    text : str
        The counterpart in sumwise, or the reason why there is none.
    aliases : tuple of str
        Other names of the library.
    ours : str
        Of a direct row, the parameter of sumwise.
    convert : callable or None
        Of a direct row, what makes our value from theirs; None if they are the same.
    """

    name: str
    default: Any
    kind: str
    text: str
    aliases: tuple[str, ...] = ()
    ours: str = ""
    convert: Callable[[Any], Any] | None = None


def direct(
    name: str,
    default: Any,
    ours: str,
    aliases: str = "",
    convert: Callable[[Any], Any] | None = None,
    text: str = "",
) -> Parameter:
    """Return a row of a parameter that becomes ours; ``aliases`` are separated by spaces."""
    return Parameter(
        name, default, DIRECT, text or f"`{ours}`", tuple(aliases.split()), ours, convert
    )


def joint(name: str, default: Any, text: str, aliases: str = "") -> Parameter:
    """Return a row of a parameter that code beside the table translates."""
    return Parameter(name, default, JOINT, text, tuple(aliases.split()))


def quiet(name: str, default: Any, text: str, aliases: str = "") -> Parameter:
    """Return a row of a parameter with nothing to do."""
    return Parameter(name, default, QUIET, text, tuple(aliases.split()))


def ignored(name: str, default: Any, text: str, aliases: str = "") -> Parameter:
    """Return a row of a parameter that causes a warning."""
    return Parameter(name, default, IGNORED, text, tuple(aliases.split()))


def refused(name: str, default: Any, text: str, aliases: str = "") -> Parameter:
    """Return a row of a parameter that causes an error."""
    return Parameter(name, default, REFUSED, text, tuple(aliases.split()))


class Table:
    """The rows of a library, by every name.

    Parameters
    ----------
    library : str
        The name of the library.
    rows : iterable of Parameter
    """

    def __init__(self, library: str, rows: Iterable[Parameter]) -> None:
        self.library = library
        self.rows = tuple(rows)
        self._by_name: dict[str, Parameter] = {}
        for row in self.rows:
            for name in (row.name, *row.aliases):
                assert name not in self._by_name, f"{name} is in two rows"
                self._by_name[name] = row

    @property
    def names(self) -> set[str]:
        """All names, aliases included."""
        return set(self._by_name)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Parameter:
        return self._by_name[name]

    def check_name(self, owner: str, name: str) -> None:
        """Refuse a name that the library does not have, and suggest one."""
        if name not in self:
            close = find_close_name(name, self.names)
            hint = "" if close is None else f"; did you mean {close!r}?"
            raise UnknownParameterError(
                f"{owner} has no parameter {name!r}, and {self.library} knows none of this "
                f"name{hint}"
            )

    def resolve(
        self, owner: str, given: Mapping[str, Any], initial: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the value of each row, by its main name.

        Parameters
        ----------
        owner : str
            The estimator, for messages.
        given : mapping of str to Any
            Parameters by any of their names; None is the default.
        initial : mapping of str to Any
            Values that the constructor sets by itself: another name of the parameter goes before.
        """
        values = {row.name: row.default for row in self.rows}
        for name, value in given.items():  # without those that a user has set
            if name in initial and is_same(value, initial[name]) and value is not None:
                values[self[name].name] = value
        used: dict[str, str] = {}
        for name, value in given.items():
            self.check_name(owner, name)
            row = self[name]
            if value is None or (name in initial and is_same(value, initial[name])):
                continue
            first = used.setdefault(row.name, name)
            if first != name and not is_same(value, values[row.name]):
                raise ParameterError(
                    f"{owner}: {first}={values[row.name]!r} and {name}={value!r} are two names of "
                    "one parameter; pass only one of them"
                )
            values[row.name] = value
            if not is_same(value, row.default):
                self._judge(owner, name, value, row)
        return values

    def _judge(self, owner: str, name: str, value: Any, row: Parameter) -> None:
        if row.kind == REFUSED:
            raise ParameterError(f"{owner}: {name}={value!r} cannot be translated: {row.text}")
        if row.kind == IGNORED:
            warn_user(f"{owner}: {name}={value!r} is ignored: {row.text}", IgnoredParameterWarning)

    def convert(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return our parameters of the direct rows."""
        return {
            row.ours: values[row.name] if row.convert is None else row.convert(values[row.name])
            for row in self.rows
            if row.kind == DIRECT
        }

    def explain(self, message: str) -> str:
        """Return what the names of our parameters in a message are here, "" if there are none."""
        words = set(re.findall(r"\w+", message))
        found: dict[str, list[str]] = {}
        for row in self.rows:
            ours = re.match(r"`(\w+)", row.text)
            if row.kind in (DIRECT, JOINT) and ours is not None:
                found.setdefault(ours[1], []).append(row.name)
        hints = [
            f"{ours} is set by {', '.join(theirs)}"
            for ours, theirs in found.items()
            if ours in words and ours not in theirs
        ]
        return "; ".join(hints)

    def to_markdown(self) -> str:
        """Return the table for the documentation."""
        effects = {
            DIRECT: "",
            JOINT: "",
            QUIET: "nothing to do: ",
            IGNORED: "ignored with a warning: ",
            REFUSED: "**refused**: ",
        }
        lines = [f"| {self.library} | default | sumwise |", "|---|---|---|"]
        for kinds in ((DIRECT, JOINT), (QUIET,), (IGNORED,), (REFUSED,)):
            for row in self.rows:
                if row.kind in kinds:
                    names = ", ".join(f"`{name}`" for name in (row.name, *row.aliases))
                    default = "" if row.default is None else f"`{row.default!r}`"
                    lines.append(f"| {names} | {default} | {effects[row.kind]}{row.text} |")
        return "\n".join(lines) + "\n"


def is_same(value: Any, other: Any) -> bool:
    """Whether two parameters are the same; arrays are compared as a whole, NaN equals NaN."""
    if value is other:
        return True
    if isinstance(value, bool) != isinstance(other, bool):
        return False
    try:
        if np.shape(value) != np.shape(other):
            return False
        if isinstance(value, float) and isinstance(other, float) and value != value:
            return other != other
        return bool(np.all(value == other))
    except (TypeError, ValueError):
        return False
