"""All programs of the package: they are the Program objects in its modules."""

import pkgutil
from importlib import import_module

import sumwise.cuda
from sumwise.cuda.runtime.program import Program


def list_programs() -> list[Program]:
    """Return all programs, by name."""
    found: set[Program] = set()
    for module in pkgutil.walk_packages(sumwise.cuda.__path__, "sumwise.cuda."):
        members = vars(import_module(module.name)).values()
        found.update(member for member in members if isinstance(member, Program))
    return sorted(found)
