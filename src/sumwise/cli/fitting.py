"""What `sumwise fit` does: choose a model, train it, rate it, save it."""

import argparse
from pathlib import Path
from time import perf_counter
from typing import Any

import sumwise
from sumwise.cli.console import Console
from sumwise.cli.metrics import rate_predictions
from sumwise.cli.models import AUTO, BOOSTING, MODELS, ModelChoice, ModelFile, build_model
from sumwise.cli.reading.files import STANDARD_INPUT, ReadOptions, read_table
from sumwise.cli.reading.roles import LabeledRows, Roles, assign_roles, label_rows, read_target
from sumwise.cli.usage import UsageError
from sumwise.cli.writing import check_target

_DEFAULT_LIMIT = 60.0


def fit_table(args: argparse.Namespace, options: ReadOptions, console: Console) -> dict[str, Any]:
    """Fit as the options say; return what was done, for JSON."""
    choice = MODELS[_choose_name(args)]
    output = args.output or _name_output(args.data)
    check_target(output)
    start = perf_counter()
    table = read_table(args.data, options)
    console.say(f"{table.name}: {table.n_rows:,} rows, {len(table.names)} columns")
    roles = assign_roles(table, args, console.say)
    rows = label_rows(table, roles, args.drop_missing, console.say)
    if roles.task == "classification" and len(set(rows.y.tolist())) < 2:
        raise UsageError(
            f"target {roles.target!r} has the same value {str(rows.y[0])!r} in all rows: there is "
            "nothing to learn"
        )
    model = build_model(choice, roles.task, _choose_parameters(args, choice, roles, console))
    keywords = _choose_fit_arguments(args, choice, rows)
    if args.valid is not None:
        valid = _read_valid(args, options, roles, rows)
        if choice.family == BOOSTING:
            keywords |= {"X_val": valid[0], "y_val": valid[1]}
    console.say(f"training {type(model).__name__} on {len(rows.y):,} rows")
    with console.show_warnings():
        fitting = perf_counter()
        X = rows.X
        model.fit(X, rows.y, **keywords)
        _name_features(model, X, roles.features)
        seconds = perf_counter() - fitting
        model = _save(model, output, rows, console)
    result = {
        "model": type(model).__name__,
        "file": output,
        "task": roles.task,
        "target": roles.target,
        "features": roles.features,
        "n_rows": len(rows.y),
        "fit_seconds": round(seconds, 3),
    }
    rounds = getattr(model, "best_iteration_", None)
    if rounds is not None:
        result["n_rounds"] = rounds
    if args.valid is not None:
        with console.show_warnings():
            scores = rate_predictions(ModelFile(output), valid[0], valid[1])
        result["scores"] = {score.name: score._asdict() for score in scores}
        console.print(f"on the {len(valid[1]):,} rows of {args.valid} (95 % interval):")
        console.print_table(
            ("metric", "value", "low", "high"),
            [(s.name, f"{s.value:.5g}", f"{s.low:.5g}", f"{s.high:.5g}") for s in scores],
        )
    size = Path(output).stat().st_size
    console.say(
        f"saved {output} ({size / 1e6:.2f} MB) after {perf_counter() - start:.1f} s, of which "
        f"{seconds:.1f} s of training"
    )
    return result


def _choose_name(args: argparse.Namespace) -> str:
    name = args.model or (AUTO if args.time_limit is not None else "boosting")
    if args.time_limit is not None and name != AUTO:
        raise UsageError(f"--time-limit needs --model {AUTO}; --model {name} has no time limit")
    stops = MODELS[name].family == BOOSTING
    if args.early_stopping and not stops:
        raise UsageError(f"--early-stopping: --model {name} has no rounds to stop at")
    return str(name)


def _name_output(source: str) -> str:
    return "model.sumwise" if source == STANDARD_INPUT else Path(source).stem + ".sumwise"


def _choose_parameters(
    args: argparse.Namespace, choice: ModelChoice, roles: Roles, console: Console
) -> dict[str, Any]:
    parameters: dict[str, Any] = {"n_jobs": args.jobs, "random_state": args.seed}
    if choice.family in (BOOSTING, "AutoEnsemble"):
        parameters["verbose"] = console.is_live
    if choice.family == "AutoEnsemble":
        parameters["time_limit"] = args.time_limit or _DEFAULT_LIMIT
    if args.early_stopping:
        parameters["early_stopping"] = True
        if roles.time is not None:
            parameters["validation_rows"] = "last"
    return {**parameters, **dict(args.parameters)}


def _choose_fit_arguments(
    args: argparse.Namespace, choice: ModelChoice, rows: LabeledRows
) -> dict[str, Any]:
    """Return the arguments of ``fit``: weights, and what keeps held-out rows honest."""
    keywords: dict[str, Any] = {}
    if rows.weight is not None:
        keywords["sample_weight"] = rows.weight
    if choice.family == "AutoEnsemble":
        if rows.group is not None:
            keywords["groups"] = rows.group
        if rows.roles.time is not None:
            keywords["time_order"] = True
    elif rows.group is not None and args.early_stopping:
        keywords["groups"] = rows.group
    return keywords


def _read_valid(
    args: argparse.Namespace, options: ReadOptions, roles: Roles, rows: LabeledRows
) -> tuple[Any, Any]:
    """Return X and y of the validation rows, read as the training rows were."""
    texts = {name for name in roles.features if rows.table.get(name).dtype.kind == "O"}
    if rows.y.dtype.kind == "O":
        texts.add(roles.target)
    table = read_table(args.valid, options, texts)
    table.require([roles.target], "--target")
    table.require(roles.features)
    valid = label_rows(table, _without_order(roles), args.drop_missing, lambda message: None)
    return valid.X, read_target(valid.table, roles.target, roles.task)


def _without_order(roles: Roles) -> Roles:
    return Roles(roles.target, roles.task, roles.features, [])


def _name_features(model: Any, X: Any, names: list[str]) -> None:
    """Store the names of the features, which a matrix does not have."""
    import numpy as np

    if isinstance(X, np.ndarray):
        model.feature_names_in_ = np.array(names, dtype=object)


def _save(model: Any, path: str, rows: LabeledRows, console: Console) -> Any:
    """Save a model; distill an ensemble that has no model file. Return what was saved."""
    try:
        model.save(path)
    except TypeError as error:
        if not hasattr(model, "distill"):
            raise UsageError(str(error)) from None
        console.say(
            "an automatic ensemble has no model file yet: saved is the boosting model that is "
            "distilled from it"
        )
        single: sumwise.GradientBoostingRegressor = model.distill()
        _name_features(single, rows.X, rows.roles.features)
        single.save(path)
        return single
    return model
