"""The command line that all examples share."""

import argparse
from collections.abc import Sequence
from pathlib import Path


def read_options(description: str, argv: Sequence[str] | None) -> argparse.Namespace:
    """Read where to write the picture, and whether to hurry."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, help="folder for the picture; none is drawn without")
    parser.add_argument("--quick", action="store_true", help="less data, for a first look")
    return parser.parse_args(argv)


def find_place(folder: Path, name: str) -> Path:
    """Make the folder, and return the path of a picture in it."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name
