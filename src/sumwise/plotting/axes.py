"""Where pictures are drawn, and the markers and lines of what is drawn."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sumwise.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Where there are points, markers differ, too.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":")


def get_axes(ax: "Axes | None", width: float = 6.4, height: float = 4.8) -> "Axes":
    """Return the given axes, or those of a new figure; the caller saves or shows it."""
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
    """Return data to draw by name: one without a name, or several with theirs."""
    named = data if isinstance(data, Mapping) else {"": data}
    for item in named.values():
        check_data(kind, item, maker)
    if not named:
        raise ParameterError("there is nothing to draw: the dict is empty")
    return named


def check_data(kind: type, data: Any, maker: str) -> None:
    """Refuse to draw anything but the numbers of this plot."""
    if not isinstance(data, kind):
        raise ParameterError(
            f"expected {kind.__name__}, which {maker} makes, got {type(data).__name__}"
        )
