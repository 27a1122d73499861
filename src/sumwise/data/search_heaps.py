"""Thresholds as kernels of a device search in them: heaps, four columns at a time."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sumwise.cuda.runtime.device import Device
from sumwise.cuda.table import QUAD
from sumwise.kernels.predict.coding import round_down

# Bytes of thresholds that a block holds in shared memory.
_SEARCH_BYTES = 1 << 16


class QuadGroup(NamedTuple):
    """Quads that are searched by one launch, and where their items are."""

    first_quad: int
    last_quad: int
    search_first: int
    search_last: int


class SearchHeaps(NamedTuple):
    """Thresholds of columns, for values of one type.

    Attributes
    ----------
    quads : ndarray of int32, shape (n_quads, 4)
        First column, number of columns, steps of a search, first item in ``items``.
    items : ndarray
        Heaps of ``2 ** steps`` items, four per quad; see ``cuda/table/search.cuh``.
    """

    quads: np.ndarray
    items: np.ndarray

    @classmethod
    def build(cls, thresholds: Sequence[np.ndarray], dtype: np.dtype) -> "SearchHeaps":
        """Make the heaps of ascending thresholds, one array per column."""
        quads: list[tuple[int, int, int, int]] = []
        items, place = [np.empty(0, dtype=dtype)], 0
        for first in range(0, len(thresholds), QUAD):
            own = thresholds[first : first + QUAD]
            n_steps = max(len(ends) for ends in own).bit_length()
            heaps = np.full((QUAD, 1 << n_steps), np.inf, dtype=dtype)
            for heap, ends in zip(heaps, own, strict=False):
                heap[1:] = _order_items(round_down(ends, dtype), n_steps)
            quads.append((first, len(own), n_steps, place))
            items.append(heaps.ravel())
            place += heaps.size
        return cls(np.array(quads, dtype=np.int32).reshape(-1, 4), np.concatenate(items))

    def group(self, device: Device) -> Iterator[QuadGroup]:
        """Yield groups of neighboring quads whose heaps fit in shared memory together."""
        most = min(_SEARCH_BYTES, device.shared_memory // 2) // self.items.itemsize
        ends = [*self.quads[:, 3].tolist(), self.items.size]
        first = 0
        for last in range(1, len(ends)):
            if last + 1 == len(ends) or ends[last + 1] - ends[first] > most:
                yield QuadGroup(first, last, ends[first], ends[last])
                first = last


def _order_items(thresholds: np.ndarray, n_steps: int) -> np.ndarray:
    """Return ascending thresholds, filled up with inf, as a heap without its item 0."""
    ascending = np.full((1 << n_steps) - 1, np.inf, dtype=thresholds.dtype)
    ascending[: thresholds.size] = thresholds
    item = np.arange(1, 1 << n_steps)
    level = np.frexp(item)[1] - 1
    inside = 2 * (item - (1 << level)) + 1
    return ascending[(inside << (n_steps - 1 - level)) - 1]
