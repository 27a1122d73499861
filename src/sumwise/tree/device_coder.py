"""DeviceCoder: values on a device to the codes that trees are walked on."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sumwise.cuda.predict import PREDICT, QUAD, Coder
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.device import Device
from sumwise.cuda.runtime.structs import pack_struct
from sumwise.data.device_matrix import DeviceMatrix
from sumwise.kernels.predict.category_sets import Memberships
from sumwise.kernels.predict.coding import CodeColumns, round_down

_THREADS = 256
_BITS = 32
# Bytes of thresholds that a block holds in shared memory.
_SEARCH_BYTES = 1 << 16


class _Group(NamedTuple):
    """Quads of columns that are coded by one launch, and where their thresholds are."""

    first_quad: int
    last_quad: int
    search_first: int
    search_last: int


class DeviceCoder:
    """Codes the rows of matrices of one type.

    Parameters
    ----------
    device : Device
    columns : CodeColumns
        Thresholds and sets of the columns, see ``kernels.predict.coding``.
    dtype : dtype
        Of the values, float32 or float64.
    """

    def __init__(self, device: Device, columns: CodeColumns, dtype: np.dtype) -> None:
        self._device, self._dtype = device, dtype
        n_thresholds = np.diff(columns.start)
        rounded = np.split(round_down(columns.threshold, dtype), columns.start[1:-1])
        quads, searches, place = [], [np.empty(0, dtype=dtype)], 0
        for first in range(0, columns.feature.size, QUAD):
            last = min(first + QUAD, columns.feature.size)
            n_steps = int(n_thresholds[first:last].max()).bit_length()
            quads.append((first, last - first, n_steps, place))
            heaps = np.full((QUAD, 1 << n_steps), np.inf, dtype=dtype)
            for heap, own in zip(heaps, rounded[first:last], strict=False):
                heap[1:] = _order_search(own, n_steps)
            searches.append(heaps.ravel())
            place += heaps.size
        self._groups = list(
            _group_quads(
                quads, place, min(_SEARCH_BYTES, device.shared_memory // 2) // dtype.itemsize
            )
        )
        feature = columns.feature
        sets = [np.zeros(feature.size, dtype=np.int64)] * 2 + [np.empty(0, dtype=np.uint32)]
        if columns.memberships is not None:
            known = columns.memberships
            begin, end = int(known.first_column[0]), int(known.first_column[-1])
            feature = np.append(feature, np.repeat(known.feature, np.diff(known.first_column)))
            sets = list(_make_bits(known, begin))
            quads += [(c, min(QUAD, end - c), -1, place) for c in range(begin, end, QUAD)]
            self._groups.append(_Group(len(quads) - -(-(end - begin) // QUAD), len(quads), 0, 0))
        self._n_columns = feature.size
        self._arrays = [
            device.upload(np.ascontiguousarray(array))
            for array in (
                np.array(quads, dtype=np.int32).reshape(-1, 4),
                feature.astype(np.int32),
                np.concatenate(searches),
                sets[0].astype(np.int32),
                sets[1].astype(np.int32),
                sets[2],
            )
        ]
        self._coder = pack_struct(Coder(*self._arrays, self._n_columns))

    def code(self, X: DeviceMatrix, first: int, last: int, codes: DeviceArray) -> None:
        """Write the codes of rows [first, last) to ``codes`` (n_blocks, n_columns, BLOCK)."""
        kernel = self._device.load(PREDICT)[f"code_rows_{self._dtype}"]
        n_rows = last - first
        where = (X.address, X.row_stride, X.column_stride, first, n_rows, self._coder)
        for group in self._groups:
            shared = (group.search_last - group.search_first) * self._dtype.itemsize
            most = self._device.count_blocks(kernel, _THREADS, shared)
            n_blocks = min(most, -(-n_rows // _THREADS))
            self._device.launch(kernel, n_blocks, _THREADS, (*where, *group, codes), shared)


def _order_search(thresholds: np.ndarray, n_steps: int) -> np.ndarray:
    """Return ascending thresholds, filled up with inf, as a heap without its item 0."""
    ascending = np.full((1 << n_steps) - 1, np.inf, dtype=thresholds.dtype)
    ascending[: thresholds.size] = thresholds
    item = np.arange(1, 1 << n_steps)
    level = np.frexp(item)[1] - 1
    inside = 2 * (item - (1 << level)) + 1
    return ascending[(inside << (n_steps - 1 - level)) - 1]


def _group_quads(quads: Sequence[tuple[int, ...]], n_items: int, most: int) -> Iterator[_Group]:
    """Yield groups of neighboring quads with at most so many items to search, or of one quad."""
    ends = [*(quad[3] for quad in quads), n_items]
    first = 0
    for number in range(1, len(quads) + 1):
        if number == len(quads) or ends[number + 1] - ends[first] > most:
            yield _Group(first, number, ends[first], ends[number])
            first = number


def _make_bits(known: Memberships, begin: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the first word and the number of categories of each column, and bits of the sets."""
    n_categories = np.diff(known.first_category)
    n_columns = np.diff(known.first_column)
    size = np.append(np.zeros(begin, dtype=np.int64), np.repeat(n_categories, n_columns))
    n_words = -(-size // _BITS)
    place = n_words.cumsum() - n_words
    bits = np.zeros(max(1, int(n_words.sum())), dtype=np.uint32)
    category = np.repeat(np.arange(known.start.size - 1), np.diff(known.start))
    code = category - np.repeat(known.first_category[:-1], n_categories)[category]
    word = place[known.column] + code // _BITS
    np.bitwise_or.at(bits, word, np.left_shift(np.uint32(1), (code % _BITS).astype(np.uint32)))
    return place, size, bits
