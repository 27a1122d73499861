"""Options that several commands share."""

import argparse

from sumwise.cli.reading.files import FORMATS, ReadOptions
from sumwise.cli.reading.roles import TASKS

SEPARATOR_NAMES = {"tab": "\t", "\\t": "\t"}


def read_count(text: str, minimum: int = 1) -> int:
    """Return a whole number; raise ArgumentTypeError below the minimum."""
    try:
        value = int(text)
    except ValueError:
        value = minimum - 1
    if value < minimum:
        raise argparse.ArgumentTypeError(f"expected an integer of at least {minimum}, got {text!r}")
    return value


def read_fold_count(text: str) -> int:
    """Return a number of folds."""
    return read_count(text, minimum=2)


def read_seed(text: str) -> int:
    """Return a seed."""
    return read_count(text, minimum=0)


def read_seconds(text: str) -> float:
    """Return a positive number of seconds."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a positive number of seconds, got {text!r}")
    return value


def _read_separator(text: str) -> str:
    value = SEPARATOR_NAMES.get(text, text)
    if len(value) != 1:
        raise argparse.ArgumentTypeError(f"expected one character or 'tab', got {text!r}")
    return value


def add_format_options(parser: argparse.ArgumentParser) -> None:
    """Declare how tables are read."""
    group = parser.add_argument_group("reading tables")
    group.add_argument(
        "--format", choices=FORMATS, help="format of the rows (default: recognized by the content)"
    )
    group.add_argument(
        "--separator",
        type=_read_separator,
        metavar="CHAR",
        help="separator of a CSV file, or 'tab' (default: recognized)",
    )
    group.add_argument(
        "--no-header",
        action="store_true",
        help="the first line of a CSV file is a row; columns are column_1, column_2, ...",
    )
    group.add_argument(
        "--missing",
        action="append",
        default=[],
        metavar="TEXT",
        help="another text that means a missing value, such as '?'; may be repeated",
    )
    group.add_argument("--encoding", default="utf-8-sig", help="encoding of text (default: UTF-8)")


def find_read_options(args: argparse.Namespace) -> ReadOptions:
    """Return what :func:`add_format_options` has declared."""
    return ReadOptions(
        args.format, args.separator, not args.no_header, args.encoding, tuple(args.missing)
    )


def add_role_options(parser: argparse.ArgumentParser, *, weight: bool = True) -> None:
    """Declare the roles of columns."""
    group = parser.add_argument_group("columns")
    group.add_argument("--target", metavar="COL", help="what to predict (default: guessed)")
    group.add_argument("--task", choices=TASKS, help="default: guessed from the target")
    group.add_argument(
        "--id", action="append", metavar="COL", help="identifies a row, no feature; may be repeated"
    )
    if weight:
        group.add_argument("--weight", metavar="COL", help="weights of the rows")
    else:
        parser.set_defaults(weight=None)
    group.add_argument(
        "--group", metavar="COL", help="rows of a group, such as a customer, stay together"
    )
    group.add_argument("--time", metavar="COL", help="models predict later rows than they learn")
    group.add_argument(
        "--drop", action="append", metavar="COL", help="leave this column out; may be repeated"
    )
    group.add_argument(
        "--drop-missing", action="store_true", help="leave rows without a target out"
    )


def add_common_options(parser: argparse.ArgumentParser, *, json: bool = True) -> None:
    """Declare what all commands have."""
    group = parser.add_argument_group("messages")
    if json:
        group.add_argument("--json", action="store_true", help="print the result as JSON")
    group.add_argument("-q", "--quiet", action="store_true", help="no messages but errors")
    group.add_argument("--debug", action="store_true", help="show the traceback of an error")


def add_jobs_option(parser: argparse.ArgumentParser) -> None:
    """Declare the number of threads."""
    parser.add_argument("--jobs", type=read_count, metavar="N", help="threads (default: all CPUs)")
