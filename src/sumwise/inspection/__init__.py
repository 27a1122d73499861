"""Inspection of fitted models: explanations, importances, partial dependence, trees as text.

Estimators compute their importances with ``importance`` and ``forest_importance``.
"""

from typing import TYPE_CHECKING

from sumwise.lazy import import_on_use

if TYPE_CHECKING:
    from sumwise.inspection.explanation import Explanation
    from sumwise.inspection.export_trees import export_graphviz, export_text
    from sumwise.inspection.tree_explainer import to_tree_explainer

__all__ = [
    "Explanation",
    "export_graphviz",
    "export_text",
    "partial_dependence",
    "permutation_importance",
    "to_tree_explainer",
]

__getattr__ = import_on_use(
    __name__,
    {
        "Explanation": "sumwise.inspection.explanation",
        "export_graphviz": "sumwise.inspection.export_trees",
        "export_text": "sumwise.inspection.export_trees",
        "to_tree_explainer": "sumwise.inspection.tree_explainer",
        # They need scikit-learn and lie in a layer above.
        "partial_dependence": "sumwise.estimators.partial_dependence",
        "permutation_importance": "sumwise.estimators.permutation_importance",
    },
)
