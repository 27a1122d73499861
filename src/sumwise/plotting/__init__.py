"""Plots. For each, one function computes the data and another, ``plot_...``, draws it.

Only drawing needs matplotlib: ``pip install 'sumwise[plot]'``.
"""

from sumwise.plotting.bars import (
    LabeledValues,
    ensemble_weights,
    feature_importances,
    plot_importances,
    plot_weights,
)
from sumwise.plotting.calibration import CalibrationCurve, calibration_curve, plot_calibration
from sumwise.plotting.diversity import plot_diversity_matrix, plot_kappa_error
from sumwise.plotting.explanations import (
    plot_beeswarm,
    plot_dependence,
    plot_global_bars,
    plot_waterfall,
)
from sumwise.plotting.history import LearningCurves, learning_curves, plot_learning_curves
from sumwise.plotting.intervals import IntervalCoverage, interval_coverage, plot_intervals
from sumwise.plotting.regions import DecisionRegions, decision_regions, plot_decision_regions
from sumwise.plotting.reject import RejectCurve, plot_reject_curve, reject_curve
from sumwise.plotting.sizes import EnsembleSizes, ensemble_sizes, plot_ensemble_sizes
from sumwise.plotting.trees import TreeLayout, plot_tree, tree_layout

__all__ = [
    "CalibrationCurve",
    "DecisionRegions",
    "EnsembleSizes",
    "IntervalCoverage",
    "LabeledValues",
    "LearningCurves",
    "RejectCurve",
    "TreeLayout",
    "calibration_curve",
    "decision_regions",
    "ensemble_sizes",
    "ensemble_weights",
    "feature_importances",
    "interval_coverage",
    "learning_curves",
    "plot_beeswarm",
    "plot_calibration",
    "plot_decision_regions",
    "plot_dependence",
    "plot_diversity_matrix",
    "plot_ensemble_sizes",
    "plot_global_bars",
    "plot_importances",
    "plot_intervals",
    "plot_kappa_error",
    "plot_learning_curves",
    "plot_reject_curve",
    "plot_tree",
    "plot_waterfall",
    "plot_weights",
    "reject_curve",
    "tree_layout",
]
