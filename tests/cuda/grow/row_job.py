"""A job on a device for tests of kernels that visit rows: a random table, and what a test sets."""

import numpy as np

from sumwise.cuda.grow.launching import RowKernels
from sumwise.cuda.grow.layout import LEAF_SUMS, Job, Request, State
from sumwise.cuda.runtime.structs import pack_struct
from sumwise.cuda.table import LANES
from sumwise.kernels.grow.layout import NODE_FIELDS

FAMILY = np.dtype(
    [(name, np.int32) for name in ("parent", "left", "small", "mode", "small_slot", "large_slot")]
    + [("splittable", np.int32), ("depth", np.int32), ("totals", np.int64, (2, 3))]
)
N_NODES = 15
ROW = np.uint64(32)
GARBAGE = -77  # what is in memory that kernels must set


class RowJob:
    """A table, gradients, and the buffers of a job, by name in ``arrays``.

    Parameters
    ----------
    device : Device
    rng : Generator
    n_rows : int
    n_value_bins : sequence of int
        Of each feature: all of them have lanes, in order.
    rows : ndarray of uint32, optional
        Rows of the tree; all by default.
    n_slots, most_families : int
    n_nodes : int
    """

    def __init__(
        self,
        device,
        rng,
        n_rows,
        n_value_bins,
        rows=None,
        *,
        n_slots=4,
        most_families=4,
        n_nodes=N_NODES,
    ):
        self.device, self.n_rows = device, n_rows
        self.rows = np.arange(n_rows, dtype=np.uint32) if rows is None else rows
        self.n_value_bins = np.asarray(n_value_bins, dtype=np.int64)
        n_features = self.n_value_bins.size
        self.n_tiles = -(-n_features // LANES)
        bins = [rng.integers(0, n + 1, n_rows) for n in self.n_value_bins]
        self.columns = np.asarray(bins, dtype=np.uint8).reshape(n_features, n_rows)
        lanes = np.zeros((self.n_tiles * LANES, n_rows), dtype=np.uint8)
        lanes[:n_features] = self.columns
        tiles = lanes.reshape(self.n_tiles, LANES, n_rows).transpose(0, 2, 1)
        self.lane_feature = np.full(self.n_tiles * LANES, -1, dtype=np.int32)
        self.lane_feature[:n_features] = np.arange(n_features)
        n_bins = np.where(self.lane_feature < 0, 0, self.n_value_bins[self.lane_feature] + 1)
        self.tile_bins = n_bins.reshape(self.n_tiles, LANES).max(axis=1)
        sizes = 3 * LANES * self.tile_bins
        self.tile_start = np.concatenate([[0], sizes.cumsum()[:-1]])
        self.length = int(sizes.sum())
        self.gradient, self.hessian = rng.normal(size=n_rows), rng.random(n_rows)
        self.exchange_built = LEAF_SUMS + 3 * n_nodes + 1
        n_exchange = self.exchange_built + most_families * self.length
        self.arrays = {
            name: device.upload(np.ascontiguousarray(items))
            for name, items in {
                "columns": self.columns,
                "tiles": tiles,
                "lane_feature": self.lane_feature,
                "n_value_bins": self.n_value_bins,
                "tile_bins": self.tile_bins,
                "tile_start": self.tile_start,
                "allowed": np.ones((4, n_features), dtype=np.uint8),
                "nodes": np.zeros(n_nodes, dtype=NODE_FIELDS),
                "records": np.full((2, max(1, self.rows.size)), GARBAGE, dtype=np.int64),
                "first": np.zeros(n_nodes, dtype=np.int64),
                "last": np.zeros(n_nodes, dtype=np.int64),
                "totals": np.zeros((n_nodes, 3), dtype=np.int64),
                "value": rng.normal(size=n_nodes),
                "histograms": np.full((n_slots, self.length), GARBAGE, dtype=np.int64),
                "families": np.zeros(most_families, dtype=FAMILY),
                "move_first": np.zeros(most_families + 1, dtype=np.int64),
                "build_first": np.full(most_families + 1, GARBAGE, dtype=np.int64),
                "cursors": np.zeros((most_families, 2), dtype=np.uint64),
                "leaf": np.full(n_rows, 1 << 30, dtype=np.uint32),
                "exchange": np.zeros(n_exchange, dtype=np.int64),
            }.items()
        }
        self.state = {"status": 0, "n_nodes": 1}
        self.all_rows = self.rows.size
        self.scores = rng.normal(size=n_rows)
        self.scores_array = device.upload(self.scores)
        self.peers = [self]
        self.kernels = RowKernels(device, self.rows.size, self.tile_bins)

    def pack(self, is_listed=None, scores=True):
        """Return the packed job, with the state and the request as they are now.

        Rows are listed one by one unless they follow each other.
        """
        rows = self.rows
        if is_listed is None:
            is_listed = not np.array_equal(rows, np.arange(rows.size) + int(rows[0]))
        numbers = self.device.upload(rows) if is_listed else 0
        request = Request(
            key=0,
            gradient=self.device.upload(self.gradient),
            hessian=self.device.upload(self.hessian),
            rows=numbers,
            first_row=0 if is_listed else int(rows[0]),
            n_rows=rows.size,
            all_rows=self.all_rows,
            scores=self.scores_array if scores else 0,
            learning_rate=1.0,
        )
        peers = np.array([peer.arrays["exchange"].address for peer in self.peers], dtype=np.uint64)
        self.arrays["state"] = self._upload_struct(State(**self._fill(State, self.state)))
        self.arrays["request"] = self._upload_struct(request)
        self.arrays["peers"] = self.device.upload(peers)
        self._kept = request  # its arrays must not be freed
        sizes = {
            "n_table_rows": self.n_rows,
            "n_features": self.n_value_bins.size,
            "n_tiles": self.n_tiles,
            "records_length": self.arrays["records"].shape[1],
            "histogram_length": self.length,
            "n_peers": len(self.peers),
            "exchange_built": self.exchange_built,
        }
        return pack_struct(Job(**self._fill(Job, self.arrays | sizes)))

    def _upload_struct(self, values):
        return self.device.upload(np.frombuffer(pack_struct(values), dtype=np.int64))

    @staticmethod
    def _fill(kind, values):
        return dict.fromkeys(kind._fields, 0) | values

    def set(self, name, items):
        """Change an array."""
        array = self.arrays[name]
        self.device.write(np.asarray(items, dtype=array.dtype).reshape(array.shape), array)

    def get(self, name):
        return self.arrays[name].to_host()

    def get_state(self, name):
        return int(self.get("state")[State._fields.index(name)])

    def split_histogram(self, histogram):
        """Return the sums of a histogram by feature, each (3, bins)."""
        found = []
        for lane in range(self.n_value_bins.size):
            tile, n_bins = lane // LANES, self.tile_bins[lane // LANES]
            start = self.tile_start[tile]
            sums = histogram[start : start + 3 * n_bins * LANES].reshape(3, n_bins, LANES)
            found.append(sums[:, : self.n_value_bins[lane] + 1, lane % LANES])
        return found


def make_records(rows, g, h):
    """Return the records of rows."""
    g, h = (values.astype(np.uint64) & np.uint64(0xFFFF) for values in (g, h))
    return rows.astype(np.uint64) << ROW | g << np.uint64(16) | h


def grow_random(rng, job, n_splits):
    """Return the nodes of a random tree."""
    nodes = np.zeros(1 + 2 * n_splits, dtype=NODE_FIELDS)
    nodes["left"] = nodes["feature"] = -1
    leaves = [0]
    for k in range(n_splits):
        node = leaves.pop(rng.integers(len(leaves)))
        feature = rng.integers(job.n_value_bins.size)
        nodes[node]["feature"], nodes[node]["left"] = feature, 1 + 2 * k
        nodes[node]["split_bin"] = rng.integers(1, job.n_value_bins[feature] + 1)
        nodes[node]["missing_left"] = rng.integers(2)
        for child in (1 + 2 * k, 2 + 2 * k):
            nodes[child]["depth"] = nodes[node]["depth"] + 1
            leaves.append(child)
    return nodes


def goes_left(job, node, rows):
    """Return which rows a node sends left."""
    bins = job.columns[node["feature"], rows]
    return np.where(bins == 0, node["missing_left"] != 0, bins <= node["split_bin"])


def find_leaves(job, nodes, rows):
    """Return the leaves of rows, one row after the other."""
    leaves = np.zeros(rows.size, dtype=np.int64)
    for i, row in enumerate(rows):
        while nodes[leaves[i]]["left"] >= 0:
            node = nodes[leaves[i]]
            leaves[i] = node["left"] + (0 if goes_left(job, node, row) else 1)
    return leaves
