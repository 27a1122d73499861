"""DeviceCoder: values on a device to the codes that trees are walked on."""

import numpy as np

from sumwise.cuda.predict import PREDICT, Coder
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.device import Device
from sumwise.cuda.runtime.structs import pack_struct
from sumwise.cuda.table import QUAD
from sumwise.data.device_matrix import DenseValues, DeviceMatrix
from sumwise.data.search_heaps import QuadGroup, SearchHeaps
from sumwise.kernels.predict.blocks import BLOCK
from sumwise.kernels.predict.category_sets import Memberships
from sumwise.kernels.predict.coding import CodeColumns
from sumwise.kernels.runtime.threads import Team

_THREADS = 256
_BITS = 32


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
        heaps = SearchHeaps.build(_list_thresholds(columns), dtype)
        self._groups, quads = list(heaps.group(device)), heaps.quads
        feature = columns.feature
        sets = [np.zeros(feature.size, dtype=np.int64)] * 2 + [np.empty(0, dtype=np.uint32)]
        if columns.memberships is not None:
            known = columns.memberships
            begin, end = int(known.first_column[0]), int(known.first_column[-1])
            feature = np.append(feature, np.repeat(known.feature, np.diff(known.first_column)))
            sets = list(_make_bits(known, begin))
            of_sets = [(c, min(QUAD, end - c), -1, 0) for c in range(begin, end, QUAD)]
            self._groups.append(QuadGroup(len(quads), len(quads) + len(of_sets), 0, 0))
            quads = np.append(quads, np.array(of_sets, dtype=np.int32), axis=0)
        self.n_columns = feature.size
        self._arrays = [
            device.upload(np.ascontiguousarray(array))
            for array in (
                quads,
                feature.astype(np.int32),
                heaps.items,
                sets[0].astype(np.int32),
                sets[1].astype(np.int32),
                sets[2],
            )
        ]
        self._coder = pack_struct(Coder(*self._arrays, self.n_columns))

    def code(self, values: DenseValues, first: int, last: int, codes: DeviceArray) -> None:
        """Write the codes of rows [first, last) to ``codes`` (n_blocks, n_columns, BLOCK)."""
        kernel = self._device.load(PREDICT)[f"code_rows_{self._dtype}"]
        n_rows = last - first
        where = (*values.strides, first, n_rows, self._coder)
        for group in self._groups:
            shared = (group.search_last - group.search_first) * self._dtype.itemsize
            most = self._device.count_blocks(kernel, _THREADS, shared)
            n_blocks = min(most, -(-n_rows // _THREADS))
            self._device.launch(kernel, n_blocks, _THREADS, (*where, *group, codes), shared)


class CodedDeviceRows:
    """Rows on a device that are coded for the host: only their codes travel.

    Parameters
    ----------
    X : DeviceMatrix
    columns : CodeColumns
    """

    def __init__(self, X: DeviceMatrix, columns: CodeColumns) -> None:
        self._X, self._coder = X, DeviceCoder(X.device, columns, X.dtype)

    @property
    def n_rows(self) -> int:
        return self._X.n_rows

    def code(self, first: int, last: int, codes: np.ndarray, team: Team) -> None:
        """Write the codes of some rows, which begin with a block."""
        n_blocks = -(-(last - first) // BLOCK)
        own = self._X.device.zeros((n_blocks, self._coder.n_columns, BLOCK), np.uint8)
        self._coder.code(self._X.values, first, last, own)
        codes[:n_blocks] = own.to_host()


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


def _list_thresholds(columns: CodeColumns) -> list[np.ndarray]:
    """Return the thresholds of each column."""
    return np.split(columns.threshold, columns.start[1:-1])[: columns.feature.size]
