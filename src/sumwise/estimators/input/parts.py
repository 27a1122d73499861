"""Partitions of rows with their labels and weights, which peers check alike."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sumwise.data.batches.agreement import agree
from sumwise.data.batches.learning import find_common_type
from sumwise.data.frames.reading import read_array
from sumwise.errors import DataError
from sumwise.estimators.input.targets import read_sample_weight, read_target, refuse_no_weight
from sumwise.peers import Peers


class Part(NamedTuple):
    """A partition: some rows, and what belongs to them.

    Attributes
    ----------
    number : int
        Its place among all partitions. The rows of the whole data are in the order of these
        numbers, whichever process has them.
    X : frame or array of two dimensions
    y : array-like
    sample_weight, init_score, groups : array-like or None
        Either all partitions have them, or none.
    """

    number: int
    X: Any
    y: Any
    sample_weight: Any = None
    init_score: Any = None
    groups: Any = None


class Labels(NamedTuple):
    """What belongs to the rows of a process; None where no process has any."""

    y: np.ndarray
    sample_weight: np.ndarray | None
    init_score: np.ndarray | None
    groups: np.ndarray | None


class _Column(NamedTuple):
    """What arrays of several partitions have to agree on: their types, and all sizes but one."""

    place: str
    dtype: np.dtype
    sizes: tuple[int, ...]


def read_labels(
    parts: Sequence[Part],
    n_rows: Sequence[int],
    is_number: bool,
    peers: Peers,
    suffix: str = "",
) -> Labels:
    """Return what belongs to the rows of all partitions of this process, one after the other.

    Parameters
    ----------
    parts : sequence of Part
        The partitions of this process, in the order of their numbers.
    n_rows : sequence of int
        Their numbers of rows.
    is_number : bool
        Whether y must be numbers, possibly several per row; otherwise it may be labels.
    peers : Peers
        They have the other partitions. All raise the same errors.
    suffix : str
        Follows names in messages: "_val" for validation sets.
    """
    found: list[Labels] = []

    def read() -> list[list[_Column | None]]:
        for part, n in zip(parts, n_rows, strict=True):
            found.append(_read_part(part, n, is_number, suffix))
        return [_describe(part, own) for part, own in zip(parts, found, strict=True)]

    known = [own for described in agree(peers, read) for own in described]
    columns = []
    for k, field in enumerate(Labels._fields):
        own = [labels[k] for labels in found]
        columns.append(_join(own, [each[k] for each in known], field + suffix))
    labels = Labels(*columns)
    if labels.sample_weight is not None:
        largest = peers.largest(np.array([labels.sample_weight.max(initial=0.0)]))
        refuse_no_weight(float(largest[0]), f"sample_weight{suffix}")
    return labels


def _read_part(part: Part, n_rows: int, is_number: bool, suffix: str) -> Labels:
    """Check what belongs to the rows of a partition."""

    def name(field: str) -> str:
        return f"{field}{suffix} of partition {part.number}"

    if part.y is None:
        raise DataError(f"{name('y')} is missing")
    y = read_target(part.y, is_number, name("y"), many=is_number)
    weight = part.sample_weight
    if weight is not None:
        weight = read_sample_weight(weight, n_rows, name("sample_weight"))
    others = (
        None if own is None else np.asarray(read_array(own))
        for own in (part.init_score, part.groups)
    )
    labels = Labels(y, weight, *others)
    for field, own in zip(Labels._fields, labels, strict=True):
        if own is not None and len(own) != n_rows:
            raise DataError(
                f"partition {part.number} has {n_rows} rows in X{suffix}, and {len(own)} in "
                f"{field}{suffix}"
            )
    return labels


def _describe(part: Part, labels: Labels) -> list[_Column | None]:
    place = f"partition {part.number}"
    return [None if own is None else _Column(place, own.dtype, own.shape[1:]) for own in labels]


def _join(own: Sequence[Any], known: Sequence[_Column | None], name: str) -> Any:
    """Join arrays of this process to one of the type that all partitions together would have."""
    given = [column for column in known if column is not None]
    if not given:
        return None
    if len(given) < len(known):
        raise DataError(
            f"{given[0].place} has {name}, and another partition has none; pass it for all "
            "partitions, or for none"
        )
    sizes = given[0].sizes
    for column in given:
        if column.sizes != sizes:
            raise DataError(
                f"{name} has {_count(column.sizes)} in {column.place}, and {_count(sizes)} in "
                f"{given[0].place}"
            )
    dtypes = {column.dtype for column in given}
    if len({dtype.kind in "US" for dtype in dtypes}) == 2:  # NumPy would make strings of numbers
        dtypes = {np.dtype(object)}
    dtype = find_common_type(list(dtypes))
    return np.concatenate([np.empty((0, *sizes), dtype), *own], dtype=dtype, casting="unsafe")


def _count(sizes: tuple[int, ...]) -> str:
    return f"{sizes[0] if sizes else 1} column(s)"
