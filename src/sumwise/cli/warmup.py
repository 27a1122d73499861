"""`sumwise warmup`: compile every kernel now."""

import argparse
import os

from sumwise.cli.options import add_common_options, read_count

SUMMARY = "compile all kernels now"
EXAMPLES = """
  sumwise warmup
  sumwise warmup --jobs 2 --gpu 90
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `sumwise warmup`."""
    parser.add_argument(
        "--jobs",
        type=read_count,
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes that compile side by side (default: one per CPU)",
    )
    parser.add_argument(
        "--gpu",
        type=int,
        action="append",
        metavar="ARCHITECTURE",
        help="compile for GPUs of compute capability 9.0 if it is 90 (default: the GPUs found)",
    )
    add_common_options(parser, json=False)


def run(args: argparse.Namespace) -> None:
    """Compile with one line on standard error per step, and print the total time."""
    from sumwise.cli.compiling import compile_all_kernels  # takes as long to import as the rest
    from sumwise.cli.console import Console

    console = Console(args.quiet)
    seconds = compile_all_kernels(args.jobs, args.gpu, console.say)
    console.print(f"Kernels ready in {seconds:.1f} s")
