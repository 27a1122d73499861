"""The report of a comparison of models."""

from typing import Any

import numpy as np

from sumwise.report.blocks import Section
from sumwise.report.charts.scales import format_number
from sumwise.report.contenders import Comparison, Contender, Task
from sumwise.report.data_summary import describe_data, describe_target
from sumwise.report.document import Report
from sumwise.report.features import describe_features
from sumwise.report.leaderboard import describe_leaderboard, estimate_interval, rank_contenders
from sumwise.report.learning import describe_learning
from sumwise.report.members import describe_contenders
from sumwise.report.outcomes import describe_outcomes, describe_probabilities
from sumwise.report.predictions import Predictions, name_features, read_known
from sumwise.report.reproduction import describe_reproduction
from sumwise.report.tried import describe_tried

__all__ = ["Comparison", "Contender", "Task", "report_comparison"]


def report_comparison(comparison: Comparison) -> Report:
    """Describe a comparison of models in one self-contained page.

    Parameters
    ----------
    comparison : Comparison
        What was found.

    Returns
    -------
    Report

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sumwise.report import Comparison, Contender, report_comparison
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = Contender("forest", [0.94, 0.96, 0.95], 1.2, 0.1, n_members=100)
    >>> tree = Contender("tree", [0.92, 0.90, 0.94], 0.1, 0.1, n_members=None)
    >>> found = Comparison(
    ...     "iris", "classification", "accuracy", True, X, y, None, [forest, tree], "forest"
    ... )
    >>> page = report_comparison(found).to_html()
    >>> page.startswith("<!doctype html>")
    True
    """
    is_class = comparison.task == "classification"
    y = np.asarray(comparison.y)
    names = name_features(comparison.best_model, comparison.X, comparison.feature_names)
    sections: list[Section | None] = [
        describe_leaderboard(comparison),
        _compare_predictions(comparison),
    ]
    best = comparison.best
    if best.out_of_fold is not None:
        known = read_known(comparison.task, y, best.out_of_fold)
        sections += [describe_outcomes(known), describe_probabilities(known)]
    sections += _describe_model(comparison, y)
    sections.append(describe_data(comparison.X, y, names, is_class))
    sections.append(
        describe_reproduction(comparison.best_model, comparison.settings, comparison.command)
    )
    n_models = len(comparison.contenders)
    return Report(
        f"{comparison.data_name}: {n_models} model{'s' * (n_models != 1)} compared",
        [section for section in sections if section is not None],
        _list_facts(comparison, y, len(names)),
        f"{comparison.task.capitalize()} by {comparison.metric_name}, cross-validated with "
        f"{best.fold_scores.size} folds.",
    )


def _list_facts(comparison: Comparison, y: np.ndarray, n_features: int) -> list[tuple[str, str]]:
    score = estimate_interval(comparison.best.fold_scores)
    around = f" ± {format_number(score.high - score.mean, 2)}" if np.isfinite(score.high) else ""
    facts = [
        ("Recommended", comparison.best_name),
        (comparison.metric_name, f"{format_number(score.mean)}{around}"),
        ("Data", f"{y.size:,} rows, {n_features:,} features"),
    ]
    if comparison.task == "classification":
        facts.append(("Classes", f"{np.unique(y).size:,}"))
    else:
        facts.append(("Target", describe_target(y.astype(np.float64))))
    return facts


def _compare_predictions(comparison: Comparison) -> Section | None:
    """Return the section on the diversity of those whose predictions are known."""
    ordered = [c for c in rank_contenders(comparison) if c.out_of_fold is not None]
    known = [read_known(comparison.task, comparison.y, c.out_of_fold) for c in ordered]
    # Rows that a contender lacks have been left out: then rows do not match.
    n_rows = max((own.y.size for own in known), default=0)
    pairs = [(c.name, own) for c, own in zip(ordered, known, strict=True) if own.y.size == n_rows]
    return describe_contenders([name for name, _ in pairs], [own for _, own in pairs])


def _describe_model(comparison: Comparison, y: np.ndarray) -> list[Section | None]:
    """Return what the recommended model says of itself."""
    model: Any = comparison.best_model
    if model is None:
        return []
    predicted = np.asarray(model.predict(comparison.X))
    classes = getattr(model, "classes_", None)
    known = Predictions(y, predicted, None if classes is None else np.asarray(classes))
    note = f"{comparison.best_name} was fitted to all rows, which are the rows of these figures."
    return [
        describe_tried(model),
        describe_learning(model),
        describe_features(model, comparison.X, known, note),
    ]
