"""Extension of griffe: the API pages show public names as they are after import.

The API pages are made from the sources. There, blocks that several docstrings share are still
placeholders, such as ``{random_state}``, constructors pass most parameters on, and some names are
imported on first use only.
"""

import inspect
import re
from importlib import import_module
from typing import Any

import griffe

PLACEHOLDER = re.compile(r"\{[a-z]\w+\}")
ESTIMATORS = ["sumwise", "sumwise.dask"]
LAZY = [
    "sumwise.inspection"
]  # modules with names from a layer above, which type checkers do not see


class PublicNames(griffe.Extension):
    """Fill docstrings and signatures, and find names that are imported on first use."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Replace a docstring that has placeholders by that of the imported object."""
        if obj.docstring and PLACEHOLDER.search(obj.docstring.value):
            obj.docstring.value = inspect.getdoc(find_object(obj)) or ""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Add the names of lazy modules, and the signatures of estimators."""
        for path in LAZY:
            module = pkg[path.removeprefix("sumwise.")]
            for name in import_module(path).__all__:
                if name not in module.members:
                    target = find_path(getattr(import_module(path), name))
                    module.set_member(name, griffe.Alias(name, target, parent=module))
        for path in ESTIMATORS:
            for name in import_module(path).__all__:
                estimator = getattr(import_module(path), name)
                if hasattr(estimator, "get_params"):
                    cls = pkg[find_path(estimator).removeprefix("sumwise.")]
                    init = griffe.Function("__init__", parameters=read_parameters(estimator))
                    cls.set_member("__init__", init)


def find_object(obj: griffe.Object) -> Any:
    """Return the imported object."""
    found: Any = import_module(obj.module.path)
    for name in obj.path.removeprefix(obj.module.path).split(".")[1:]:
        found = getattr(found, name)
    return found


def find_path(thing: Any) -> str:
    """Return the path of an object, where it is defined."""
    return f"{thing.__module__}.{thing.__qualname__}"


def read_parameters(estimator: type) -> griffe.Parameters:
    """Return the parameters of an estimator's constructor."""
    itself = griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)
    return griffe.Parameters(
        itself,
        *(
            griffe.Parameter(
                name,
                kind=griffe.ParameterKind[parameter.kind.name.lower()],
                default=None if parameter.default is parameter.empty else repr(parameter.default),
            )
            for name, parameter in inspect.signature(estimator).parameters.items()
        ),
    )
