"""The entry point of the `sumwise` command: parse, dispatch, turn errors into exit codes."""

import argparse
import sys
from collections.abc import Sequence

import sumwise
from sumwise.cli import compare, info, warmup

_COMMANDS = {
    "compare": (compare, "cross-validate sumwise and scikit-learn side by side"),
    "info": (info, "print versions, settings and the GPUs that are found"),
    "warmup": (warmup, "compile all kernels now"),
}


def build_parser() -> argparse.ArgumentParser:
    """Declare the command line."""
    parser = argparse.ArgumentParser(prog="sumwise", description="Ensemble learning.")
    parser.add_argument("--version", action="version", version=f"sumwise {sumwise.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, (module, summary) in _COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=f"{summary.capitalize()}.")
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code: 0, or 2 for an error that the user can correct."""
    args = build_parser().parse_args(argv)
    try:
        args.run(args)
    except (argparse.ArgumentError, OSError) as error:
        print(f"sumwise: error: {error}", file=sys.stderr)
        return 2
    return 0
