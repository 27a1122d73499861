"""How predictions and targets differ: confusion, residuals, calibration and rejection."""

import numpy as np

from sumwise.plotting import calibration_curve, reject_curve
from sumwise.report.blocks import Block, Column, Figure, Section, Table
from sumwise.report.charts.lines import draw_histogram, draw_lines
from sumwise.report.charts.matrices import draw_matrix
from sumwise.report.charts.points import draw_scatter
from sumwise.report.charts.scales import find_range, format_number
from sumwise.report.predictions import Predictions, draw_rows, say_sample

# More classes make a table of confusions, not a matrix.
_MOST_CLASSES = 20
_MOST_CONFUSIONS = 25
_MOST_POINTS = 1000
_MOST_PLACES = 200
_N_BARS = 30


def describe_outcomes(known: Predictions, key: str = "outcomes") -> Section:
    """Return the section about the errors: confusions of classes, or residuals."""
    if known.is_classification:
        return Section(key, "Confusion", _describe_confusion(known))
    return Section(key, "Residuals", _describe_residuals(known))


def _describe_confusion(known: Predictions) -> list[Block]:
    assert known.classes is not None
    names = [str(label) for label in known.classes]
    guess = np.searchsorted(known.classes, known.predicted)
    n_classes = len(names)
    counts = np.bincount(known.codes * n_classes + guess, minlength=n_classes**2)
    counts = counts.reshape(n_classes, n_classes)
    blocks: list[Block] = []
    totals = counts.sum(axis=1)
    shares = counts / np.maximum(totals, 1)[:, None]
    right = int(np.trace(counts))
    if n_classes <= _MOST_CLASSES:
        tips = [
            [
                f"true {names[i]}, predicted {names[j]}\n{counts[i, j]:,} rows, "
                f"{shares[i, j]:.1%} of {names[i]}"
                for j in range(n_classes)
            ]
            for i in range(n_classes)
        ]
        alt = (
            f"Confusion matrix of {n_classes} classes. {right:,} of {counts.sum():,} rows are on "
            "the diagonal, predicted correctly."
        )
        svg = draw_matrix(
            names,
            names,
            counts.astype(np.float64),
            np.where(counts > 0, shares, np.nan),
            tips,
            alt,
            row_title="true class",
            column_title="predicted class",
            form=",.0f",
        )
        blocks.append(
            Figure(
                "confusion",
                "Confusion matrix",
                svg,
                {"classes": names, "counts": counts},
                "Rows of each true class by predicted class. Stronger cells have a larger share of "
                "their row; the diagonal is correct.",
            )
        )
    if n_classes > 2 and right < counts.sum():
        blocks.append(_list_confusions(names, counts))
    blocks.append(_score_classes(names, counts))
    return blocks


def _score_classes(names: list[str], counts: np.ndarray) -> Table:
    right = np.diag(counts).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        recall, precision = right / counts.sum(axis=1), right / counts.sum(axis=0)
        f1 = 2.0 * right / (counts.sum(axis=0) + counts.sum(axis=1))
    columns = [
        Column("Class"),
        Column("Rows", ",d"),
        Column("Recall", ".3f", "Share of the rows of this class that are predicted as it"),
        Column("Precision", ".3f", "Share of the predictions of this class that are correct"),
        Column("F1", ".3f", "Harmonic mean of recall and precision"),
    ]
    rows = [
        [name, int(counts[k].sum()), float(recall[k]), float(precision[k]), float(f1[k])]
        for k, name in enumerate(names)
    ]
    return Table("Classes", columns, rows, beside=True)


def _list_confusions(names: list[str], counts: np.ndarray) -> Table:
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_CONFUSIONS]
    pairs = [divmod(int(place), len(names)) for place in order]
    rows = [
        [names[i], names[j], int(wrong[i, j]), float(wrong[i, j] / max(counts[i].sum(), 1))]
        for i, j in pairs
        if wrong[i, j]
    ]
    columns = [
        Column("True class"),
        Column("Predicted class"),
        Column("Rows", ",d"),
        Column("Share of the class", ".1%"),
    ]
    return Table("Most frequent confusions", columns, rows, beside=True)


def _describe_residuals(known: Predictions) -> list[Block]:
    residuals = known.y - known.predicted
    kept = draw_rows(known.y.size, _MOST_POINTS)
    y, predicted = known.y[kept], known.predicted[kept]
    sample = say_sample(kept.size, known.y.size)
    tips = [
        f"predicted {format_number(p)}\ntrue {format_number(t)}\nresidual {format_number(t - p)}"
        for p, t in zip(predicted.tolist(), y.tolist(), strict=True)
    ]
    center, spread = float(np.median(residuals)), float(np.std(residuals))
    with np.errstate(invalid="ignore"):
        together = float(np.corrcoef(known.y, known.predicted)[0, 1]) if known.y.size > 1 else 0.0
    scatter = Figure(
        "predicted",
        "Predicted and true values",
        draw_scatter(
            {"": (predicted, y, tips)},
            "predicted",
            "true",
            f"True against predicted values of {kept.size:,} rows; their correlation is "
            f"{together:.3f}.",
            diagonal=True,
            square=True,
        ),
        {"predicted": predicted, "true": y},
        f"Correct predictions lie on the diagonal.{sample}",
    )
    against = Figure(
        "residuals",
        "Residuals",
        draw_scatter(
            {"": (predicted, y - predicted, tips)},
            "predicted",
            "residual: true - predicted",
            f"Residuals against predictions: median {format_number(center)}, standard deviation "
            f"{format_number(spread)}.",
            level=0.0,
        ),
        {"predicted": predicted, "residual": y - predicted},
        f"A curve or a funnel shows that the model misses something.{sample}",
    )
    low, high = np.quantile(residuals, [0.002, 0.998]) if residuals.size else (0.0, 1.0)
    ends = (float(low), float(high)) if high > low else (center - 0.5, center + 0.5)
    counts, edges = np.histogram(np.clip(residuals, *ends), bins=_N_BARS, range=ends)
    shape = Figure(
        "residual-histogram",
        "Distribution of residuals",
        draw_histogram(
            edges,
            counts,
            "residual: true - predicted",
            f"Histogram of {residuals.size:,} residuals around {format_number(center)}.",
        ),
        {"edges": edges, "counts": counts},
        "The outermost bars also count the residuals beyond them.",
    )
    sizes = np.abs(residuals)
    shares = [0.5, 0.8, 0.9, 0.95, 0.99, 1.0]
    rows = [[f"{s:.0%}", float(np.quantile(sizes, s))] for s in shares] if sizes.size else []
    columns = [Column("Share of rows"), Column("Error is at most", ".4g")]
    return [scatter, against, shape, Table("Sizes of errors", columns, rows, beside=True)]


def describe_probabilities(known: Predictions, key: str = "probabilities") -> Section | None:
    """Return the section about probabilities, if there are any: calibration and rejection."""
    if known.probabilities is None or known.classes is None or known.classes.size < 2:
        return None
    shares = known.probabilities
    curve = calibration_curve(shares, known.y, classes=known.classes)
    is_pair = known.classes.size == 2
    event = f"class {known.classes[-1]}" if is_pair else "the predicted class is the true one"
    reliability = Figure(
        "calibration",
        "Calibration",
        draw_lines(
            {"": (curve.probability, curve.frequency)},
            f"predicted probability: {event}",
            "observed frequency",
            f"Reliability diagram with {curve.probability.size} bins; the expected calibration "
            f"error is {curve.error:.3f}.",
            x_range=(0.0, 1.0),
            y_range=(0.0, 1.0),
            diagonal=True,
            dots=True,
        ),
        curve._asdict(),
        "Calibrated probabilities lie on the diagonal. Expected calibration error: "
        f"{curve.error:.3f}.",
    )
    rejected = reject_curve(shares, known.y, classes=known.classes)
    kept = np.unique(np.linspace(0, rejected.coverage.size - 1, _MOST_PLACES).round().astype(int))
    half = float(np.interp(0.5, rejected.coverage, rejected.accuracy))
    rejection = Figure(
        "reject",
        "Accuracy if unsure predictions are rejected",
        draw_lines(
            {"": (rejected.coverage[kept], rejected.accuracy[kept])},
            "share of rows that are predicted",
            "accuracy",
            f"Reject curve: accuracy is {rejected.accuracy[-1]:.3f} on all rows and {half:.3f} on "
            "the half with the highest confidence.",
            x_range=(0.0, 1.0),
            # A curve near 1 is not drawn as if it fell deeply.
            y_range=find_range(rejected.accuracy, [0.95], include=(1.0,)),
        ),
        {name: values[kept] for name, values in rejected._asdict().items()},
        f"Accuracy is {rejected.accuracy[-1]:.1%} on all rows, and {half:.1%} if only the more "
        "confident half is predicted.",
    )
    return Section(key, "Probabilities", [reliability, rejection])
