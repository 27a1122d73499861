"""`sumwise explain`: how much each feature adds to the predictions of a saved model."""

import argparse

from sumwise.cli.options import (
    add_common_options,
    add_format_options,
    find_read_options,
    read_count,
)

SUMMARY = "show what each feature adds to predictions (SHAP values)"
EXAMPLES = """
  sumwise explain model.sumwise rows.csv
  sumwise explain model.sumwise rows.csv --row 3
  sumwise explain model.sumwise rows.csv -o contributions.parquet --id customer
"""
_MOST_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `sumwise explain`."""
    from sumwise.cli.reading.files import FORMATS

    parser.add_argument("model", metavar="MODEL", help="model file that save or fit has written")
    parser.add_argument("data", metavar="ROWS", help="table of rows, or - for standard input")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="also write the contributions in every row"
    )
    parser.add_argument("--output-format", choices=FORMATS, help="default: by the name, else csv")
    parser.add_argument("--row", type=read_count, metavar="N", help="explain row N only, from 1")
    parser.add_argument(
        "--top",
        type=read_count,
        default=_MOST_SHOWN,
        metavar="N",
        help=f"features to print (default: {_MOST_SHOWN})",
    )
    parser.add_argument(
        "--id", action="append", metavar="COL", help="keep this column in the output"
    )
    add_format_options(parser)
    add_common_options(parser)


def run(args: argparse.Namespace) -> None:
    """Print the mean size of contributions, or those of one row; write all of them."""
    from sumwise.cli.console import Console
    from sumwise.cli.explaining import explain_table

    explain_table(args, find_read_options(args), Console(args.quiet, args.json))
