"""Custom losses on a device: what the object is given, and that results are the CPU's bits.

There is no CuPy here: a module that sees the memory of the emulated device as NumPy arrays takes
its place.
"""

import ctypes
import sys
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.team import DeviceTeam
from sumwise.errors import DeviceError, ParameterError
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import CustomLoss, check_loss

N_ROWS = 60


class Pseudo:
    """The pseudo-Huber loss."""

    def value(self, y, raw):
        return self._find_size(raw - y) - 1.0

    def gradient(self, y, raw):
        size = self._find_size(raw - y)
        return (raw - y) / size, 1.0 / size**3

    def _find_size(self, error):
        return (1.0 + error * error) ** 0.5


class PseudoOnDevice(Pseudo):
    arrays = "cupy"


class OfTwoTargets(Pseudo):
    n_outputs = 2

    def value(self, y, raw):
        return super().value(y, raw).sum(axis=1)


class OfTwoTargetsOnDevice(OfTwoTargets):
    arrays = "cupy"


def see_memory(array, dtype=None):
    """Return a NumPy array of the memory of an emulated device."""
    if not isinstance(array, DeviceArray):
        return np.asarray(array, dtype)
    told = array.__cuda_array_interface__
    memory = (ctypes.c_char * array.nbytes).from_address(told["data"][0])
    return np.frombuffer(memory, told["typestr"]).reshape(told["shape"])


@pytest.fixture
def cupy(monkeypatch):
    library = ModuleType("cupy")
    library.asarray, library.asnumpy = see_memory, np.asarray
    for name in ("isfinite", "argwhere", "stack"):
        setattr(library, name, getattr(np, name))
    context = lambda *_: nullcontext()  # noqa: E731
    library.cuda = SimpleNamespace(Device=context, ExternalStream=context)
    monkeypatch.setitem(sys.modules, "cupy", library)
    return library


class Case:
    def __init__(self, source, weighted, share):
        rng = np.random.default_rng(0)
        n_outputs = getattr(source, "n_outputs", 1)
        self.raw = rng.normal(size=(n_outputs, N_ROWS))
        self.target = rng.normal(size=(N_ROWS, n_outputs) if n_outputs > 1 else N_ROWS)
        self.weight = rng.random(N_ROWS) if weighted else np.empty(0)
        self.rows = np.arange(0, N_ROWS, share, dtype=np.uint32)
        loss = CustomLoss(source)
        self.loss = loss.adapt(self.target, self.weight, self.rows, None)

    def upload(self, device):
        target = self.target
        if target.ndim == 1:
            own = device.upload(target)
        else:
            own = tuple(device.upload(np.ascontiguousarray(column)) for column in target.T)
        return own, device.upload(self.raw), device.upload(self.weight)

    def find(self, device):
        """Return gradient, hessian and mean loss on the device."""
        team = DeviceTeam(device)
        loss, arrays = self.loss.on_device(team), self.upload(device)
        found = [device.allocate(self.raw.shape, np.float64) for _ in range(2)]
        loss.gradient(team, *arrays, *found)
        value = loss.measure(team, *arrays, device.upload(self.rows)).get()
        return *(array.to_host() for array in found), value


def find_on_cpu(case):
    gradient, hessian = np.empty_like(case.raw), np.empty_like(case.raw)
    case.loss.gradient(Team(1), case.target, case.raw, case.weight, gradient, hessian)
    return gradient, hessian, case.loss.value(case.target, case.raw, case.weight, case.rows)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("share", [1, 3])
@pytest.mark.parametrize(
    ("source", "twin"),
    [
        (Pseudo(), Pseudo()),
        (PseudoOnDevice(), Pseudo()),
        (OfTwoTargets(), OfTwoTargets()),
        (OfTwoTargetsOnDevice(), OfTwoTargets()),
    ],
    ids=["numpy", "cupy", "numpy, two targets", "cupy, two targets"],
)
def test_derivatives_and_values_are_those_of_the_cpu(device, cupy, source, twin, weighted, share):
    found = Case(source, weighted, share).find(device)
    expected = find_on_cpu(Case(twin, weighted, share))
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(own, other)


def test_object_may_change_its_arrays(device, cupy):
    class Careless(PseudoOnDevice):
        def gradient(self, y, raw):
            raw -= y
            y[:] = 0.0
            return super().gradient(y, raw)

    case = Case(Careless(), False, 1)
    team = DeviceTeam(device)
    loss, arrays = case.loss.on_device(team), case.upload(device)
    found = [device.allocate(case.raw.shape, np.float64) for _ in range(2)]
    loss.gradient(team, *arrays, *found)
    np.testing.assert_array_equal(arrays[0].to_host(), case.target)
    np.testing.assert_array_equal(arrays[1].to_host(), case.raw)


def test_function_may_take_arrays_on_the_device(device, cupy):
    def squared(y, raw):
        assert isinstance(raw, np.ndarray)
        return raw - y, np.ones_like(raw)

    squared.arrays = "cupy"
    case = Case(squared, False, 1)
    team = DeviceTeam(device)
    found = [device.allocate(case.raw.shape, np.float64) for _ in range(2)]
    case.loss.on_device(team).gradient(team, *case.upload(device), *found)
    np.testing.assert_array_equal(found[0].to_host()[0], case.raw[0] - case.target)


@pytest.mark.parametrize("library", ["numpy", "cupy"])
def test_wrong_results_are_refused(device, cupy, library):
    class Wrong(Pseudo):
        arrays = library

        def gradient(self, y, raw):
            return raw, raw

    with pytest.raises(ParameterError, match=r"second derivative is .* must not be negative"):
        Case(Wrong(), False, 1).find(device)


def test_device_arrays_without_cupy(device, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(DeviceError, match="needs CuPy, which is not installed: pip install"):
        Case(PseudoOnDevice(), False, 1).find(device)


def test_device_arrays_on_the_cpu():
    with pytest.raises(ParameterError, match="arrays='cupy' needs device='cuda'"):
        check_loss(PseudoOnDevice(), y=np.zeros(3))


def test_unknown_arrays():
    class Unknown(Pseudo):
        arrays = "torch"

    with pytest.raises(ParameterError, match="arrays='torch': must be 'numpy' or 'cupy'"):
        CustomLoss(Unknown())
