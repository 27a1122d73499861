"""The command line and the pictures that all examples share."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def read_options(description: str, argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the folder for pictures, and whether to use less data."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, help="folder for the picture; none is drawn without it")
    parser.add_argument("--quick", action="store_true", help="less data, for a first look")
    return parser.parse_args(argv)


def save(figure: Any, folder: Path, name: str) -> None:
    """Save a figure in a folder, which is made if needed, and close the figure."""
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / name)
    pyplot.close(figure)
