"""`sumwise diversity`: how different the members of an ensemble are, and what that gains."""

import argparse

from sumwise.cli.options import add_common_options, add_format_options, find_read_options

SUMMARY = "measure how different the members of an ensemble, or several models, are"
EXAMPLES = """
  sumwise diversity forest.sumwise test.csv --target y
  sumwise diversity boosting.sumwise forest.sumwise test.csv --target y
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `sumwise diversity`."""
    parser.add_argument(
        "models",
        nargs="+",
        metavar="MODEL",
        help="one ensemble, whose members are compared; or several models",
    )
    parser.add_argument("data", metavar="ROWS", help="table of rows, or - for standard input")
    parser.add_argument("--target", metavar="COL", help="the true values (default: guessed)")
    parser.add_argument("--weight", metavar="COL", help="weights of the rows")
    parser.add_argument(
        "--drop-missing", action="store_true", help="leave rows without a target out"
    )
    add_format_options(parser)
    add_common_options(parser)


def run(args: argparse.Namespace) -> None:
    """Print the decomposition of the error, and the similarity of pairs of members."""
    from sumwise.cli.comparing_members import compare_members
    from sumwise.cli.console import Console

    args.group = None
    compare_members(args, find_read_options(args), Console(args.quiet, args.json))
