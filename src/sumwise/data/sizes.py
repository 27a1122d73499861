"""The memory of objects that are made of arrays."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def count_bytes(value: Any) -> int:
    """Return the bytes of all arrays in an object; other values count nothing.

    Objects say by ``__sizeof__`` how large they are, because Dask asks for it: it sends a large one
    to a worker once, not with every task.
    """
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, Mapping):
        return sum(map(count_bytes, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(count_bytes, value))
    if is_dataclass(value):
        return sum(count_bytes(getattr(value, field.name)) for field in fields(value))
    return 0
