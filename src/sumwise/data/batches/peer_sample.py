"""The sample that quantiles come from, gathered from all peers.

Weights are summed in the order of the whole data, so that sums of floats do not depend on who has
which rows. All peers receive the sample, a few features at a time, and find the same quantiles.

Messages: 24 bytes per shard with rows of the sample, and its weights if there are any (1.6 MB for
200,000 rows); then 16 features at a time, at most 26 MB of all peers together. Features with few
distinct values are not sent.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sumwise.data.thresholds import ThresholdRows
from sumwise.peers import Peers, Shards

# Features that are sent in one message.
_FEATURES = 16


@dataclass(frozen=True)
class PeerSample:
    """Where the rows of the sample are, among those of all peers.

    Attributes
    ----------
    peers : Peers
    n_rows : int
        The rows of the sample, of all peers together.
    weight : ndarray of float64
        Their weights in the order of the whole data; empty if all are one.
    """

    peers: Peers
    n_rows: int
    weight: np.ndarray
    _places: Sequence[np.ndarray]

    @classmethod
    def open(cls, found_from: ThresholdRows, shards: Shards) -> "PeerSample":
        """Find the places of the rows that this process has drawn, and of all others."""
        own = [
            (rows.start, rows.stop, first)
            for rows, first in shards.place(found_from.sample)
            if rows.stop > rows.start
        ]
        peers = shards.peers
        places = peers.gather(np.array(own, dtype=np.int64).reshape(-1, 3))
        n_rows = sum(int((part[:, 1] - part[:, 0]).sum()) for part in places)
        weights = peers.gather(found_from.weight.astype(np.float64, copy=False)[None])
        weight = np.empty(0)
        if any(part.size for part in weights):
            weight = _join(weights, places, n_rows)[0]
        return cls(peers, n_rows, weight, places)

    def gather(self, own: np.ndarray, features: np.ndarray) -> Iterator[np.ndarray]:
        """Yield some features of all rows, by column, a few at a time.

        ``own`` has the rows of this process, shape (n_features, n_own).
        """
        for first in range(0, features.size, _FEATURES):
            parts = self.peers.gather(own[features[first : first + _FEATURES]])
            yield _join(parts, self._places, self.n_rows)


def _join(parts: Sequence[np.ndarray], places: Sequence[np.ndarray], n_rows: int) -> np.ndarray:
    """Return the columns of all peers, in the order of the whole data."""
    whole = np.empty((len(parts[0]), n_rows), dtype=parts[0].dtype)
    for part, own in zip(parts, places, strict=True):
        for begin, end, first in own.tolist():
            whole[:, first : first + end - begin] = part[:, begin:end]
    return whole
