"""Extension of griffe: the API pages show public names as they are after import.

The API pages are made from the sources. There, blocks that several docstrings share are still
placeholders, such as ``{random_state}``, and some names are imported on first use only.
"""

import re
from importlib import import_module
from inspect import getdoc
from typing import Any

import griffe

PLACEHOLDER = re.compile(r"\{[a-z]\w+\}")
LAZY = ["sumwise.inspection"]  # modules with names from a layer above, which type checkers do not see


class PublicNames(griffe.Extension):
    """Fill docstrings, and find names that are imported on first use."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Replace a docstring that has placeholders by that of the imported object."""
        if obj.docstring and PLACEHOLDER.search(obj.docstring.value):
            obj.docstring.value = getdoc(find_object(obj)) or ""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Add the names of lazy modules."""
        for path in LAZY:
            module = pkg[path.removeprefix("sumwise.")]
            for name in import_module(path).__all__:
                if name not in module.members:
                    thing = getattr(import_module(path), name)
                    target = f"{thing.__module__}.{thing.__qualname__}"
                    module.set_member(name, griffe.Alias(name, target, parent=module))


def find_object(obj: griffe.Object) -> Any:
    """Return the imported object."""
    found: Any = import_module(obj.module.path)
    for name in obj.path.removeprefix(obj.module.path).split(".")[1:]:
        found = getattr(found, name)
    return found
