"""`sumwise predict`: the predictions of a saved model for the rows of a table."""

import argparse

from sumwise.cli.options import add_common_options, add_format_options, find_read_options

SUMMARY = "predict the rows of a table by a saved model"
EXAMPLES = """
  sumwise predict model.sumwise rows.csv
  sumwise predict model.sumwise rows.csv -o predictions.parquet --id customer
  cat rows.jsonl | sumwise predict model.sumwise - --no-probabilities
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `sumwise predict`."""
    from sumwise.cli.reading.files import FORMATS

    parser.add_argument("model", metavar="MODEL", help="model file that save or fit has written")
    parser.add_argument("data", metavar="ROWS", help="table of rows, or - for standard input")
    parser.add_argument("-o", "--output", metavar="FILE", help="default: standard output")
    parser.add_argument(
        "--output-format", choices=FORMATS, help="default: by the name of the output, else csv"
    )
    parser.add_argument(
        "--id", action="append", metavar="COL", help="keep this column; may be repeated"
    )
    parser.add_argument(
        "--keep-all", action="store_true", help="keep all columns of the table before predictions"
    )
    parser.add_argument(
        "--no-probabilities", action="store_true", help="only the prediction, for a classifier"
    )
    add_format_options(parser)
    add_common_options(parser, json=False)


def run(args: argparse.Namespace) -> None:
    """Predict, and write the predictions."""
    from sumwise.cli.console import Console
    from sumwise.cli.models import ModelFile, predict_columns
    from sumwise.cli.reading.roles import guess_ids
    from sumwise.cli.writing import check_target, find_output_format, write_columns

    console = Console(args.quiet)
    check_target(args.output)
    form = find_output_format(args.output, args.output_format)
    file = ModelFile(args.model)
    table = file.read(args.data, find_read_options(args))
    kept = list(args.id or [])
    table.require(kept, "--id")
    if args.keep_all:
        kept = list(table.names)
    elif not kept:
        kept = guess_ids(table, file.list_extra(table)) if file.names is not None else []
        for name in kept:
            console.say(f"id: {name!r} (guessed; --id names other columns)")
    with console.show_warnings():
        columns = predict_columns(file, file.select(table, kept if args.id else ()))
    if args.no_probabilities:
        columns = {k: v for k, v in columns.items() if not k.startswith("probability_")}
    result = {name: table.get(name) for name in kept} | columns
    write_columns(result, args.output, form)
    if args.output not in (None, "-"):
        console.say(f"wrote {args.output}: {table.n_rows:,} rows")
