"""`sumwise compare`: ensembles side by side, cross-validated."""

import argparse
from pathlib import Path

from sumwise.cli.options import (
    add_common_options,
    add_format_options,
    add_jobs_option,
    add_role_options,
    find_read_options,
    read_count,
    read_fold_count,
)

SUMMARY = "cross-validate the ensembles of sumwise side by side"
EXAMPLES = """
  sumwise compare
  sumwise compare flats.csv --target rent --report report.html --save best.sumwise
  sumwise compare --data digits --data friedman --rounds 50
"""
_NAMES = ("rentals", "breast_cancer", "diabetes", "friedman", "digits")
_METRICS = ("accuracy", "balanced_accuracy", "log_loss", "roc_auc", "r2", "rmse", "mae")


def _read_limit(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected seconds, or 0 to leave it out, got {text!r}")
    return value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `sumwise compare`."""
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="table of your own, or - for standard input"
    )
    parser.add_argument(
        "--data",
        action="append",
        choices=_NAMES,
        help="data set that needs no file, may be repeated: %(choices)s (default: rentals)",
        metavar="NAME",
    )
    parser.add_argument("--folds", type=read_fold_count, default=5, metavar="N", help="default: 5")
    parser.add_argument(
        "--rounds",
        type=read_count,
        default=100,
        metavar="N",
        help="rounds and members of an ensemble (default: 100)",
    )
    parser.add_argument("--metric", choices=_METRICS, help="default: accuracy, or r2")
    parser.add_argument(
        "--auto-seconds",
        type=_read_limit,
        default=3.0,
        metavar="S",
        help="time limit of the automatic ensemble for each fold; 0: without it (default: 3)",
    )
    parser.add_argument(
        "--max-rows",
        type=read_count,
        default=20_000,
        metavar="N",
        help="compare on so many random rows of a larger table (default: 20000)",
    )
    parser.add_argument(
        "--report",
        action="append",
        default=[],
        type=Path,
        metavar="PATH",
        help="write a report: of HTML, or of Markdown if it ends in .md; may be repeated",
    )
    parser.add_argument(
        "--save", type=Path, metavar="PATH", help="fit the best model to all rows and save it"
    )
    add_jobs_option(parser)
    add_role_options(parser, weight=False)
    add_format_options(parser)
    add_common_options(parser)


def run(args: argparse.Namespace) -> None:
    """Compare on each data set; print tables; write reports and the best model."""
    from sumwise.cli.comparing.command import compare_all
    from sumwise.cli.console import Console

    compare_all(args, find_read_options(args), Console(args.quiet, args.json))
