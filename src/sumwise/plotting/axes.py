"""Axes, markers and lines of plots, and the documentation that plots share."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sumwise.docstrings import fill_docstring
from sumwise.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:
    Axes = Any  # matplotlib is imported when something is drawn

# Markers and lines vary along with colors, for readers who cannot tell colors apart.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":")

# An axis shows at most this many labels; if there are more, it shows every n-th.
MOST_LABELS = 40

document_plot = fill_docstring(
    ax="""
ax : matplotlib Axes, default=None
    Where to draw; None for a new figure.

Returns
-------
matplotlib Axes"""
)


def get_axes(ax: Axes | None, width: float = 6.4, height: float = 4.8) -> Axes:
    """Return the given axes, or those of a new figure, which the caller saves or shows."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError(
            "drawing needs matplotlib: install it with pip install 'sumwise[plot]'"
        ) from None
    if ax is not None:
        return ax
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def name_data(kind: type, data: Any, maker: str) -> Mapping[str, Any]:
    """Return data to draw by name; a single item has the name ``''``."""
    named = data if isinstance(data, Mapping) else {"": data}
    for item in named.values():
        check_data(kind, item, maker)
    if not named:
        raise ParameterError("there is nothing to draw: the dict is empty")
    return named


def check_data(kind: type, data: Any, maker: str) -> None:
    """Refuse data that this plot does not draw."""
    if not isinstance(data, kind):
        raise ParameterError(
            f"expected {kind.__name__}, which {maker} makes, got {type(data).__name__}"
        )
