"""Bins of a user's matrices, as tables on devices.

Dense matrices of the host are sent as they are and binned on the device, see device_sending.py.
With categories, or if many threads are quicker, the host bins some rows at a time, into memory that
devices copy while the next rows are binned. The bins are the same. Sparse matrices become columns
of bytes: trees do not depend on how a table is stored.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from typing import NamedTuple

import numpy as np

from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.device import Device, Slot
from sumwise.cuda.table import BINNING, N_THREADS, TABLE, count_grid
from sumwise.data.binned import BinnedData, screen_entries_of
from sumwise.data.binning import BinMapper
from sumwise.data.categories.bins import collect_categories
from sumwise.data.device_matrix import DenseValues, DeviceMatrix
from sumwise.data.device_sending import is_better_sent, send_rows
from sumwise.data.device_table import DeviceTable, screen_columns
from sumwise.data.dtypes import find_float_type
from sumwise.data.matrix import Matrix, read_chunks
from sumwise.data.search_heaps import QuadGroup, SearchHeaps
from sumwise.data.sparse import SparseMatrix
from sumwise.data.sparse.binning import map_sparse
from sumwise.errors import DataError
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.layout import Categories

# Bytes of bins that are sent at a time.
_PART_BYTES = 1 << 23


class TablePart(NamedTuple):
    """Rows [first, last) of a table: the columns of one device."""

    device: Device
    columns: DeviceArray
    first: int
    last: int

    def find_common(self, first: int, last: int) -> tuple[int, int]:
        """Return the rows that are also in [first, last), as (first, last)."""
        return max(first, self.first), min(last, self.last)

    def place(self, first: int, bins: np.ndarray, slot: Slot, buffer: DeviceArray) -> None:
        """Write bins of a slot, of rows from ``first`` on, of which the device may have some."""
        begin, end = self.find_common(first, first + bins.shape[1])
        if begin >= end:
            return
        shape = n_features, n_rows = bins.shape[0], end - begin
        own = DeviceArray(self.device, buffer.address, shape, np.uint8, buffer)
        self.device.write_from(slot, bins[:, begin - first : end - first], own)
        kernel = self.device.load(TABLE)["place_columns"]
        to = (begin - self.first, self.columns, self.columns.shape[1])
        grid = count_grid(n_rows, n_features)
        self.device.launch(kernel, grid, N_THREADS, (own, n_rows, n_features, *to))


def make_device_tables(
    devices: Sequence[Device],
    mapper: BinMapper,
    matrices: Sequence[Matrix | DeviceMatrix],
    team: Team,
    rows: np.ndarray | None = None,
    min_rows: int = 1,
    check_memory: Callable[[np.ndarray], None] = lambda usable: None,
) -> list[DeviceTable]:
    """Map the rows of matrices, one below the other, to bins; return the table of each device.

    The rows are divided evenly: device i of k has rows [i n // k, (i + 1) n // k). A feature is
    usable if a split can leave ``min_rows`` of the training ``rows`` (None for all of the first
    matrix) on both sides; other features have no lane.

    ``check_memory`` may refuse the table: it is called with no usable feature before anything is
    allocated, and with those that are usable before the tiles are.
    """
    refuse_wide_features(mapper)
    n_features = matrices[0].shape[1]
    check_memory(np.zeros(n_features, dtype=np.uint8))
    n_rows = sum(X.shape[0] for X in matrices)
    rows = np.arange(matrices[0].shape[0], dtype=np.uint32) if rows is None else rows
    parts = []
    for number, device in enumerate(devices):
        first, last = divide_rows(n_rows, len(devices), number)
        columns = device.allocate((n_features, last - first), np.uint8)
        parts.append(TablePart(device, columns, first, last))
    if isinstance(matrices[0], SparseMatrix):
        usable = _fill_sparse(parts, mapper, matrices, team, rows, min_rows)
    else:
        usable = _fill_dense(parts, mapper, matrices, team, rows, min_rows)
    check_memory(usable)
    known = (mapper.count_bins(), usable, _collect_categories(mapper, n_features))
    return [DeviceTable.from_columns(part.device, part.columns, *known) for part in parts]


def upload_tables(
    devices: Sequence[Device],
    mapper: BinMapper,
    data: BinnedData,
    check_memory: Callable[[np.ndarray], None],
) -> list[DeviceTable]:
    """Return the tables of rows whose bins are on the host, in a dense table."""
    refuse_wide_features(mapper)
    check_memory(data.usable)
    known = (mapper.count_bins(), data.usable, _collect_categories(mapper, data.n_features))
    tables = []
    for number, device in enumerate(devices):
        first, last = divide_rows(data.n_rows, len(devices), number)
        columns = data.table.columns[:, first:last]
        tables.append(DeviceTable.from_binned(device, columns, *known))
    return tables


def divide_rows(n_rows: int, n_devices: int, number: int) -> tuple[int, int]:
    """Return the first row of a device, and the first one after its rows."""
    return n_rows * number // n_devices, n_rows * (number + 1) // n_devices


def _collect_categories(mapper: BinMapper, n_features: int) -> Categories | None:
    """Return the categorical features as kernels know them; none of them is wide."""
    if not mapper.categories:
        return None
    no_wide = np.empty((0, 0), dtype=np.uint32)
    return collect_categories(mapper.categories, no_wide, n_features, mapper.native)


def refuse_wide_features(mapper: BinMapper) -> None:
    """Raise DataError if a feature needs more bins than one byte can number."""
    wide = [f for f, bins in mapper.categories.items() if bins.is_wide]
    many = [f for f, ends in enumerate(mapper.thresholds) if ends.size > 254]
    if wide:
        raise DataError(
            f"feature {wide[0]} has more than 255 frequent categories, and a table on a GPU has "
            "one byte per value: encode it by target statistics, or use device='cpu'"
        )
    if many:
        raise DataError(
            f"feature {many[0]} has {mapper.thresholds[many[0]].size + 1} bins, and a table on a "
            "GPU has at most 255: set max_bins=255, or use device='cpu'"
        )


def _fill_dense(
    parts: Sequence[TablePart],
    mapper: BinMapper,
    matrices: Sequence[Matrix | DeviceMatrix],
    team: Team,
    rows: np.ndarray,
    min_rows: int,
) -> np.ndarray:
    """Write the columns of dense matrices; return which features are usable."""
    n_features, begin = matrices[0].shape[1], 0
    for X in matrices:
        if isinstance(X, DeviceMatrix):
            _map_on_device(parts, mapper, X, begin)
        elif not mapper.categories and is_better_sent(X, n_features, team):
            _send_and_map(parts, mapper, X, begin, team)
        else:
            _map_on_host(parts, mapper, X, begin, team)
        begin += X.shape[0]
    fewest = np.full(n_features, min_rows)
    fewest[list(mapper.categories)] = 1
    own = [(part.device, part.columns, part.first) for part in parts]
    return screen_columns(own, mapper.count_bins(), rows, fewest)


class _DeviceSearch(NamedTuple):
    """Thresholds on a device."""

    device: Device
    quads: DeviceArray
    items: DeviceArray
    groups: Sequence[QuadGroup]

    @classmethod
    def send(cls, device: Device, heaps: SearchHeaps) -> "_DeviceSearch":
        arrays = device.upload(heaps.quads), device.upload(heaps.items)
        return cls(device, *arrays, list(heaps.group(device)))

    def map_rows(self, values: DenseValues, rows: slice, columns: DeviceArray, place: int) -> None:
        """Write the bins of some rows to columns of the same GPU, from row ``place`` on."""
        device, n_rows = self.device, rows.stop - rows.start
        kernel = device.load(BINNING)[f"map_to_bins_{values.dtype}"]
        for group in self.groups:
            shared = (group.search_last - group.search_first) * values.dtype.itemsize
            n_blocks = min(device.count_blocks(kernel, N_THREADS, shared), -(-n_rows // N_THREADS))
            search = (self.quads, *group[:2], self.items, *group[2:])
            where = (*values.strides, rows.start, rows.stop)
            to = (place, columns, columns.shape[1])
            device.launch(kernel, n_blocks, N_THREADS, (*where, *search, *to), shared)


def _map_on_device(
    parts: Sequence[TablePart], mapper: BinMapper, X: DeviceMatrix, begin: int
) -> None:
    """Write the bins of a matrix on a GPU, whose rows are those of the table from ``begin`` on."""
    heaps = SearchHeaps.build(mapper.thresholds, X.dtype)
    for part in parts:
        first, last = part.find_common(begin, begin + X.n_rows)
        if first >= last:
            continue
        rows, place = slice(first - begin, last - begin), first - part.first
        if part.device.number == X.number:
            _DeviceSearch.send(part.device, heaps).map_rows(X.values, rows, part.columns, place)
            continue
        bins = X.device.allocate((X.shape[1], last - first), np.uint8)
        _DeviceSearch.send(X.device, heaps).map_rows(X.values, rows, bins, 0)
        X.device.wait()
        for own, column in zip(bins, part.columns, strict=True):
            part.device.copy(own, column[place : place + last - first])
        part.device.wait()


def _send_and_map(
    parts: Sequence[TablePart], mapper: BinMapper, X: Matrix, begin: int, team: Team
) -> None:
    """Send the values of a matrix of the host, and write their bins as :func:`_map_on_device`."""
    heaps = SearchHeaps.build(mapper.thresholds, np.dtype(find_float_type(X.dtype)))
    searches = [_DeviceSearch.send(part.device, heaps) for part in parts]
    for start, whole in read_chunks(X):
        start += begin
        for part, search in zip(parts, searches, strict=True):
            first, last = part.find_common(start, start + whole.n_rows)
            if first >= last:
                continue
            own = whole.take(first - start, last - start)
            for rows, values in send_rows(part.device, own, X.shape[1], team):
                place = first + rows.start - part.first
                search.map_rows(values, slice(0, rows.stop - rows.start), part.columns, place)


def _map_on_host(
    parts: Sequence[TablePart], mapper: BinMapper, X: Matrix, begin: int, team: Team
) -> None:
    """Write the bins of a matrix of the host, as :func:`_map_on_device` does."""
    n_together = max(1, _PART_BYTES // max(1, X.shape[1]))
    most_bytes = X.shape[1] * min(n_together, X.shape[0])
    buffers = [part.device.allocate(most_bytes, np.uint8) for part in parts]
    with parts[0].device.lend_slots(most_bytes) as slots:
        used = cycle(slots)  # the slots in the order in which chunks are written to them
        chunks = mapper.map_chunks(X, team, n_together, _take_turns(slots))
        for (first, bins), slot in zip(chunks, used, strict=False):
            for part, buffer in zip(parts, buffers, strict=True):
                part.place(begin + first, bins, slot, buffer)


def _take_turns(slots: Sequence[Slot]) -> Iterator[np.ndarray]:
    """Yield the memory of one slot after the other, when no copy reads it any more."""
    for slot in cycle(slots):
        slot.wait()
        yield slot.memory


def _fill_sparse(
    parts: Sequence[TablePart],
    mapper: BinMapper,
    matrices: Sequence[Matrix | DeviceMatrix],
    team: Team,
    rows: np.ndarray,
    min_rows: int,
) -> np.ndarray:
    """Write the columns of sparse matrices; return which features are usable."""
    first = matrices[0]
    assert isinstance(first, SparseMatrix)
    own = [first, *(SparseMatrix.from_any(X, first.absent) for X in matrices[1:])]
    bins = map_sparse(mapper.thresholds, own, team)
    bins = screen_entries_of(bins, mapper.count_bins(), rows, min_rows, team)
    n_together = max(1, _PART_BYTES // max(1, bins.n_rows))
    columns = np.empty((min(n_together, bins.n_features), bins.n_rows), dtype=np.uint8)
    for begin in range(0, bins.n_features, n_together):
        features = np.arange(begin, min(begin + n_together, bins.n_features))
        bins.fill_columns(features, features - begin, columns, team)
        for part in parts:
            some = columns[: features.size, part.first : part.last]
            part.device.write(some, part.columns[begin : begin + features.size])
    return bins.usable.astype(np.uint8)
