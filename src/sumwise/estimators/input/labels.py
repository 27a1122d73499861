"""Labels as numbers: integers are compared and looked up, by several threads; others are sorted."""

from collections.abc import Callable, Sequence

import numpy as np

from sumwise.errors import DataError
from sumwise.kernels.runtime.threads import Team
from sumwise.peers import Peers, gather_objects

# Integers in a range of at most this size are told apart without sorting.
_FEW_INTEGERS = 1 << 16
# Labels numbered at a time: what is made of them on the way stays in the cache.
_BLOCK = 1 << 15


def number_labels(
    y: np.ndarray, narrow: bool = False, team: Team | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct labels, sorted, and the index of each row's label.

    As :func:`numpy.unique`, which sorts all rows: slow if there are many and few labels. With
    ``narrow``, the indices may have a smaller type, which is faster.
    """
    team = Team(1) if team is None else team
    if y.dtype.kind in "biu" and y.size:
        low, high = _find_range(y, team)
        if high - low < _FEW_INTEGERS and high <= np.iinfo(np.intp).max:
            return _number_integers(y, low, high, narrow, team)
    integers = read_integers(y)
    if integers is not None:
        labels, indices = number_labels(integers, narrow, team)
        return labels.astype(y.dtype), indices
    labels, indices = np.unique(y, return_inverse=True)
    return labels, indices


def unite_classes(own_classes: np.ndarray, peers: Peers, name: str = "y") -> np.ndarray:
    """Return the distinct labels of all peers' rows, sorted, from those of this process.

    A process without rows has any empty array. Strings beside other labels are an error.
    """
    if peers.size == 1:
        return own_classes
    every = [classes for classes in gather_objects(peers, own_classes) if classes.size]
    if not every:
        return own_classes
    _refuse_mixed_classes(every, name)
    return np.unique(np.concatenate(every))


def _refuse_mixed_classes(every: Sequence[np.ndarray], name: str) -> None:
    """Raise DataError if only some labels are strings: they cannot be sorted."""
    labels = [label for classes in every for label in classes.tolist()]
    strings = [label for label in labels if isinstance(label, str)]
    if strings and len(strings) < len(labels):
        other = next(label for label in labels if not isinstance(label, str))
        raise DataError(
            f"{name} mixes labels of different types: {strings[0]!r} is a string, and {other!r} is "
            f"of type {type(other).__name__}; convert all to strings, for example by "
            f"[str(label) for label in {name}]"
        )


def read_integers(y: np.ndarray) -> np.ndarray | None:
    """Return floats that are few different integers in a new array; None for other labels."""
    if y.dtype.kind != "f" or not y.size:
        return None
    low, high = float(y.min()), float(y.max())
    if not (abs(low) <= _FEW_INTEGERS and high - low < min(_FEW_INTEGERS, y.size // 4)):
        return None
    integers = np.empty(y.size, dtype=np.int32)
    for block in list_blocks(0, y.size):
        own, same = y[block], integers[block]
        np.copyto(same, own, casting="unsafe")
        # The label -0.0 stays what it is.
        if not np.array_equal(own, same) or np.any((own == 0) & np.signbit(own)):
            return None
    return integers


def list_blocks(first: int, last: int) -> list[slice]:
    """Return rows [first, last) as slices whose values stay in the cache."""
    return [slice(begin, min(begin + _BLOCK, last)) for begin in range(first, last, _BLOCK)]


def look_up(table: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return ``table[indices]``; the indices may have any type of numbers."""
    found = np.empty(indices.size, dtype=table.dtype)
    for block in list_blocks(0, indices.size):
        # "clip": "raise" would copy, and all places are in the table.
        table.take(indices[block].astype(np.intp, copy=False), out=found[block], mode="clip")
    return found


def _number_integers(
    y: np.ndarray, low: int, high: int, narrow: bool, team: Team
) -> tuple[np.ndarray, np.ndarray]:
    """Number labels that are integers from ``low`` to ``high``."""
    is_label = _find_labels(y, low, high)
    labels = (np.flatnonzero(is_label) + low).astype(y.dtype)
    kind = np.min_scalar_type(labels.size - 1) if narrow else np.dtype(np.intp)
    indices = np.empty(y.size, dtype=kind)
    number = (is_label.cumsum() - 1).astype(kind)

    def compare(first: int, last: int) -> None:
        np.not_equal(y[first:last], labels[0], out=indices[first:last], casting="unsafe")

    def look_up(first: int, last: int) -> None:
        for block in list_blocks(first, last):
            # "clip": "raise" would copy, and all places are in the array.
            number.take(y[block].astype(np.intp) - low, out=indices[block], mode="clip")

    _share_out(compare if labels.size <= 2 else look_up, y.size, team)
    return labels, indices


def _find_labels(y: np.ndarray, low: int, high: int) -> np.ndarray:
    """Return which integers from ``low`` to ``high``, both of which are labels, are labels."""
    is_label = np.zeros(high - low + 1, dtype=np.bool_)
    is_label[[0, -1]] = True
    for block in list_blocks(0, y.size):
        if is_label.all():  # mostly after the first block
            break
        is_label[y[block].astype(np.intp) - low] = True
    return is_label


def _find_range(y: np.ndarray, team: Team) -> tuple[int, int]:
    """Return the lowest and the highest of integers."""
    found: list[tuple[int, int]] = []

    def find(first: int, last: int) -> None:
        if first < last:
            found.append((int(y[first:last].min()), int(y[first:last].max())))

    _share_out(find, y.size, team)
    return min(low for low, _ in found), max(high for _, high in found)


def _share_out(work: Callable[[int, int], None], n_rows: int, team: Team) -> None:
    """Do some work of NumPy, which runs without the GIL, on shares [first, last) of the rows."""

    def take_part(thread: int, n_threads: int, sync: np.ndarray) -> None:
        work(n_rows * thread // n_threads, n_rows * (thread + 1) // n_threads)

    team.run(take_part)
