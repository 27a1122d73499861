"""What `sumwise diversity` does: measures of the diversity of members on labeled rows."""

import argparse
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from sumwise import diversity, member_predictions
from sumwise.cli.console import Console
from sumwise.cli.labeled import read_labeled
from sumwise.cli.models import ModelFile
from sumwise.cli.reading.files import STANDARD_INPUT, ReadOptions
from sumwise.cli.usage import UsageError
from sumwise.errors import DataError

_PAIRWISE = {
    "disagreement": diversity.disagreement,
    "correlation": diversity.correlation,
    "Q": diversity.q_statistic,
    "kappa": diversity.kappa,
    "double fault": diversity.double_fault,
}
_OF_ALL = {
    "Kohavi-Wolpert variance": diversity.kohavi_wolpert_variance,
    "interrater kappa": diversity.interrater_kappa,
    "entropy": diversity.entropy,
    "difficulty": diversity.difficulty,
}
# With more members, pairs are summarized.
_MOST_MEMBERS = 8


def compare_members(args: argparse.Namespace, options: ReadOptions, console: Console) -> None:
    """Compare the members of one model, or several models, on rows with known targets."""
    files = [ModelFile(path) for path in args.models]
    first = files[0]
    if args.data == STANDARD_INPUT and len(files) > 1:
        raise UsageError("several models read the rows one after another: name a file")
    rows = read_labeled(first, args, options, console)
    with console.show_warnings():
        if len(files) == 1:
            labels, values = _predict_members(first, rows.X)
        else:
            labels, values = _predict_all(files, args, options)
    if values.shape[1] < 2:
        raise UsageError(f"{args.models[0]} has one member; diversity needs two or more")
    if first.is_classifier:
        result = _describe_votes(labels, values, rows.y, rows.weight, console)
    else:
        result = _describe_numbers(labels, values, rows.y, rows.weight, console)
    console.print_json({"n_rows": len(rows.y), "members": list(labels), **result})


def _predict_members(file: ModelFile, X: Any) -> tuple[tuple[str, ...], np.ndarray]:
    try:
        return member_predictions(file.model, X)
    except DataError:
        if hasattr(file.model, "estimators_"):
            raise
        raise UsageError(
            f"{file.path} is a single {type(file.model).__name__}, whose trees do not predict on "
            "their own; name a forest, or several models"
        ) from None


def _predict_all(
    files: list[ModelFile], args: argparse.Namespace, options: ReadOptions
) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the names and predictions of several models; each reads the rows in its own way."""
    kinds = {file.is_classifier for file in files}
    if len(kinds) > 1:
        raise UsageError("the models are of different tasks: classification and regression")
    silent = Console(quiet=True)
    columns = []
    for file in files:
        rows = read_labeled(file, args, options, silent)
        columns.append(np.asarray(file.model.predict(rows.X)))
    names = [Path(file.path).stem for file in files]
    if len(set(names)) < len(names):
        names = [file.path for file in files]
    return tuple(names), np.column_stack(columns)


def _describe_numbers(
    labels: tuple[str, ...],
    values: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None,
    console: Console,
) -> dict[str, Any]:
    values = values.astype(np.float64)
    error, mean_error, ambiguity = diversity.ambiguity_decomposition(
        values, y, sample_weight=weight
    )
    console.print(f"{len(labels):,} members on {len(y):,} rows")
    console.print("squared error of their average = mean error of the members - their ambiguity")
    console.print(f"  {error:.5g} = {mean_error:.5g} - {ambiguity:.5g}")
    with np.errstate(invalid="ignore"):
        correlations = np.corrcoef(values - y[:, None], rowvar=False)
    pairs = {"correlation of errors": lambda i, j: float(correlations[i, j])}
    found = _describe_pairs(labels, pairs, console)
    parts = {"error": error, "mean_error": mean_error, "ambiguity": ambiguity}
    return {"decomposition": parts, **found}


def _describe_votes(
    labels: tuple[str, ...],
    values: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None,
    console: Console,
) -> dict[str, Any]:
    if values.dtype.kind == "O":
        values, y = values.astype(str), y.astype(str)
    parts = diversity.vote_decomposition(values, y, sample_weight=weight)
    console.print(f"{len(labels):,} members on {len(y):,} rows")
    console.print(
        "error of their vote = mean error of the members - good diversity + bad diversity"
    )
    console.print(
        f"  {parts.ensemble_error:.4f} = {parts.mean_error:.4f} - {parts.good:.4f} + "
        f"{parts.bad:.4f}"
    )
    of_all = {name: f(values, y, sample_weight=weight) for name, f in _OF_ALL.items()}
    for name, number in of_all.items():
        console.print(f"  {name}: {number:.4f}")
    pairs = {
        name: lambda i, j, f=measure: float(f(values[:, i], values[:, j], y, sample_weight=weight))
        for name, measure in _PAIRWISE.items()
    }
    found = _describe_pairs(labels, pairs, console)
    decomposition = {
        "error": parts.ensemble_error,
        "mean_error": parts.mean_error,
        "good": parts.good,
        "bad": parts.bad,
    }
    return {"decomposition": decomposition, "of_all": of_all, **found}


def _describe_pairs(labels: tuple[str, ...], measures: Any, console: Console) -> dict[str, Any]:
    """Print the measures of each pair, or their means and ranges if there are many pairs."""
    pairs = list(combinations(range(len(labels)), 2))
    if len(pairs) > 2_000:  # a sample of the pairs tells the same
        chosen = np.random.default_rng(0).choice(len(pairs), 2_000, replace=False)
        pairs = [pairs[k] for k in np.sort(chosen)]
    found = {name: [measure(i, j) for i, j in pairs] for name, measure in measures.items()}
    console.print("")
    if len(labels) <= _MOST_MEMBERS:
        rows = [
            (f"{labels[i]}, {labels[j]}", *(f"{found[name][k]:.3f}" for name in found))
            for k, (i, j) in enumerate(pairs)
        ]
        console.print_table(("pair of members", *found), rows)
    else:
        table = [
            (name, f"{np.nanmean(v):.3f}", f"{np.nanmin(v):.3f}", f"{np.nanmax(v):.3f}")
            for name, v in found.items()
        ]
        console.print_table((f"over {len(pairs):,} pairs", "mean", "lowest", "highest"), table)
    named = [[labels[i], labels[j]] for i, j in pairs]
    return {
        "pairs": [
            {"members": pair, **{n: found[n][k] for n in found}} for k, pair in enumerate(named)
        ]
    }
