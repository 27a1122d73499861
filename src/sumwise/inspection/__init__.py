"""Inspection of fitted models: partial dependence, and trees as text.

Estimators compute their importances with ``importance`` and ``forest_importance``.
"""

from importlib import import_module
from typing import Any

from sumwise.inspection.export_trees import export_graphviz, export_text

__all__ = ["export_graphviz", "export_text", "partial_dependence"]


def __getattr__(name: str) -> Any:
    """Import on first use what needs scikit-learn and lies in a layer above."""
    if name != "partial_dependence":
        raise AttributeError(f"module 'sumwise.inspection' has no attribute {name!r}")
    value = import_module("sumwise.estimators.partial_dependence").partial_dependence
    globals()[name] = value
    return value
