"""`sumwise info`: print versions, settings and GPUs."""

import argparse

from sumwise.estimators.versions import show_versions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare no option: there is none."""


def run(args: argparse.Namespace) -> None:
    """Print the report."""
    show_versions()
