"""Models for ``shap.TreeExplainer``, in the form of trees that it reads from any library."""

from typing import Any

import numpy as np

from sumwise.errors import ExplanationError
from sumwise.inspection.tree_view import get_trees
from sumwise.tree import Trees

_OUTPUTS = {"logistic": "log_odds"}


def to_tree_explainer(model: Any, data: Any = None, **options: Any) -> Any:
    """Return a ``shap.TreeExplainer`` of a model.

    ``shap.TreeExplainer(model)`` knows the classes of some libraries only. This function passes it
    the trees of the model in its own form. For most purposes ``model.explain(X)`` is better: it is
    faster, reads frames and categories, and explains ensembles of models, too.

    Parameters
    ----------
    model : fitted estimator
        Gradient boosting, a forest or a decision tree of sumwise that splits on numbers alone.
    data : array-like or None, default=None
        Background rows, as in shap.
    **options : dict
        Further arguments of ``shap.TreeExplainer``.

    Returns
    -------
    shap.TreeExplainer
        It explains arrays of numbers: raw scores of boosting, predictions or probabilities of
        forests; for two classes, those of the second.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import GradientBoostingRegressor
    >>> from sumwise.inspection import to_tree_explainer
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(n_estimators=10, random_state=0).fit(X, y)
    >>> theirs = to_tree_explainer(model).shap_values(X)
    >>> bool(abs(theirs - model.explain(X).values).max() < 1e-9)
    True
    """
    try:
        import shap  # type: ignore[import-untyped]
    except ImportError:
        raise ImportError(
            "to_tree_explainer needs shap: install it with pip install 'sumwise[shap]'"
        ) from None
    return shap.TreeExplainer(_describe(model), data, **options)


def _describe(model: Any) -> dict[str, Any]:
    """Return a model as a dict that shap reads."""
    trees = get_trees(model)
    _refuse(model, trees)
    assert trees is not None
    nodes, children = trees.decode(), trees.find_children()
    base = trees.combine(np.zeros(trees.n_outputs))
    divisor = float(trees.n_trees) if trees.averages else 1.0
    width = trees.n_outputs // trees.n_groups
    described = []
    for number in range(trees.n_trees):
        first, last = trees.start[number : number + 2]
        own = slice(int(first), int(last))
        is_leaf = nodes.feature[own] < 0
        left = np.where(is_leaf, -1, children[own] - first)
        right = np.where(is_leaf, -1, left + 1)
        values = np.zeros((left.size, trees.n_outputs))
        column = number % trees.n_groups * width
        values[:, column : column + width] = nodes.value[own] / divisor
        described.append(
            {
                "children_left": left,
                "children_right": right,
                "children_default": np.where(nodes.missing_left[own] > 0, left, right),
                "features": nodes.feature[own],
                "thresholds": nodes.threshold[own].astype(np.float64),
                "values": values,
                "node_sample_weight": trees.cover[own].astype(np.float64),
            }
        )
    is_share = trees.averages and hasattr(model, "classes_")
    return {
        "trees": described,
        "base_offset": base,
        "internal_dtype": np.float64,
        "input_dtype": np.float64,
        "tree_output": "probability" if is_share else _OUTPUTS.get(trees.link, "raw_value"),
    }


def _refuse(model: Any, trees: Trees | None) -> None:
    """Raise ExplanationError if the form of shap cannot hold the model."""
    if trees is None:
        raise ExplanationError(
            f"{type(model).__name__} is not a fitted boosting model, forest or tree of sumwise; "
            "if it is another model of sumwise, use model.explain(X)"
        )
    if getattr(model, "_encoder", None) is not None:
        part = "statistics of categories"
    elif trees.decode().set_node.size:
        part = "splits on sets of categories"
    elif trees.models is not None:
        part = "linear models in the leaves"
    else:
        return
    raise ExplanationError(f"shap.TreeExplainer cannot hold {part}; use model.explain(X)")
