"""NodeKernels: queue the kernels of a growing tree that visit nodes and their histograms.

======================  =================================  ==========================
kernel                  blocks                             threads
======================  =================================  ==========================
begin_tree, plan_root   one                                512, 32
score_nodes             (groups of lanes, children)        bins of a group of lanes
score_and_choose        (lanes, children)                  bins of a lane
score_level             lanes                              bins of a lane, several times
score_sets              (categorical features, children)   256
score_level_sets        categorical features               256
choose_...              one                                512
set_values              one                                512
======================  =================================  ==========================
"""

import numpy as np

from sumwise.cuda.grow.program import GROW
from sumwise.cuda.runtime.device import Device

_THREADS, _SET_THREADS = 512, 256
_WARP = 32
# Lanes that a block scores: one where blocks are few, and four otherwise, which read whole sectors
# of memory.
_FEW_FAMILIES, _WIDE_GROUP = 4, 4
# So many blocks count how many of them have finished; more would wait for each other.
_MANY_BLOCKS = 1 << 11
# Blocks of the second dimension of a grid: further children wait for their turn.
_MOST_ROWS = 1 << 12


class NodeKernels:
    """The kernels that visit nodes, with their grids; ``job`` is a packed :class:`~layout.Job`.

    Parameters
    ----------
    device : Device
    n_lanes : int
        Lanes that have a feature.
    tile_bins : ndarray of int64
        Bins of each tile.
    n_set_lanes : int
        Lanes of categorical features.
    """

    def __init__(
        self, device: Device, n_lanes: int, tile_bins: np.ndarray, n_set_lanes: int = 0
    ) -> None:
        self._device, self._kernels = device, device.load(GROW)
        self._n_lanes, self._n_set_lanes = n_lanes, n_set_lanes
        self._bin_threads = -(-int(tile_bins.max(initial=1)) // _WARP) * _WARP

    def begin_tree(self, job: bytes) -> None:
        self._launch("begin_tree", job, _THREADS)

    def plan_root(self, job: bytes) -> None:
        self._launch("plan_root", job, _WARP)

    def score_nodes(self, job: bytes, n_families: int) -> None:
        """Score the children of at most ``n_families`` families."""
        if self._n_lanes == 0:
            return
        group = 1 if n_families < _FEW_FAMILIES else _WIDE_GROUP
        blocks = (-(-self._n_lanes // group), min(2 * n_families, _MOST_ROWS))
        kernel, n_threads = self._kernels["score_nodes"], group * self._bin_threads
        self._device.launch(kernel, blocks, n_threads, (job, group))
        if self._n_set_lanes:
            blocks = (self._n_set_lanes, min(2 * n_families, _MOST_ROWS))
            self._device.launch(self._kernels["score_sets"], blocks, _SET_THREADS, (job,))

    def score_and_choose(self, job: bytes, n_families: int) -> None:
        """Score the children of at most ``n_families`` families, and choose the next splits."""
        if self._n_set_lanes or self._n_lanes * n_families > _MANY_BLOCKS:
            self.score_nodes(job, n_families)
            self.choose_splits(job)
        elif self._n_lanes:
            kernel, blocks = self._kernels["score_and_choose"], (self._n_lanes, 2 * n_families)
            self._device.launch(kernel, blocks, self._bin_threads, (job,))

    def choose_splits(self, job: bytes) -> None:
        self._launch("choose_splits", job, _THREADS)

    def score_level(self, job: bytes) -> None:
        if self._n_lanes:
            kernel = self._kernels["score_level"]
            group = 4 if 4 * self._bin_threads <= _THREADS else 2  # families at once
            self._device.launch(kernel, self._n_lanes, group * self._bin_threads, (job, group))
        if self._n_set_lanes:
            kernel = self._kernels["score_level_sets"]
            self._device.launch(kernel, self._n_set_lanes, _SET_THREADS, (job,))

    def choose_level_split(self, job: bytes) -> None:
        self._launch("choose_level_split", job, _THREADS)

    def set_values(self, job: bytes) -> None:
        self._launch("set_values", job, _THREADS)

    def _launch(self, name: str, job: bytes, n_threads: int) -> None:
        self._device.launch(self._kernels[name], 1, n_threads, (job,))
