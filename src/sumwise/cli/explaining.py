"""What `sumwise explain` does: Shapley values as tables."""

import argparse
from typing import Any

import numpy as np

from sumwise.cli.console import Console
from sumwise.cli.models import ModelFile
from sumwise.cli.reading.files import ReadOptions
from sumwise.cli.reading.roles import guess_ids
from sumwise.cli.usage import UsageError
from sumwise.cli.writing import check_target, find_output_format, write_columns
from sumwise.inspection.explanation import show_value


def explain_table(args: argparse.Namespace, options: ReadOptions, console: Console) -> None:
    """Explain the predictions for a table as the options say."""
    check_target(args.output)
    form = find_output_format(args.output, args.output_format)
    file = ModelFile(args.model)
    if not hasattr(file.model, "explain"):
        raise UsageError(f"{args.model}: {type(file.model).__name__} has no explanations")
    table = file.read(args.data, options)
    ids = list(args.id or [])
    table.require(ids, "--id")
    if not ids and file.names is not None:
        ids = guess_ids(table, file.list_extra(table))
    if args.row is not None:
        if args.row > table.n_rows:
            raise UsageError(f"--row {args.row}: {table.name} has {table.n_rows:,} rows")
        table = table.take(np.array([args.row - 1]))
    names = file.list_features(table, args.id or ())
    with console.show_warnings():
        explanation = file.model.explain(table.select(names))
    outputs = explanation.output_names
    labels = (outputs,) if isinstance(outputs, str) else (outputs or ("",))
    values = explanation.values.reshape(table.n_rows, len(names), len(labels))
    base = explanation.base_values.reshape(table.n_rows, len(labels))
    if args.row is None:
        _print_summary(console, names, labels, values, explanation.scale, args.top)
    else:
        known = [show_value(value) for value in np.asarray(explanation.data).reshape(-1)]
        _print_row(console, names, known, labels, values[0], base[0], explanation.scale, args.top)
    if args.output is not None:
        columns = {name: table.get(name) for name in ids}
        columns |= _list_columns(names, labels, values, base)
        write_columns(columns, args.output, form)
        if args.output != "-":
            console.say(f"wrote {args.output}: {table.n_rows:,} rows")


def _order(values: np.ndarray) -> np.ndarray:
    """Return the features by the mean size of their contributions, the largest first."""
    return np.argsort(-np.abs(values).mean(axis=0).sum(axis=1), kind="stable")


def _print_summary(
    console: Console,
    names: list[str],
    labels: tuple[str, ...],
    values: np.ndarray,
    scale: str,
    most: int,
) -> None:
    sizes = np.abs(values).mean(axis=0)
    order = _order(values)
    console.print(f"mean size of contributions to the {scale} in {len(values):,} rows")
    header = ("feature", *labels) if len(labels) > 1 else ("feature", "contribution")
    console.print_table(
        header, [(names[f], *(f"{size:.4g}" for size in sizes[f])) for f in order[:most]]
    )
    if order.size > most:
        console.print(f"and {order.size - most:,} more (--top)")
    result = [{"feature": names[f], **_by_label("contribution", labels, sizes[f])} for f in order]
    console.print_json({"scale": scale, "n_rows": len(values), "features": result})


def _print_row(
    console: Console,
    names: list[str],
    known: list[str],
    labels: tuple[str, ...],
    values: np.ndarray,
    base: np.ndarray,
    scale: str,
    most: int,
) -> None:
    order = _order(values[None])
    total = base + values.sum(axis=0)
    console.print(f"contributions to the {scale}")
    header = ("feature", "value", *(labels if len(labels) > 1 else ("contribution",)))
    rows = [("base value", "", *(f"{number:.5g}" for number in base))]
    rows += [(names[f], known[f], *(f"{v:+.4g}" for v in values[f])) for f in order[:most]]
    rows.append(("sum of all", "", *(f"{number:.5g}" for number in total)))
    console.print_table(header, rows)
    result = [
        {"feature": names[f], "value": known[f], **_by_label("contribution", labels, values[f])}
        for f in order
    ]
    sums = {**_by_label("base_value", labels, base), **_by_label("sum", labels, total)}
    console.print_json({"scale": scale, **sums, "features": result})


def _by_label(what: str, labels: tuple[str, ...], numbers: np.ndarray) -> dict[str, Any]:
    if len(labels) == 1:
        return {what: float(numbers[0])}
    return {what: dict(zip(labels, numbers.tolist(), strict=True))}


def _list_columns(
    names: list[str], labels: tuple[str, ...], values: np.ndarray, base: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the base value and the contribution of each feature; for each class, if several."""
    columns = {}
    for k, label in enumerate(labels):
        prefix = f"{label}: " if len(labels) > 1 else ""
        columns[f"{prefix}base value"] = base[:, k]
        columns |= {f"{prefix}{name}": values[:, f, k] for f, name in enumerate(names)}
    return columns
