"""What a person sees: messages on standard error, tables and JSON on standard output."""

import json
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np

from sumwise.cli.tables import align_columns


class Console:
    """Where a command writes to.

    Parameters
    ----------
    quiet : bool
        Whether messages that are not warnings or errors are left out.
    as_json : bool
        Whether the result is one JSON object, in place of text.
    """

    def __init__(self, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet = quiet
        self.as_json = as_json

    @property
    def is_live(self) -> bool:
        """Whether a person watches standard error, and wants to see progress."""
        return not self.quiet and is_terminal(sys.stderr)

    def say(self, message: str) -> None:
        """Write a message to standard error, unless quiet."""
        if not self.quiet:
            _write_line(sys.stderr, message)

    def warn(self, message: str) -> None:
        """Write a warning to standard error."""
        _write_line(sys.stderr, f"sumwise: warning: {message}")

    def print(self, text: str) -> None:
        """Write text to standard output, unless the result is JSON."""
        if not self.as_json:
            _write_line(sys.stdout, text)

    def print_table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Write an aligned table to standard output, unless the result is JSON."""
        self.print(align_columns(header, rows))

    def print_json(self, result: Any) -> None:
        """Write the result as JSON, if JSON is wanted."""
        if self.as_json:
            _write_line(sys.stdout, json.dumps(to_plain(result), ensure_ascii=False, indent=2))

    @contextmanager
    def overwrite(self) -> Iterator[Callable[[str], None]]:
        """Yield what shows a line that the next one overwrites; nothing if nobody watches."""
        written = ""

        def show(text: str) -> None:
            nonlocal written
            sys.stderr.write("\r" + text.ljust(len(written)))
            sys.stderr.flush()
            written = text

        try:
            yield show if self.is_live else lambda text: None
        finally:
            if written:
                sys.stderr.write("\r" + " " * len(written) + "\r")
                sys.stderr.flush()

    @contextmanager
    def show_warnings(self) -> Iterator[None]:
        """Within this context, warnings of Python are messages of one line, each once."""
        seen = set()

        def show(message: Any, category: Any, *place: Any, **options: Any) -> None:
            text = str(message)
            is_ours = not issubclass(category, DeprecationWarning | FutureWarning)
            if is_ours and text not in seen:
                seen.add(text)
                self.warn(text)

        with warnings.catch_warnings():
            warnings.simplefilter("default")
            # Feature names are checked when columns are chosen.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            warnings.showwarning = show
            yield


def _write_line(stream: Any, text: str) -> None:
    """Write a line; a character that the stream cannot hold becomes a question mark."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "replace").decode(encoding) + "\n")
    stream.flush()


def is_terminal(stream: Any) -> bool:
    """Whether a stream is a terminal; a closed one is none."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def has_rich() -> bool:
    """Whether the package rich is installed."""
    return find_spec("rich") is not None


def to_plain(value: Any) -> Any:
    """Return what JSON can hold: numbers of NumPy as those of Python, None in place of NaN."""
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return to_plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
