"""Program: sources that are compiled together."""

from typing import NamedTuple


class Program(NamedTuple):
    """Sources that are compiled together.

    Attributes
    ----------
    name : str
    files : tuple of str
        Sources relative to the folder ``sumwise/cuda``; they include headers by such paths, too.
    header : str
        Text of the header ``layout.cuh``: constants and structures made from Python, see
        structs.py. Sources include it as ``#include "layout.cuh"``.
    """

    name: str
    files: tuple[str, ...]
    header: str
