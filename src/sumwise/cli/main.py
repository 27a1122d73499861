"""The entry point of the `sumwise` command: parse, dispatch, turn errors into exit codes."""

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

import sumwise
from sumwise.cli import (
    compare,
    completion,
    diversity,
    evaluate,
    explain,
    export,
    fit,
    info,
    predict,
    warmup,
)
from sumwise.cli.usage import UsageError, suggest
from sumwise.errors import (
    DataError,
    ExplanationError,
    ExportError,
    ModelFileError,
    ParameterError,
    SumwiseError,
)

_COMMANDS: dict[str, ModuleType] = {
    "compare": compare,
    "fit": fit,
    "predict": predict,
    "evaluate": evaluate,
    "explain": explain,
    "export": export,
    "diversity": diversity,
    "info": info,
    "warmup": warmup,
    "completion": completion,
}

SUCCESS, FAILURE, BAD_INPUT, INTERRUPTED, NO_READER = 0, 1, 2, 130, 141
_EXIT_CODES = f"""\
exit codes:
  {SUCCESS}    done
  {FAILURE}    the work has failed
  {BAD_INPUT}    an option or the input cannot be used
  {INTERRUPTED}  interrupted by Ctrl-C
"""
# What a user can correct.
_BAD_INPUT = (
    UsageError,
    argparse.ArgumentError,
    DataError,
    ExplanationError,
    ExportError,
    ModelFileError,
    ParameterError,
    ImportError,  # of an optional package, which the message names
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of examples, and the help of every command on its line."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        # argparse forgets that commands are indented.
        self._action_max_length = max(map(len, _COMMANDS)) + 4


class _Parser(argparse.ArgumentParser):
    """A parser whose errors suggest the command that was meant."""

    def error(self, message: str) -> NoReturn:
        start = "argument COMMAND: invalid choice: '"
        if message.startswith(start):
            message += suggest(message[len(start) :].split("'")[0], _COMMANDS)
        super().error(message)


def build_parser() -> argparse.ArgumentParser:
    """Declare the command line."""
    parser = _Parser(
        prog="sumwise",
        description="Ensemble learning from the command line.",
        epilog=f"examples:\n{_list_examples()}\n{_EXIT_CODES}\n"
        "`sumwise COMMAND --help` has the options and more examples of a command.",
        formatter_class=_Formatter,
    )
    parser.add_argument("--version", action="version", version=f"sumwise {sumwise.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, module in _COMMANDS.items():
        command = commands.add_parser(
            name,
            help=module.SUMMARY,
            description=f"{module.SUMMARY[0].upper()}{module.SUMMARY[1:]}.",
            epilog=f"examples:\n{module.EXAMPLES.strip(chr(10))}",
            formatter_class=_Formatter,
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def _list_examples() -> str:
    return "".join(
        module.EXAMPLES.strip("\n").splitlines()[0] + "\n"
        for module in (fit, predict, evaluate, compare)
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    args = build_parser().parse_args(argv)
    args.words = list(sys.argv[1:] if argv is None else argv)  # to be repeated in reports
    try:
        args.run(args)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("sumwise: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough. Python would complain about it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NO_READER
    except Exception as error:
        return _report(error, getattr(args, "debug", False))
    return SUCCESS


def _report(error: Exception, debug: bool) -> int:
    """Say what has failed, without a traceback unless it is asked for; return the exit code."""
    if debug:
        traceback.print_exc()
    is_known = isinstance(error, (SumwiseError, OSError, MemoryError, *_BAD_INPUT))
    message = str(error) or type(error).__name__
    if isinstance(error, OSError) and error.filename is not None:
        message = f"{error.filename}: {error.strerror}"
    if not is_known:
        message = f"{type(error).__name__}: {message}"
        if not debug:
            message += " (unexpected: --debug shows where)"
    print(f"sumwise: error: {message}", file=sys.stderr)
    return BAD_INPUT if isinstance(error, _BAD_INPUT) else FAILURE


if __name__ == "__main__":
    sys.exit(main())
