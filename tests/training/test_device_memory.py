"""What a fit takes of the memory of a device is known before it is taken."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

import sumwise as sw
from sumwise.cuda.runtime import choosing
from sumwise.data import device_sending
from sumwise.errors import DeviceMemoryError
from sumwise.training.device_memory import FitMemory
from tests.cuda.emulator import EmulatedDevice

N_ROWS = 2000
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N_ROWS, 28))
Y = X[:, 0] + X[:, 1] * X[:, 2]
CLASSES = np.digitize(Y, [-0.5, 0.5])
# Little of what a tree needs depends on anything but rows.
SMALL = {"n_estimators": 2, "max_leaves": 2, "max_bins": 15, "random_state": 0}


class MeasuredDevice(EmulatedDevice):
    """Knows the most that was in use."""

    peak = 0

    def allocate(self, shape, dtype):
        array = super().allocate(shape, dtype)
        self.peak = max(self.peak, self.memory_limit - self.count_free())
        return array


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Values of rows that wait for their bins take little next to a table, as with many rows."""
    monkeypatch.setattr(device_sending, "_BATCH_BYTES", 1 << 15)


@pytest.fixture
def opened(monkeypatch):
    """Let measured devices take the place of GPUs; return all that have been opened."""
    devices = []

    def open_measured(number):
        devices.append(MeasuredDevice(number))
        return devices[-1]

    monkeypatch.setattr(choosing, "device_maker", open_measured)
    return devices


@pytest.fixture
def limit(monkeypatch):
    """A function that gives all devices a limit."""

    def set_limit(n_bytes):
        monkeypatch.setattr(
            choosing, "device_maker", lambda number: MeasuredDevice(number, memory_limit=n_bytes)
        )

    return set_limit


def regress(device="cuda", **params):
    return sw.GradientBoostingRegressor(**{**SMALL, **params}, device=device)


@pytest.mark.parametrize(
    ("device", "params"),
    [
        ("cuda", {}),
        ("cuda:0,1", {}),
        ("cuda", {"max_leaves": 20, "max_bins": 255}),
        ("cuda", {"early_stopping": True, "growth": "depth"}),
        ("cuda", {"sampler": "subsample"}),
        ("cuda", {"sampler": "goss", "loss": "absolute_error"}),
        ("cuda", {"sampler": "bayesianbootstrap"}),
        ("cuda:0,1", {"sampler": "subsample", "loss": "quantile"}),
        ("cuda", {"booster": "forest"}),
        ("cuda", {"booster": sw.Plain(trees_per_round=2)}),
    ],
    ids=str,
)
def test_the_sum_is_what_a_fit_takes(opened, monkeypatch, device, params):
    planned = []

    def check(self, usable):
        planned[:] = [self.count(i, usable).total() for i in range(len(self.devices))]

    monkeypatch.setattr(FitMemory, "check", check)
    regress(device, **params).fit(X, Y)
    assert len(planned) == len(opened)
    for own, size in zip(opened, planned, strict=True):
        assert 0.88 * own.peak < size <= own.peak


def test_bytes_per_row(opened):
    """As the guide says: for 28 features, 109 and a few more with two classes."""
    sw.GradientBoostingClassifier(**SMALL, device="cuda").fit(X, CLASSES > 0)
    trees = 20_000
    assert opened[0].peak < 109 * N_ROWS + trees


def test_too_little_memory(limit):
    limit(200_000)
    model = regress()
    with pytest.raises(DeviceMemoryError) as refused:
        model.fit(X, Y)
    shown = re.sub(r"\d+ bytes", "N bytes", str(refused.value))
    assert shown == (
        "a fit on 2,000 rows and 28 features takes N bytes of the memory of GPU 0 (emulated), and "
        "N bytes are free: N bytes for the table, N bytes for rows and scores, N bytes for trees "
        "and histograms. To take less, lower max_bins, max_leaves or max_depth, use fewer "
        "features, or divide the rows among several GPUs, as with device='cuda:0,1'; device='cpu' "
        "gives the same model"
    )
    assert not hasattr(model, "ensemble_")


def test_what_certainly_fails_is_told_before_anything_is_allocated(monkeypatch):
    device = MeasuredDevice(memory_limit=100_000)
    monkeypatch.setattr(choosing, "device_maker", lambda number: device)
    with pytest.raises(DeviceMemoryError, match="takes at least"):
        regress().fit(X, Y)
    assert device.peak == 0


def test_features_that_cannot_be_split_need_no_tiles(limit):
    """2,000 columns of which 10 have enough rows on both sides."""
    rare = sp.csr_matrix((np.ones(1990), (np.arange(1990), np.arange(1990))), (N_ROWS, 1990))
    table = sp.hstack([sp.csr_matrix(X[:, :10]), rare]).tocsr()
    limit(5_000_000)  # all tiles would take 4,032,000
    assert regress().fit(table, Y).n_trees_ == 2


def test_what_the_error_advises_helps(limit):
    limit(190_000)
    for params in ({"device": "cuda"}, {"device": "cuda:0,0"}):
        with pytest.raises(DeviceMemoryError, match="GPU 0"):
            regress(**params).fit(X, Y)
    expected = regress("cpu").fit(X, Y).predict(X)
    assert np.array_equal(regress("cuda:0,1").fit(X, Y).predict(X), expected)
    limit(230_000)
    regress().fit(X[:, :4], Y)
    with pytest.raises(DeviceMemoryError, match="for trees and histograms"):
        regress(max_leaves=50).fit(X[:, :4], Y)


def test_members_of_an_ensemble(limit):
    limit(200_000)
    stack = sw.StackingRegressor([("a", regress()), ("b", regress(max_leaves=3))], cv=2)
    with pytest.raises(DeviceMemoryError, match="are free"):
        stack.fit(X, Y)
