import asyncio

import dask.array as da
import pytest
from distributed import Client

from sumwise.dask import GradientBoostingRegressor
from sumwise.dask.clients import find_client
from sumwise.errors import ParameterError


def test_the_default_client_is_found(client):
    with find_client(None, object()) as found:
        assert found is client
    with find_client(client, object()) as found:
        assert found is client


def test_clients_that_cannot_be_used_are_refused(client):
    owner = GradientBoostingRegressor()
    name = "GradientBoostingRegressor"
    closed = Client(client.scheduler.address, set_as_default=False)
    closed.close()

    async def make_asynchronous():
        address = client.scheduler.address
        async with Client(address, asynchronous=True, set_as_default=False) as own:
            return own

    for wrong, message in (
        ("tcp://127.0.0.1:1", f"{name}: client='tcp.*must be a distributed.Client"),
        (closed, f"{name}: the client is closed"),
        (asyncio.run(make_asynchronous()), f"{name}: the client is asynchronous"),
    ):
        with pytest.raises(ParameterError, match=message), find_client(wrong, owner):
            pass


def test_without_a_client_the_error_says_what_to_do(monkeypatch):
    def find_none():
        raise ValueError("No global client found")

    monkeypatch.setattr("sumwise.dask.clients.default_client", find_none)
    with (
        pytest.raises(ParameterError, match="there is no Dask client; make one first"),
        find_client(None, GradientBoostingRegressor()),
    ):
        pass


def fit_in_task(n):
    X = da.ones((20, 1), chunks=5).cumsum(axis=0)
    return GradientBoostingRegressor(n_estimators=n, min_samples_leaf=2).fit(X, X[:, 0])


def test_tasks_fit_on_their_own_cluster(client):
    """Even if all threads of the workers have such tasks."""
    models = client.gather(client.map(fit_in_task, [1, 2, 3, 4]))
    assert [model.best_iteration_ for model in models] == [1, 2, 3, 4]
    assert models[0].client is None
