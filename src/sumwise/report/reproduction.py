"""How to make a model or a comparison again: command, code, parameters and versions."""

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from sumwise.report.blocks import Block, Code, Column, Section, Table, Text

_PACKAGES = ("numpy", "scipy", "scikit-learn", "narwhals")
_MOST_LETTERS = 300


def describe_reproduction(
    model: Any = None,
    settings: Mapping[str, Any] | None = None,
    command: str | None = None,
    code: str | None = None,
    key: str = "reproduce",
) -> Section:
    """Return the section that says how to get the same result."""
    blocks: list[Block] = []
    if command:
        blocks += [Text("This command makes the comparison again:"), Code(command)]
    if code:
        blocks += [Text("This code makes the report again:"), Code(code)]
    if settings:
        rows = [[str(name), _show(value)] for name, value in settings.items()]
        blocks.append(Table("Settings", [Column("Setting"), Column("Value")], rows))
    if model is not None:
        blocks.append(_list_parameters(model))
        if getattr(model, "random_state", 0) is None:
            blocks.append(
                Text(
                    "random_state is None: another fit draws other random numbers. Set it to a "
                    "number, and the same data give the same model for any number of threads."
                )
            )
    versions = [[name, text] for name, text in _find_versions().items()]
    blocks.append(Table("Versions", [Column("Package"), Column("Version")], versions))
    return Section(key, "How to reproduce it", blocks)


def _list_parameters(model: Any) -> Table:
    parameters = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    rows = [[name, _show(value)] for name, value in sorted(parameters.items())]
    caption = f"Parameters of {type(model).__name__}"
    return Table(caption, [Column("Parameter"), Column("Value")], rows)


def _show(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 1] + "…"


def _find_versions() -> dict[str, str]:
    from sumwise import __version__

    found = {"sumwise": __version__, "Python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
