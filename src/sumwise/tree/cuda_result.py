"""Result: the tree that was grown last, on a device and as a copy on the host."""

from typing import NamedTuple

import numpy as np

from sumwise.cuda.grow.layout import State
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.kernels.grow import layout
from sumwise.tree.cuda_categories import SET_BYTES

_STATE_BYTES, _NODE_BYTES = 8 * len(State._fields), layout.NODE_FIELDS.itemsize
_VALUE_BYTES, _SUMS_BYTES = 8, 24


def count_result_bytes(n_nodes: int, has_sets: bool) -> int:
    """Return how many bytes a tree of so many nodes takes: the state, then arrays by node."""
    by_node = _NODE_BYTES + _VALUE_BYTES + _SUMS_BYTES + (SET_BYTES if has_sets else 0)
    return _STATE_BYTES + n_nodes * by_node


class GrownTree(NamedTuple):
    """The tree that was grown last, on a device."""

    nodes: DeviceArray  # records, NODE_FIELDS
    n_nodes: DeviceArray  # int64


class Result:
    """The tree that was grown last, in one piece of memory: a view of it on the device.

    Parameters
    ----------
    memory : DeviceArray of uint8
    n_nodes : int
        Nodes that a tree may have.
    """

    def __init__(self, memory: DeviceArray, n_nodes: int) -> None:
        self.memory = memory
        ends = np.cumsum(
            [_STATE_BYTES, n_nodes * _NODE_BYTES, n_nodes * _VALUE_BYTES, n_nodes * _SUMS_BYTES]
        )
        self._nodes, self._value, self._sums, self._sets = (int(end) for end in ends)
        self.addresses = {
            "state": memory[:1],
            "nodes": memory[self._nodes :],
            "value": memory[self._value :],
            "sums": memory[self._sums :],
        }
        if memory.size > self._sets:  # the table has categorical features
            self.addresses["node_sets"] = memory[self._sets :]

    @property
    def grown(self) -> GrownTree:
        """What kernels of other programs need of the tree."""
        offset = 8 * State._fields.index("n_nodes")
        return GrownTree(self.memory[self._nodes :], self.memory[offset : offset + 8])

    def find_values(self, n_nodes: int) -> DeviceArray:
        """Return the values of the first nodes, on the device."""
        address, memory = self.memory.address + self._value, self.memory
        return DeviceArray(memory.device, address, (n_nodes,), np.float64, memory)

    def read(self, copied: np.ndarray) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
        """Return status, nodes, values and numbers of rows of a copy on the host."""
        state = copied[:_STATE_BYTES].view(np.int64)
        n = int(state[State._fields.index("n_nodes")])
        nodes = copied[self._nodes : self._value].view(layout.NODE_FIELDS)[:n]
        value = copied[self._value : self._sums].view(np.float64)[:n]
        sums = copied[self._sums : self._sets].view(np.int64).reshape(-1, 3)[:n]
        return int(state[0]), nodes, value, sums[:, 2]

    def read_sets(self, copied: np.ndarray, n_nodes: int) -> np.ndarray:
        """Return the bits of the nodes' sets, (n_nodes, SET_BYTES)."""
        return copied[self._sets :].reshape(-1, SET_BYTES)[:n_nodes]
