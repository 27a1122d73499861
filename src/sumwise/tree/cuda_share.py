"""DeviceShare: the rows of one device, and all that grows trees on them there."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise.cuda.grow.deciding import NodeKernels
from sumwise.cuda.grow.launching import RowKernels
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.device import Graph
from sumwise.cuda.runtime.structs import pack_struct
from sumwise.cuda.table import LANES
from sumwise.data.device_table import DeviceTable
from sumwise.kernels.grow import layout
from sumwise.tree.cuda_memory import (
    Constants,
    Sizes,
    allocate_buffers,
    count_sums,
    make_job,
    plan_buffers,
)
from sumwise.tree.cuda_result import Result
from sumwise.tree.cuda_sequence import Launch
from sumwise.tree.growth import GrowthSettings


class DeviceShare:
    """The rows of one device, its buffers, and its kernels.

    Parameters
    ----------
    table : DeviceTable
    settings : GrowthSettings
    options : GrowthOptions
    n_rows : int
        The most rows of a tree, on this device.
    exact_rows : int
    n_peers : int
        Number of devices.
    older : DeviceShare or None
        Its buffers are used as far as they are large enough.
    """

    def __init__(
        self,
        table: DeviceTable,
        settings: GrowthSettings,
        options: layout.GrowthOptions,
        n_rows: int,
        exact_rows: int,
        n_peers: int = 1,
        older: "DeviceShare | None" = None,
    ) -> None:
        self.table, self.device = table, table.device
        self.sizes = Sizes.find(options, n_rows, count_sums(table))
        plan = plan_buffers(table, settings, options, self.sizes, n_peers)
        kept: dict[str, DeviceArray] = {} if older is None else dict(older.buffers)
        kept.pop("tile_start", None)  # of each table its own
        self.buffers: dict[str, DeviceArray] = allocate_buffers(self.device, plan, n_rows, kept)
        self.has_new_buffers = any(self.buffers[name] is not kept[name] for name in kept)
        self.result = Result(self.buffers["result"], self.sizes.n_places)
        self._constants = Constants.upload(self.device, options, settings.constraints)
        buffers = {name: self.buffers[name] for name in plan}
        job = make_job(
            table, settings, options, exact_rows, self._constants, self.sizes, buffers, n_peers
        )
        self.job = pack_struct(job)
        starts = np.cumsum([0, *(3 * LANES * table.host_tile_bins)], dtype=np.int64)
        self.device.write(starts, self.buffers["tile_start"][: starts.size])
        n_lanes = int(np.count_nonzero(table.usable))
        n_sets = 0 if table.categories is None else table.categories.n_set_lanes
        own = (self.device, n_rows, table.host_tile_bins)
        self.row_kernels = RowKernels(*own, has_sets=n_sets > 0)
        self._node_kernels = NodeKernels(self.device, n_lanes, table.host_tile_bins, n_sets)
        self._graphs: dict[Any, Graph] = {}

    def connect(self, shares: Sequence["DeviceShare"]) -> None:
        """Tell kernels where the devices exchange what they have summed."""
        addresses = [share.buffers["exchange"].address for share in shares]
        self.device.write(np.array(addresses, dtype=np.uint64), self.buffers["peers"])

    def play(self, launches: Sequence[Launch]) -> None:
        """Queue kernels: they are recorded the first time."""
        known = tuple(launches)
        if known not in self._graphs:
            with self.device.record() as graph:
                for name, *arguments in launches:
                    self._find_kernel(name)(self.job, *arguments)
            self._graphs[known] = graph
        self._graphs[known].launch()

    def _find_kernel(self, name: str) -> Any:
        owner = self._node_kernels if hasattr(self._node_kernels, name) else self.row_kernels
        return getattr(owner, name)

    def write_request(self, request: bytes) -> None:
        """Tell kernels what tree is asked for."""
        self.device.write(np.frombuffer(request, dtype=np.uint64), self.buffers["request"])

    def write_features(self, allowed: np.ndarray) -> None:
        """Tell kernels which features a tree may use."""
        row = int(layout.TREE)
        self.device.write(allowed[row], self.buffers["allowed"][row])

    def write_values(self, value: np.ndarray) -> None:
        """Replace the values of the tree that was grown last."""
        self.device.write(value, self.result.find_values(value.size))

    def get_bounds(self, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the bounds of the values of the tree that was grown last."""
        lower, upper = self.buffers["lower"][:n_nodes], self.buffers["upper"][:n_nodes]
        return lower.to_host(), upper.to_host()

    @property
    def leaf(self) -> DeviceArray:
        return self.buffers["leaf"]
