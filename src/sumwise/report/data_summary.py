"""Summary of the data: the columns, the target, and what looks wrong with them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise.report.blocks import Block, Column, Section, Table, Text, Warnings
from sumwise.report.charts.lines import draw_spark
from sumwise.report.charts.scales import format_number
from sumwise.report.columns import TableColumn, hash_rows, measure_skill, read_columns, to_target
from sumwise.report.drift import Drift, find_drift
from sumwise.report.markup import Markup
from sumwise.report.predictions import draw_rows, say_sample

_MOST_ROWS = 20_000
_MOST_LISTED = 60
# Names in one warning.
_MOST_NAMED = 8
# A column that predicts so much of the target alone is probably made from it.
_LEAK = 0.97
_MOSTLY_MISSING = 0.5
# The smallest class has less than this share of an equal one.
_IMBALANCED = 0.2


@dataclass(frozen=True)
class Spark:
    """A small histogram in a cell."""

    counts: np.ndarray
    alt: str

    def to_html(self) -> Markup:
        """Return the picture."""
        return draw_spark(self.counts, self.alt)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts."""
        return {"counts": self.counts.tolist()}


def describe_data(
    X: Any,
    y: Any,
    names: Sequence[str],
    is_classification: bool,
    X_train: Any = None,
    y_train: Any = None,
    key: str = "data",
) -> Section:
    """Return the section about the data; with training rows, also about drift from them."""
    y = np.asarray(y)
    rows = draw_rows(y.size, _MOST_ROWS)
    columns = read_columns(X, names, rows)
    target = to_target(y[rows], is_classification)
    skills = [measure_skill(column, target) for column in columns]
    warnings = _check_columns(columns, skills)
    warnings += _check_rows(columns, y[rows])
    warnings += _check_target(y, is_classification)
    drifts: list[Drift] = []
    if X_train is not None:
        n_train = X_train.shape[0] if hasattr(X_train, "shape") else len(X_train)
        kept = draw_rows(n_train, _MOST_ROWS)
        trained = read_columns(X_train, names, kept)
        drifts = find_drift(trained, columns)
        warnings += _check_drift(drifts)
        of_train = None if y_train is None else np.asarray(y_train)[kept]
        warnings += _check_overlap(trained, columns)
        warnings += _check_target_drift(of_train, y[rows], is_classification)
    blocks: list[Block] = [
        Warnings(warnings) if warnings else Text("The checks of the data found nothing unusual."),
        _list_columns(columns, skills, {drift.name: drift for drift in drifts}),
    ]
    if is_classification:
        blocks.append(_list_classes(y))
    checked = (
        "Checked: constant and mostly missing columns, identifiers, columns that predict the "
        "target almost alone, duplicate rows, rare classes"
        + (", drift from the training rows, rows that are also training rows" if drifts else "")
        + f".{say_sample(rows.size, y.size)}"
    )
    blocks.append(Text(checked))
    return Section(key, "Data", blocks)


def _list_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _check_columns(
    columns: Sequence[TableColumn], skills: Sequence[float]
) -> list[tuple[str, str]]:
    warnings = []
    leaky = [
        f"{column.name} ({skill:.1%})"
        for column, skill in zip(columns, skills, strict=True)
        if skill >= _LEAK
    ]
    if leaky:
        warnings.append(
            (
                "Possible leak:",
                f"{_list_names(leaky)} of the target's variance is predicted by this column "
                "alone. Is it known before the outcome?",
            )
        )
    constant = [c.name for c in columns if c.n_distinct + (c.n_missing > 0) <= 1]
    if constant:
        warnings.append(("Constant:", f"{_list_names(constant)}. They can be dropped."))
    empty = [
        f"{c.name} ({c.n_missing / c.numbers.size:.0%})"
        for c in columns
        if c.name not in constant and c.n_missing > _MOSTLY_MISSING * c.numbers.size
    ]
    if empty:
        warnings.append(("Mostly missing:", f"{_list_names(empty)}."))
    identifiers = [c.name for c in columns if _is_identifier(c)]
    if identifiers:
        warnings.append(
            (
                "Possible identifiers:",
                f"{_list_names(identifiers)}: every row has a value of its own, from which "
                "nothing can be learned for new rows.",
            )
        )
    same = _find_same(columns, set(constant))
    if same:
        warnings.append(("Equal columns:", f"{_list_names(same)}."))
    return warnings


def _is_identifier(column: TableColumn) -> bool:
    n_rows = column.numbers.size
    if n_rows < 50 or column.n_distinct < n_rows or column.n_missing:
        return False
    if not column.is_ordered:
        return True
    # Whole numbers that are counted up, in any order.
    span = float(column.numbers.max() - column.numbers.min())
    return column.kind == "whole number" and span < 1.5 * n_rows


def _find_same(columns: Sequence[TableColumn], ignored: set[str]) -> list[str]:
    seen: dict[bytes, str] = {}
    same = []
    for column in columns:
        if column.name in ignored:
            continue
        if column.labels is None:
            content = b"n" + (column.numbers + 0.0).tobytes()
        else:
            content = b"c" + "\0".join(column.labels.tolist()).encode()
        if content in seen:
            same.append(f"{column.name} = {seen[content]}")
        seen.setdefault(content, column.name)
    return same


def _check_rows(columns: Sequence[TableColumn], y: np.ndarray) -> list[tuple[str, str]]:
    if not columns:
        return []
    hashes = hash_rows(columns)
    found, places = np.unique(hashes, return_inverse=True)
    n_twice = hashes.size - found.size
    if not n_twice:
        return []
    codes = np.unique(y, return_inverse=True)[1]
    low = np.full(found.size, codes.max(initial=0))
    high = np.zeros(found.size, dtype=codes.dtype)
    np.minimum.at(low, places, codes)
    np.maximum.at(high, places, codes)
    n_torn = int((low < high)[places].sum())
    torn = f" {n_torn:,} rows have equal features and different targets." if n_torn else ""
    share = n_twice / hashes.size
    return [
        (
            "Duplicates:",
            f"{n_twice:,} rows ({share:.1%}) repeat the features of another row, so that a random "
            f"split may put the same row on both sides.{torn}",
        )
    ]


def _check_target(y: np.ndarray, is_classification: bool) -> list[tuple[str, str]]:
    if is_classification:
        classes, counts = np.unique(y, return_counts=True)
        if counts.min() * classes.size < _IMBALANCED * y.size:
            rare = classes[counts.argmin()]
            return [
                (
                    "Imbalance:",
                    f"class {rare} has {counts.min():,} of {y.size:,} rows "
                    f"({counts.min() / y.size:.1%}). Look at balanced accuracy, recall and "
                    "calibration rather than accuracy.",
                )
            ]
        return []
    values = y.astype(np.float64)
    q1, q3 = np.quantile(values, [0.25, 0.75])
    n_far = int(((values < q1 - 10 * (q3 - q1)) | (values > q3 + 10 * (q3 - q1))).sum())
    if q3 > q1 and n_far:
        return [
            (
                "Extreme targets:",
                f"{n_far:,} rows are more than ten interquartile ranges from the middle half; "
                "they dominate squared errors.",
            )
        ]
    return []


def _check_drift(drifts: Sequence[Drift]) -> list[tuple[str, str]]:
    certain = [f"{d.name} ({d.distance:.2f})" for d in drifts if d.is_certain]
    warnings = []
    if certain:
        warnings.append(
            (
                "Drift:",
                f"the distribution differs from the training rows in {_list_names(certain)} "
                "(distance between 0 and 1).",
            )
        )
    new = [f"{d.name} ({d.n_new})" for d in drifts if d.n_new]
    if new:
        warnings.append(
            ("New categories:", f"{_list_names(new)} have values the training rows lack.")
        )
    return warnings


def _check_overlap(
    train: Sequence[TableColumn], test: Sequence[TableColumn]
) -> list[tuple[str, str]]:
    shared = np.isin(hash_rows(test), hash_rows(train))
    n_shared = int(shared.sum())
    if not n_shared or not test:
        return []
    return [
        (
            "Known rows:",
            f"{n_shared:,} rows ({n_shared / shared.size:.1%}) have the same features as a "
            "training row; scores on them are too good.",
        )
    ]


def _check_target_drift(
    train: np.ndarray | None, test: np.ndarray, is_classification: bool
) -> list[tuple[str, str]]:
    if train is None:
        return []
    texts = is_classification
    a, b = (_as_column(own, texts) for own in (train, test))
    drift = find_drift([a], [b])[0]
    if not drift.is_certain:
        return []
    return [("Drift of the target:", f"its distribution differs by {drift.distance:.2f}.")]


def _as_column(y: np.ndarray, as_text: bool) -> TableColumn:
    if as_text:
        labels = y.astype(str)
        return TableColumn("target", False, np.zeros(y.size), labels, y)
    return TableColumn("target", True, y.astype(np.float64), None, y)


def _list_columns(
    columns: Sequence[TableColumn], skills: Sequence[float], drifts: dict[str, Drift]
) -> Table:
    heads = [
        Column("Column"),
        Column("Kind"),
        Column("Missing", ".1%"),
        Column("Distinct", ",d"),
        Column("Range or most frequent"),
        Column("Distribution"),
        Column("Alone", ".1%", "Share of the target's variance that this column predicts alone"),
    ]
    if drifts:
        heads.append(Column("Drift", ".2f", "Distance from the training rows, between 0 and 1"))
    order = np.argsort(-np.asarray(skills), kind="stable")[:_MOST_LISTED]
    rows = []
    for k in sorted(order.tolist()):
        column = columns[k]
        row: list[Any] = [
            column.name,
            column.kind,
            column.n_missing / max(column.numbers.size, 1),
            column.n_distinct,
            column.describe_range(),
            Spark(column.count_bars(), f"Distribution of {column.name}"),
            float(skills[k]),
        ]
        if drifts:
            row.append(drifts[column.name].distance)
        rows.append(row)
    caption = f"{len(columns)} columns"
    if len(rows) < len(columns):
        caption = f"The {len(rows)} of {len(columns)} columns that say most about the target"
    return Table(caption, heads, rows)


def _list_classes(y: np.ndarray) -> Table:
    classes, counts = np.unique(y, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:_MOST_LISTED]
    rows = [[str(classes[k]), int(counts[k]), float(counts[k] / y.size)] for k in order]
    caption = "Classes" if len(rows) == classes.size else f"The largest {len(rows)} classes"
    return Table(caption, [Column("Class"), Column("Rows", ",d"), Column("Share", ".1%")], rows)


def describe_target(y: np.ndarray) -> str:
    """Return the range and the mean of a numeric target."""
    low, high = format_number(float(y.min())), format_number(float(y.max()))
    return f"{low} to {high}, mean {format_number(float(y.mean()))}"
