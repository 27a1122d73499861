"""`sumwise fit`: train a model on a table and save it."""

import argparse
import sys

from sumwise.cli.options import (
    add_common_options,
    add_format_options,
    add_jobs_option,
    add_role_options,
    find_read_options,
    read_seconds,
    read_seed,
)

SUMMARY = "train a model on a table and save it"
EXAMPLES = """
  sumwise fit rents.csv --target rent
  sumwise fit data.parquet --target y --time-limit 60 -o best.sumwise
  sumwise fit train.csv --target y --valid valid.csv --set n_estimators=2000
  sumwise fit train.csv --target y --model forest --set max_features=0.5
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `sumwise fit`."""
    from sumwise.cli.models import MODELS, read_setting

    parser.add_argument("data", metavar="DATA", help="training rows, or - for standard input")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="model file (default: DATA with .sumwise)"
    )
    names = "; ".join(f"{name}: {choice.summary}" for name, choice in MODELS.items())
    parser.add_argument(
        "--model",
        choices=tuple(MODELS),
        metavar="NAME",
        help=f"{names} (default: boosting, or auto with --time-limit)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=read_setting,
        metavar="NAME=VALUE",
        dest="parameters",
        help="a parameter of the estimator, such as learning_rate=0.05; may be repeated",
    )
    parser.add_argument(
        "--time-limit",
        type=read_seconds,
        metavar="SECONDS",
        help="train, choose and combine many models within this time",
    )
    parser.add_argument(
        "--valid",
        metavar="FILE",
        help="rows that boosting stops by, and that the model is rated on",
    )
    parser.add_argument(
        "--early-stopping",
        action="store_true",
        help="hold out a tenth of the rows, and stop when they are predicted no better",
    )
    parser.add_argument("--seed", type=read_seed, default=0, metavar="N", help="default: 0")
    add_jobs_option(parser)
    add_role_options(parser)
    add_format_options(parser)
    add_common_options(parser)


def run(args: argparse.Namespace) -> None:
    """Train, save, and say what was found."""
    from sumwise.cli.console import Console
    from sumwise.cli.fitting import fit_table

    result = fit_table(args, find_read_options(args), Console(args.quiet, args.json))
    if args.json:
        Console(as_json=True).print_json(result)
    sys.stdout.flush()
