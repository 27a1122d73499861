"""A model file in words: what it predicts, from what, and what it consists of."""

from pathlib import Path
from typing import Any

import numpy as np

from sumwise.cli.models import ModelFile
from sumwise.cli.usage import list_names
from sumwise.inspection.tree_view import get_trees

_MOST_FEATURES = 15
_MOST_CLASSES = 10


def describe_file(path: str) -> dict[str, Any]:
    """Return what is in a model file, by name."""
    file = ModelFile(path)
    model = file.model
    found: dict[str, Any] = {
        "file": path,
        "bytes": Path(path).stat().st_size,
        "model": type(model).__name__,
        "task": "classification" if file.is_classifier else "regression",
    }
    if file.is_classifier:
        classes = model.classes_
        several = isinstance(classes, list)
        found["classes"] = [c.tolist() for c in classes] if several else classes.tolist()
    for name, attribute in (("rounds", "best_iteration_"), ("members", "estimators_")):
        value = getattr(model, attribute, None)
        if value is not None:
            found[name] = int(value) if name == "rounds" else len(value)
    trees = get_trees(model)
    if trees is not None:
        found["trees"] = int(trees.n_trees)
        found["leaves"] = int(np.count_nonzero(np.asarray(trees.feature) < 0))
    found["parameters"] = _list_parameters(model)
    found["features"] = _list_features(file)
    return found


def _list_parameters(model: Any) -> dict[str, Any]:
    """Return the parameters that differ from the defaults."""
    defaults = type(model)().get_params(deep=False)
    return {
        name: value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)
        for name, value in model.get_params(deep=False).items()
        if repr(value) != repr(defaults.get(name))
    }


def _list_features(file: ModelFile) -> list[dict[str, Any]]:
    """Return name, kind, categories and importance of each feature, the important ones first."""
    model = file.model
    names = file.names or [f"x{k}" for k in range(model.n_features_in_)]
    try:
        shares = np.asarray(model.feature_importances_, np.float64)
    except (AttributeError, ValueError):
        shares = np.full(len(names), np.nan)
    features = []
    for k, (name, kind) in enumerate(zip(names, model.schema_.kinds, strict=True)):
        entry: dict[str, Any] = {"name": name, "kind": kind}
        if k in model.schema_.dictionaries:
            entry["n_categories"] = len(model.schema_.dictionaries[k])
        features.append({**entry, "importance": float(shares[k])})
    order = np.argsort(-np.nan_to_num(shares), kind="stable")
    return [features[k] for k in order]


def format_description(found: dict[str, Any]) -> str:
    """Return a description as aligned lines."""
    lines = {
        "model": f"{found['model']} ({found['task']})",
        "file": f"{found['file']}, {found['bytes'] / 1e6:.2f} MB",
    }
    if "classes" in found:
        lines["classes"] = list_names(map(repr, found["classes"]), _MOST_CLASSES)
    for name in ("rounds", "members", "trees", "leaves"):
        if name in found:
            lines[name] = f"{found[name]:,}"
    parameters = ", ".join(f"{name}={value!r}" for name, value in found["parameters"].items())
    lines["parameters"] = parameters or "all at their defaults"
    lines["features"] = f"{len(found['features']):,}, by importance"
    text = [f"{name:<11}{line}" for name, line in lines.items()]
    width = max(len(entry["name"]) for entry in found["features"][:_MOST_FEATURES])
    for entry in found["features"][:_MOST_FEATURES]:
        share = "" if np.isnan(entry["importance"]) else f"{entry['importance']:7.1%}"
        kind = entry["kind"]
        if "n_categories" in entry:
            kind += f" ({entry['n_categories']:,} values)"
        text.append(f"  {entry['name']:<{width}} {share:>7}  {kind}")
    if len(found["features"]) > _MOST_FEATURES:
        text.append(f"  and {len(found['features']) - _MOST_FEATURES:,} more (--json lists all)")
    return "\n".join(text)
