"""Where a model of another library comes from: a file, its content, or an object."""

import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from sumwise.errors import ModelFileError
from sumwise.export.files import name_source, read_bytes

# What reading a file of unknown content may raise.
_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)


@contextlib.contextmanager
def reading(source: Any, library: str) -> Iterator[None]:
    """Turn whatever broken content raises into a ModelFileError that names the file."""
    path = source if is_path(source) else None
    with contextlib.nullcontext() if path is None else name_source(path):
        try:
            with np.errstate(all="ignore"):  # numbers are checked in the end
                yield
        except ModelFileError:
            raise
        except _ERRORS as error:
            what = f"not a model of {library} that this version can read"
            raise ModelFileError(f"{what} ({type(error).__name__}: {error})") from error


def is_path(source: Any) -> bool:
    """Whether a source is the path of a file; text is no path."""
    if isinstance(source, str):
        return source.lstrip()[:1] != "{" and "\n" not in source
    return isinstance(source, os.PathLike)


def read_content(source: Any) -> bytes:
    """Return the content of a path or an open file, or bytes or text as bytes."""
    if isinstance(source, str) and not is_path(source):
        return source.encode()
    return bytes(read_bytes(source))


def parse_json(content: bytes) -> dict[str, Any]:
    """Return a JSON object."""
    data = json.loads(content)
    if not isinstance(data, dict):
        raise ModelFileError("the file is not a JSON object")
    return data
