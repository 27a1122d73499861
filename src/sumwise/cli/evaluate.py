"""`sumwise evaluate`: how well a saved model predicts rows with known targets."""

import argparse

from sumwise.cli.options import add_common_options, add_format_options, find_read_options

SUMMARY = "rate a saved model on rows with known targets"
EXAMPLES = """
  sumwise evaluate model.sumwise test.csv --target rent
  sumwise evaluate model.sumwise test.csv --target churned --group customer --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `sumwise evaluate`."""
    parser.add_argument("model", metavar="MODEL", help="model file that save or fit has written")
    parser.add_argument("data", metavar="ROWS", help="table of rows, or - for standard input")
    parser.add_argument("--target", metavar="COL", help="the true values (default: guessed)")
    parser.add_argument("--weight", metavar="COL", help="weights of the rows")
    parser.add_argument(
        "--group", metavar="COL", help="intervals resample groups, such as customers, not rows"
    )
    parser.add_argument(
        "--drop-missing", action="store_true", help="leave rows without a target out"
    )
    add_format_options(parser)
    add_common_options(parser)


def run(args: argparse.Namespace) -> None:
    """Print each metric with its 95 % interval."""
    from sumwise.cli.console import Console
    from sumwise.cli.labeled import read_labeled
    from sumwise.cli.metrics import rate_predictions
    from sumwise.cli.models import ModelFile

    console = Console(args.quiet, args.json)
    file = ModelFile(args.model)
    rows = read_labeled(file, args, find_read_options(args), console)
    with console.show_warnings():
        scores = rate_predictions(file, rows.X, rows.y, rows.weight, rows.group)
    console.print(f"{len(rows.y):,} rows, 95 % intervals by bootstrap")
    console.print_table(
        ("metric", "value", "low", "high"),
        [(s.name, f"{s.value:.5g}", f"{s.low:.5g}", f"{s.high:.5g}") for s in scores],
    )
    console.print_json(
        {
            "file": args.model,
            "n_rows": len(rows.y),
            "scores": {s.name: {"value": s.value, "low": s.low, "high": s.high} for s in scores},
        }
    )
