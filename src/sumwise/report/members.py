"""How an ensemble gains over its members: their errors, and how much they differ."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sumwise.data.frames.selection import take_rows
from sumwise.diversity import (
    Ambiguity,
    ambiguity_decomposition,
    kappa_error_points,
    log_loss_decomposition,
    pairwise_matrix,
    vote_decomposition,
)
from sumwise.errors import SumwiseError
from sumwise.estimators.members import member_predictions, member_probabilities
from sumwise.plotting import ensemble_weights
from sumwise.report.blocks import Block, Column, Figure, Section, Table, Text
from sumwise.report.charts.bars import draw_steps
from sumwise.report.charts.matrices import draw_matrix
from sumwise.report.charts.points import draw_scatter
from sumwise.report.charts.scales import format_number
from sumwise.report.predictions import Predictions, draw_rows, say_sample

# Members of large ensembles are similar: the first ones are enough for pairs.
_MOST_PAIRED = 40
_MOST_CELLS = 24
_MOST_ROWS = 5000
_MOST_LISTED = 60


@dataclass(frozen=True, eq=False)
class Members:
    """Predictions of members, and how they are combined.

    Attributes
    ----------
    labels : sequence of str
    values : ndarray of shape (n_rows, n_members)
        Labels, or numbers.
    weights : ndarray of shape (n_members,) or None
        Weights with sum 1; None if a model combines the members.
    probabilities : ndarray of shape (n_rows, n_members, n_classes) or None
    """

    labels: Sequence[str]
    values: np.ndarray
    weights: np.ndarray | None
    probabilities: np.ndarray | None = None


def find_members(model: Any, X: Any) -> Members | None:
    """Let the members of an ensemble predict; None if it has no members that predict alone."""
    if not hasattr(model, "estimators_") or hasattr(model, "code_book_"):
        return None
    try:
        labels, values = member_predictions(model, X)
    except (SumwiseError, ValueError, TypeError, NotImplementedError):
        return None  # for example, members that predict for encoded features only
    if len(labels) < 2:
        return None
    weights = find_weights(model, len(labels))
    return Members(name_members(model, labels), values, weights)


def _find_probabilities(model: Any, X: Any) -> np.ndarray | None:
    if not hasattr(model, "classes_"):
        return None
    try:
        return member_probabilities(model, X)
    except (SumwiseError, ValueError, TypeError, NotImplementedError):
        return None


def name_members(model: Any, labels: Sequence[str]) -> tuple[str, ...]:
    """Return names of members; numbers become names."""
    if all(label.isdigit() for label in labels):
        return tuple(f"member {label}" for label in labels)
    return tuple(labels)


def find_weights(model: Any, n_members: int) -> np.ndarray | None:
    """Return the weights of members with sum 1; None if they are not weighted."""
    try:
        weights = np.asarray(ensemble_weights(model).values, dtype=np.float64)
    except SumwiseError:
        return None
    total = weights.sum()
    if weights.shape != (n_members,) or (weights < 0).any() or not total > 0:
        return None
    return weights / total


def describe_members(
    model: Any, X: Any, known: Predictions, key: str = "members"
) -> Section | None:
    """Return the section about the members of a fitted ensemble; None if it has none."""
    kept = draw_rows(known.y.size, _MOST_ROWS)
    rows = take_rows(X, kept)
    members = find_members(model, rows)
    if members is None:
        return None
    members = replace(members, probabilities=_find_probabilities(model, rows))
    shares = None if known.probabilities is None else known.probabilities[kept]
    chosen = Predictions(known.y[kept], known.predicted[kept], known.classes, shares)
    sample = say_sample(kept.size, known.y.size)
    blocks = [
        compare_with_members(members, chosen, sample),
        *compare_probabilities(members, chosen, sample),
        *describe_pairs(members, chosen),
        _list_members(members, chosen),
    ]
    return Section(key, "Gain over the members", blocks)


def compare_with_members(members: Members, known: Predictions, sample: str) -> Figure:
    """Return the decomposition of the ensemble's error."""
    n_members = len(members.labels)
    if known.is_classification:
        parts = vote_decomposition(
            members.values, known.y, vote=known.predicted, weights=members.weights
        )
        labels = ["mean error of members", "good diversity", "bad diversity", "ensemble error"]
        levels = [parts.mean_error, -parts.good, parts.bad]
        caption = (
            "Good diversity: wrong votes where the ensemble is right. Bad diversity: right votes "
            f"where it is wrong. Their difference is the gain.{sample}"
        )
        title, data = "From the members' error to the ensemble's", parts._asdict()
        error = parts.ensemble_error
    else:
        even = np.full(n_members, 1.0 / n_members)
        weights = even if members.weights is None else members.weights
        amb = ambiguity_decomposition(members.values, known.y, weights=weights)
        error = float(np.mean((known.predicted - known.y) ** 2))
        labels = ["mean error of members", "diversity (ambiguity)"]
        levels = [amb.mean_error, -amb.ambiguity]
        rest = error - amb.ensemble_error
        has_rest = abs(rest) > 1e-9 * amb.mean_error
        if has_rest:
            labels.append("other combination")
            levels.append(rest)
        labels.append("ensemble error")
        title, data = "From the members' squared error to the ensemble's", amb._asdict()
        data = {**data, "error_of_the_model": error}
        caption = (
            "Squared error. Members that differ from their mean make it better than they are: "
            "error of the mean = mean error - diversity."
            + (" The rest is due to combining otherwise than by this mean." if has_rest else "")
            + sample
        )
    return _draw_gain("gain", labels, levels, error, title, data, caption)


def compare_probabilities(members: Members, known: Predictions, sample: str) -> list[Figure]:
    """Return the decomposition of the log loss of an ensemble that averages probabilities."""
    shares, weights = members.probabilities, members.weights
    if shares is None or weights is None or known.probabilities is None:
        return []
    average = np.einsum("rlk,l->rk", shares, weights)
    if not np.allclose(average, known.probabilities, atol=1e-6):
        return []  # it votes with labels, or its probabilities are calibrated
    shares = shares / shares.sum(axis=2, keepdims=True)
    parts = log_loss_decomposition(shares, known.codes, weights=weights, pool="arithmetic")
    figure = _draw_gain(
        "gain-log-loss",
        ["mean log loss", "diversity (ambiguity)", "log loss of ensemble"],
        [parts.mean_error, -parts.ambiguity],
        parts.ensemble_error,
        "From the members' log loss to the ensemble's",
        parts._asdict(),
        "The ensemble averages probabilities. A member that is certain and wrong pays dearly; the "
        f"average is less certain.{sample}",
    )
    return [figure]


def _draw_gain(
    key: str,
    labels: Sequence[str],
    levels: Sequence[float],
    error: float,
    title: str,
    data: dict[str, Any],
    caption: str,
) -> Figure:
    """Return steps from the first level over changes to the final error."""
    reached = np.cumsum(levels)
    starts = np.array([0.0, *reached[:-1], 0.0])
    ends = np.array([levels[0], *reached[1:], error])
    change = 1.0 - error / levels[0] if levels[0] else 0.0
    alt = (
        f"Mean error of members {format_number(levels[0])}, ensemble error "
        f"{format_number(error)}: {change:+.0%} gained."
    )
    svg = draw_steps(labels, starts, ends, "error", alt)
    return Figure(key, title, svg, data, caption)


def describe_pairs(members: Members, known: Predictions, noun: str = "member") -> list[Block]:
    """Return the diversity of pairs: kappa against errors, and the matrix of all pairs."""
    values = members.values[:, :_MOST_PAIRED]
    names = list(members.labels[:_MOST_PAIRED])
    n_more = len(members.labels) - len(names)
    first = f" Of the first {len(names)} of {len(members.labels)} {noun}s." if n_more else ""
    if not known.is_classification:
        return [_draw_error_correlations(names, values, known, first, noun)]
    points = kappa_error_points(values, known.y)
    tips = [
        f"{names[i]} and {names[j]}\nkappa {k:.3f}, mean error {e:.3f}"
        for (i, j), k, e in zip(points.pairs, points.kappa, points.error, strict=True)
    ]
    alt = (
        f"{points.kappa.size:,} pairs of {noun}s: mean kappa {points.kappa.mean():.3f}, mean error "
        f"{points.error.mean():.3f}."
    )
    diagram = Figure(
        "kappa-error",
        "Kappa-error diagram",
        draw_scatter(
            {"": (points.kappa, points.error, tips)},
            f"kappa of two {noun}s",
            "mean of their errors",
            alt,
            centers=True,
        ),
        {"members": names, **points._asdict()},
        f"A point per pair of {noun}s: diverse pairs are on the left, accurate ones at the bottom. "
        f"The large point is the mean.{first}",
    )
    shown = values[:, :_MOST_CELLS]
    matrix = pairwise_matrix(shown, None, "kappa", labels=names[:_MOST_CELLS])
    return [
        diagram,
        _draw_pairs(f"Kappa of pairs of {noun}s", "kappa", matrix.labels, matrix.values),
    ]


def _draw_error_correlations(
    names: Sequence[str], values: np.ndarray, known: Predictions, first: str, noun: str
) -> Figure:
    errors = (values - known.y[:, None])[:, :_MOST_CELLS]
    with np.errstate(invalid="ignore", divide="ignore"):
        together = np.corrcoef(errors, rowvar=False)
    together = np.nan_to_num(together, nan=0.0)
    title = f"Correlation of the {noun}s' errors"
    return _draw_pairs(title, "correlation", names[:_MOST_CELLS], together, first)


def _draw_pairs(
    title: str, measure: str, names: Sequence[str], values: np.ndarray, first: str = ""
) -> Figure:
    others = values[~np.eye(len(names), dtype=np.bool_)]
    tips = [
        [f"{names[i]} and {names[j]}\n{measure} {values[i, j]:.3f}" for j in range(len(names))]
        for i in range(len(names))
    ]
    alt = (
        f"Matrix of {measure} of {len(names)} members, from {others.min():.2f} to "
        f"{others.max():.2f}; mean {others.mean():.2f}."
    )
    # Colors tell pairs apart; the diagonal is 1 for all.
    low, high = float(others.min()), float(others.max())
    strengths = np.clip((values - low) / (high - low or 1.0), 0.0, 1.0)
    svg = draw_matrix(names, names, values, strengths, tips, alt)
    n_all = len(names)
    shown = f" The first {n_all} members." if n_all == _MOST_CELLS and not first else first
    caption = f"Faint cells are pairs that differ: combining them gains more.{shown}"
    return Figure("pairs", title, svg, {"members": names, measure: values}, caption)


def _list_members(members: Members, known: Predictions) -> Table:
    """Return a table of weights and errors, the best member first."""
    if known.is_classification:
        errors = (members.values != known.y[:, None]).mean(axis=0)
        own = float((known.predicted != known.y).mean())
        title = "Error"
    else:
        errors = np.sqrt(((members.values - known.y[:, None]) ** 2).mean(axis=0))
        own = float(np.sqrt(((known.predicted - known.y) ** 2).mean()))
        title = "Root mean squared error"
    order = np.argsort(errors, kind="stable")[:_MOST_LISTED]
    weights = members.weights
    rows: list[list[Any]] = [["the ensemble", own, None]]
    rows += [
        [members.labels[k], float(errors[k]), None if weights is None else float(weights[k])]
        for k in order
    ]
    caption = "Members"
    if len(order) < errors.size:
        caption = f"The best {len(order)} of {errors.size} members"
    columns = [Column("Member"), Column(title, ".4g"), Column("Weight", ".3f")]
    return Table(caption, columns, rows, 0, beside=True)


def describe_contenders(
    names: Sequence[str], known: Sequence[Predictions], key: str = "members"
) -> Section | None:
    """Return the section about what an average of the contenders would gain.

    Their predictions must be of the same rows.
    """
    if len(names) < 2:
        return None
    first = known[0]
    values = np.column_stack([own.predicted for own in known])
    blocks: list[Block] = []
    shares = [own.probabilities for own in known]
    if first.is_classification and all(share is not None for share in shares):
        stacked = np.stack([share for share in shares if share is not None], axis=1)
        sums = stacked.sum(axis=2, keepdims=True)
        parts = log_loss_decomposition(stacked / sums, first.codes, pool="arithmetic")
        blocks.append(_compare_average(parts, "log loss", "probabilities"))
    elif not first.is_classification:
        parts = ambiguity_decomposition(values, first.y)
        blocks.append(_compare_average(parts, "squared error", "predictions"))
    even = np.full(len(names), 1.0 / len(names))
    blocks += describe_pairs(Members(names, values, even), first, "model")
    note = (
        "Models that err on different rows gain when they are combined. The figures compare "
        "predictions of rows that the models were not trained on."
    )
    return Section(key, "Diversity of the models", [Text(note), *blocks])


def _compare_average(parts: Ambiguity, loss: str, what: str) -> Figure:
    caption = (
        f"The {loss} of the plain average of the models' {what} is their mean {loss} minus their "
        "diversity."
    )
    return _draw_gain(
        "gain",
        [f"mean {loss}", "diversity (ambiguity)", "error of the average"],
        [parts.mean_error, -parts.ambiguity],
        parts.ensemble_error,
        "What averaging all models gains",
        {"loss": loss, **parts._asdict()},
        caption,
    )
