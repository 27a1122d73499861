"""The summary of a fitted model that notebooks show below the diagram of scikit-learn."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise.errors import SumwiseError
from sumwise.estimators.members import open_ensemble
from sumwise.inspection.explanation import show_value
from sumwise.plotting import feature_importances
from sumwise.plotting.points import shorten
from sumwise.report.charts.scales import format_number
from sumwise.report.markup import Markup, element, join
from sumwise.report.members import find_weights, name_members

_MOST_MEMBERS = 12
_MOST_BARS = 8
_MOST_FEATURES = 12
_MOST_LETTERS = 48
# Scores that fits leave behind, and what they are called.
_SCORES = (
    ("best_score_", "validation score"),
    ("oob_score_", "out-of-bag score"),
)
# Colors of the notebook's theme show through; a cell is not part of a page with styles of ours.
_BOX = "font: 13px/1.5 system-ui, sans-serif; margin: 8px 0; max-width: 44rem"
_TABLE = "border-collapse: collapse; margin: 6px 0; font: inherit; color: inherit"
_CELL = "padding: 2px 12px 2px 0; text-align: left; border: 0; background: none"
_NUMBER = f"{_CELL}; font-variant-numeric: tabular-nums; text-align: right"
_TRACK = "background: rgba(128, 128, 128, 0.18); border-radius: 2px; width: 10rem"
_ABOVE, _BELOW = "#2f7fc9", "#d2691e"
_BAR = "background: {color}; border-radius: 2px; height: 9px; width: {share:.1f}%"
_COLUMNS = "display: flex; flex-wrap: wrap; gap: 4px 40px; align-items: flex-start"


def summarize_model(model: Any) -> str:
    """Return what a fitted model is made of, as HTML with styles of its own.

    Members with their weights, scores that the fit has found, and the largest importances.
    """
    facts = _list_facts(model)
    tables = [_tabulate_members(model), _tabulate_importances(model)]
    shown = [table for table in tables if table]
    return element(
        "div",
        element("div", element("strong", "Fitted: "), ", ".join(facts)),
        element("div", *shown, style=_COLUMNS) if shown else "",
        style=_BOX,
        class_="sumwise-summary",
    )


def _list_facts(model: Any) -> list[str]:
    """Return what is known of the fit, in few words each."""
    facts = []
    rounds = _read(model, "best_iteration_")
    members = _read(model, "estimators_")
    if rounds is not None:
        facts.append(_count(int(rounds), "round"))
    elif members is not None:
        facts.append(_count(len(members), "member"))
    n_features = _read(model, "n_features_in_")
    if n_features is not None:
        facts.append(_count(int(n_features), "feature"))
    classes = _read(model, "classes_")
    if isinstance(classes, np.ndarray):
        facts.append(_count(classes.size, "class", "classes"))
    for attribute, name in _SCORES:
        score = _read(model, attribute)
        if isinstance(score, (float, np.floating)):
            facts.append(f"{name} {format_number(float(score))}")
    board = _read(model, "leaderboard_")
    if board is not None and len(board) and np.isfinite(board[0].score):
        facts.append(f"{board.metric} {format_number(float(board[0].score))} out of fold")
    return facts


def _read(model: Any, attribute: str) -> Any:
    """Return an attribute; None if the model has none, or cannot compute it."""
    try:
        return getattr(model, attribute, None)
    except (SumwiseError, ValueError):
        return None


def _count(number: int, what: str, several: str | None = None) -> str:
    return f"{number:,} {what if number == 1 else several or what + 's'}"


def _tabulate_members(model: Any) -> Markup | None:
    """Return the members with their weights, those with the largest first."""
    try:
        labels, members = open_ensemble(model)
    except (SumwiseError, TypeError):
        return None
    names = [getattr(member, "name", label) for label, member in zip(labels, members, strict=True)]
    named = name_members(model, list(map(str, names)))
    weights = find_weights(model, len(members))
    kinds = [type(member).__name__ for member in members]
    if len(members) > _MOST_MEMBERS and len(set(kinds)) == 1 and _is_even(weights):
        return _table("Members", [[_cell(f"{len(members):,} × {kinds[0]}, equal weights")]], None)
    order = np.arange(len(members)) if weights is None else np.argsort(-weights, kind="stable")
    rows = []
    for k in order[:_MOST_MEMBERS].tolist():
        cells = [_cell(named[k]), _cell(kinds[k] if kinds[k] != named[k] else "")]
        if weights is not None:
            cells += [_bar(weights[k] / weights.max()), _cell(f"{weights[k]:.3f}", _NUMBER)]
        rows.append(cells)
    n_more = len(members) - len(rows)
    remark = f"and {_count(n_more, 'more member')}" if n_more else None
    return _table("Members", rows, remark)


def _is_even(weights: np.ndarray | None) -> bool:
    return weights is not None and bool(np.ptp(weights) < 1e-12)


def _tabulate_importances(model: Any) -> Markup | None:
    try:
        found = feature_importances(model, n_features=_MOST_BARS)
    except (SumwiseError, AttributeError, ValueError):
        return None
    largest = float(found.values.max(initial=0.0))
    if not largest > 0.0:
        return None
    rows = [
        [_cell(name), _bar(value / largest), _cell(f"{value:.3f}", _NUMBER)]
        for name, value in zip(found.labels, found.values.tolist(), strict=True)
    ]
    n_more = int(_read(model, "n_features_in_") or len(rows)) - len(rows)
    remark = f"and {_count(n_more, 'more feature')}" if n_more > 0 else None
    return _table("Importances", rows, remark)


def show_leaderboard(board: Any) -> str:
    """Return the leaderboard of an automatic ensemble as a table."""
    heads = ["", board.metric, "std error", "weight", "seconds", "status"]
    rows = []
    for entry in board:
        score = _write(entry.score, ".6g"), _write(entry.std_error, ".2g")
        weight = f"{entry.weight:.3f}" if entry.weight else ""
        numbers = [*score, weight, f"{entry.seconds:.1f}"]
        rows.append(
            [_cell(entry.name), *(_cell(text, _NUMBER) for text in numbers), _cell(entry.status)]
        )
    head = [element("th", text, style=_NUMBER if k else _CELL) for k, text in enumerate(heads)]
    return element("div", _table("", [head, *rows], None), style=_BOX)


def _write(value: float, form: str) -> str:
    return "" if np.isnan(value) else format(value, form)


def show_explanation(explanation: Any) -> str:
    """Return the largest contributions as bars: of one row with signs, of several by mean size."""
    lines = repr(explanation).splitlines()
    values = np.asarray(explanation.values, dtype=np.float64)
    if isinstance(explanation.feature_names, str) or not values.size:
        return element("pre", "\n".join(lines))
    is_row = explanation.base_values.ndim == int(_has_outputs(explanation))
    shown = values if is_row else explanation.importances
    if _has_outputs(explanation):
        shown = np.abs(shown).sum(axis=-1)
    order = np.argsort(-np.abs(shown), kind="stable")[:_MOST_FEATURES]
    largest = float(np.abs(shown).max()) or 1.0
    signs = "+" if is_row and not _has_outputs(explanation) else ""
    rows = []
    for k in order.tolist():
        name = explanation.feature_names[k]
        label = f"{name} = {show_value(explanation.data[k])}" if is_row else name
        number = format_number(float(shown[k]), 4, signs)
        bar = _bar(abs(float(shown[k])) / largest, is_negative=shown[k] < 0)
        rows.append([_cell(label), bar, _cell(number, _NUMBER)])
    title = "Contributions" if signs else "Mean size of contributions"
    if is_row and signs:
        title = f"Contributions; base value {format_number(float(explanation.base_values))}"
    n_more = len(explanation.feature_names) - len(rows)
    remark = f"and {_count(n_more, 'more feature')}" if n_more else None
    head = element("div", lines[0].strip("<>"))
    return element("div", head, _table(title, rows, remark), style=_BOX)


def _has_outputs(explanation: Any) -> bool:
    return isinstance(explanation.output_names, tuple)


def _table(title: str, rows: Sequence[Sequence[Markup]], remark: str | None) -> Markup:
    lines = [element("tr", *cells, style="background: none") for cells in rows]
    caption = element("caption", title, style="text-align: left; opacity: 0.75; padding: 0")
    parts = [caption, *lines] if title else lines
    if remark is not None:
        parts.append(element("tr", element("td", remark, colspan=4, style=_CELL)))
    return element("table", join(*parts), style=_TABLE)


def _cell(text: str, style: str = _CELL) -> Markup:
    short = shorten(text, _MOST_LETTERS)
    return element("td", short, style=style, title=text if short != text else None)


def _bar(share: float, is_negative: bool = False) -> Markup:
    color = _BELOW if is_negative else _ABOVE
    bar = element("div", style=_BAR.format(color=color, share=100.0 * max(float(share), 0.0)))
    return element("td", element("div", bar, style=_TRACK), style=_CELL)
