"""Rows with known targets for a model that was saved."""

import argparse

from sumwise.cli.console import Console
from sumwise.cli.models import ModelFile
from sumwise.cli.reading.files import ReadOptions
from sumwise.cli.reading.roles import (
    CLASSIFICATION,
    REGRESSION,
    LabeledRows,
    Roles,
    guess_target,
    label_rows,
)
from sumwise.cli.reading.table import Table
from sumwise.cli.usage import UsageError


def read_labeled(
    file: ModelFile, args: argparse.Namespace, options: ReadOptions, console: Console
) -> LabeledRows:
    """Read the rows that the options name; guess the target among the columns not in the model."""
    table = file.read(args.data, options, args.target)
    target = args.target
    if target is None:
        target = _guess_target(file, table)
        console.say(f"target: {target!r} (guessed; --target names another column)")
    table.require([target], "--target")
    for option in ("weight", "group"):
        name = getattr(args, option)
        if name is not None:
            table.require([name], f"--{option}")
    others = [name for name in (target, args.weight, args.group) if name is not None]
    roles = Roles(
        target,
        CLASSIFICATION if file.is_classifier else REGRESSION,
        file.list_features(table, others),
        [],
        args.weight,
        args.group,
    )
    return label_rows(table, roles, args.drop_missing, console.say)


def _guess_target(file: ModelFile, table: Table) -> str:
    extra = file.list_extra(table)
    if not extra:
        raise UsageError(
            f"{table.name} has only the features of the model, and no column with true values"
        )
    return guess_target(extra)
