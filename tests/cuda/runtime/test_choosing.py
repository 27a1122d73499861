import pytest

from sumwise.cuda.runtime import choosing
from sumwise.cuda.runtime.choosing import open_devices, parse_devices
from sumwise.cuda.runtime.driver import DriverDevice
from sumwise.errors import DeviceError, ParameterError
from tests.cuda.runtime.fake_driver import Code


@pytest.mark.parametrize(
    ("spec", "numbers"),
    [("cuda", [0]), ("cuda:1", [1]), ("cuda:0,1", [0, 1]), ("cuda:0,0", [0, 0]), ("cuda:12", [12])],
)
def test_parse(spec, numbers):
    assert parse_devices(spec) == numbers


@pytest.mark.parametrize(
    "spec", ["gpu", "cuda:", "cuda:a", "cuda:0,", "cuda:-1", "cuda:0, 1", "CUDA", "cuda0", 0, None]
)
def test_malformed_text(spec):
    with pytest.raises(ParameterError, match="'cuda:0,1'; got " + repr(spec)):
        open_devices(spec)


def test_devices_are_opened_in_order(install):
    install(gpus=((9, 0), (12, 0)))
    devices = open_devices("cuda:1,0,1")
    assert [device.number for device in devices] == [1, 0, 1]
    assert [device.architecture for device in devices] == [120, 90, 120]
    assert all(type(device) is DriverDevice for device in devices)
    for device in devices:
        device.close()


def test_devices_are_closed_if_one_cannot_be_opened(fake):
    with pytest.raises(DeviceError, match="there is no GPU 5"):
        open_devices("cuda:0,5")
    assert fake.n_streams == 0


def test_gpus_that_do_not_reach_each_other(install, monkeypatch):
    fake = install(gpus=((9, 0), (9, 0)))
    monkeypatch.setattr(fake, "cuDeviceCanAccessPeer", lambda number, other: (Code.CUDA_SUCCESS, 0))
    with pytest.raises(DeviceError, match="GPUs 0 and 1 cannot read each other's memory"):
        open_devices("cuda:0,1")
    assert fake.n_streams == 0
    for device in open_devices("cuda:1,1"):  # a GPU reaches itself
        device.close()


def test_another_kind_of_device(monkeypatch):
    class Other:
        def __init__(self, number):
            self.number = number

        def can_read(self, other):
            return True

    monkeypatch.setattr(choosing, "device_maker", Other)
    assert [device.number for device in open_devices("cuda:0,1")] == [0, 1]
