"""`sumwise info`: what a model file is; without one, versions, settings and GPUs."""

import argparse

from sumwise.cli.options import add_common_options

SUMMARY = "describe a model file; without one, versions, settings and GPUs"
EXAMPLES = """
  sumwise info
  sumwise info model.sumwise
  sumwise info model.sumwise --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `sumwise info`."""
    parser.add_argument("model", metavar="MODEL", nargs="?", help="model file")
    add_common_options(parser)


def run(args: argparse.Namespace) -> None:
    """Print the description."""
    from sumwise.cli.console import Console
    from sumwise.estimators.versions import describe_versions

    console = Console(args.quiet, args.json)
    if args.model is None:
        text = describe_versions()
        console.print(text)
        console.print_json({"versions": text.splitlines()})
        return
    from sumwise.cli.describing import describe_file, format_description

    found = describe_file(args.model)
    console.print(format_description(found))
    console.print_json(found)
