from types import SimpleNamespace

import dask.dataframe as dd
import pandas as pd
import pytest
from distributed import Client

from sumwise.dask import placement
from sumwise.dask.collections import Sources, list_partitions
from sumwise.dask.liveness import Workers
from sumwise.dask.placement import TRAIN, Partitions
from sumwise.errors import PeersError

FRAME = pd.DataFrame({"a": range(12), "y": range(12)})


def make_placed(n_train, n_valid):
    """Return partitions whose futures are their keys."""
    sources = [Sources(None, None)] * max(n_train, n_valid)
    parts = Partitions(SimpleNamespace(), sources[:n_train], {"valid": sources[:n_valid]})
    parts._futures = {key: key for key in parts._sources}
    return parts


def test_partitions_are_shared_out_evenly():
    """A partition that several workers have goes to one with few partitions of the same set."""
    everywhere = ["a", "b", "c"]
    has = {
        (TRAIN, 0): everywhere,
        (TRAIN, 1): ["a"],
        (TRAIN, 2): everywhere,
        (TRAIN, 3): ["a", "b"],
        ("valid", 0): everywhere,
        ("valid", 1): ["d"],
    }
    shares = make_placed(4, 2)._share_out(has)
    numbers = {name: [number for _, number in share.parts] for name, share in shares.items()}
    assert numbers["a"][0] == 1
    assert numbers["b"][0] == 3
    assert sorted(map(len, numbers.values())) == [0, 1, 1, 2]
    assert shares["d"].sets == {"valid": [("valid", 1)]}
    assert sum(len(share.sets["valid"]) for share in shares.values()) == 2


def test_ranks_are_workers_that_have_rows(client):
    frame = dd.from_pandas(FRAME, npartitions=4)
    workers = Workers(client, 30.0)
    parts = Partitions(workers, list_partitions(frame, "y"), {"own": [Sources(FRAME, FRAME.y)]})
    shares = parts.place()
    assert set(shares) <= set(workers.present)
    for address, share in shares.items():
        for future in [*share.parts, *share.sets["own"]]:
            assert address in client.who_has(future)[future.key]
    numbers = [future.result().number for share in shares.values() for future in share.parts]
    assert sorted(numbers) == [0, 1, 2, 3]
    parts.close()


def test_a_cluster_without_workers_is_an_error(monkeypatch):
    monkeypatch.setattr(placement, "PATIENCE", 0.5)
    options = {"processes": False, "dashboard_address": ":0", "set_as_default": False}
    with Client(n_workers=0, **options) as empty:
        source = [Sources(FRAME, FRAME.y)]
        parts = Partitions(Workers(empty, 30.0), source, {})
        with pytest.raises(PeersError, match=r"for 0.5 seconds, because the cluster has had no"):
            parts.place()
        parts.close()


@pytest.mark.parametrize(
    ("status", "error", "message"),
    [
        ("error", ModuleNotFoundError("No module named 'sumwise'"), "a worker lacks sumwise"),
        ("error", PeersError("another version"), "another version"),
        ("cancelled", None, "were cancelled, or the cluster restarted"),
    ],
)
def test_errors_of_partitions_are_explained(status, error, message):
    explained = placement._explain(SimpleNamespace(status=status, exception=lambda: error))
    assert isinstance(explained, PeersError)
    assert message in str(explained)
