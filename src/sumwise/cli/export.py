"""`sumwise export`: a saved model as source code, or as a file for other programs."""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

from sumwise.cli.options import add_common_options

SUMMARY = "write a saved model for other programs"
EXAMPLES = """
  sumwise export model.sumwise -o model.onnx
  sumwise export model.sumwise --format c --name rent > rent.c
  sumwise export model.sumwise --format sql --table flats --keep id -o rent.sql
"""


class ExportFormat(NamedTuple):
    """The function of sumwise.export that writes a format, and the usual end of its files."""

    function: str
    suffix: str
    is_text: bool = True
    has_name: bool = False


FORMATS = {
    "onnx": ExportFormat("to_onnx", ".onnx", is_text=False),
    "c": ExportFormat("to_c", ".c", has_name=True),
    "cpp": ExportFormat("to_cpp", ".cpp", has_name=True),
    "python": ExportFormat("to_python", ".py", has_name=True),
    "sql": ExportFormat("to_sql", ".sql"),
    "pmml": ExportFormat("to_pmml", ".pmml"),
    "json": ExportFormat("to_json", ".json"),
    "coreml": ExportFormat("to_coreml", ".mlmodel", is_text=False),
    "lightgbm": ExportFormat("to_lightgbm", ".txt"),
    "xgboost": ExportFormat("to_xgboost", ".ubj"),
}
_BY_SUFFIX = {form.suffix: name for name, form in FORMATS.items()}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `sumwise export`."""
    parser.add_argument("model", metavar="MODEL", help="model file that save or fit has written")
    parser.add_argument(
        "--format", choices=tuple(FORMATS), help="default: by the name of the output"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="default: standard output, for formats of text"
    )
    parser.add_argument("--name", default="model", help="prefix of names in code (default: model)")
    parser.add_argument("--header", action="store_true", help="c, cpp: the header in its place")
    parser.add_argument("--table", default="data", help="sql: the table of rows (default: data)")
    parser.add_argument("--dialect", default="ansi", help="sql: ansi, sqlite, duckdb or postgres")
    parser.add_argument(
        "--keep", action="append", default=[], metavar="COL", help="sql: keep this column"
    )
    add_common_options(parser, json=False)


def run(args: argparse.Namespace) -> None:
    """Export to the output."""
    from sumwise import export
    from sumwise.cli.console import Console
    from sumwise.cli.models import ModelFile
    from sumwise.cli.usage import UsageError
    from sumwise.cli.writing import check_target, write_file, write_to_screen

    console = Console(args.quiet)
    name = args.format or _BY_SUFFIX.get(Path(args.output or "").suffix.lower())
    if name is None:
        raise UsageError(f"--format is needed: one of {', '.join(FORMATS)}")
    form = FORMATS[name]
    to_screen = args.output in (None, "-")
    if to_screen and not form.is_text:
        raise UsageError(f"--format {name} is not text: name a file by --output")
    check_target(args.output)
    file = ModelFile(args.model)
    write = getattr(export, form.function)
    options = _choose_options(args, name, form)
    with console.show_warnings():
        if not form.is_text:
            write(file.model, path=args.output, **options)
        elif to_screen:
            write_to_screen(write(file.model, **options).removesuffix("\n") + "\n")
        else:
            write_file(args.output, write(file.model, **options))
    if not to_screen:
        size = Path(args.output).stat().st_size
        console.say(f"wrote {args.output} ({size / 1e6:.2f} MB)")


def _choose_options(args: argparse.Namespace, name: str, form: ExportFormat) -> dict[str, Any]:
    options: dict[str, Any] = {"name": args.name} if form.has_name else {}
    if name in ("c", "cpp"):
        options["header"] = args.header
    if name == "sql":
        options |= {"table": args.table, "dialect": args.dialect, "keep": args.keep}
    return options
