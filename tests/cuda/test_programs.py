from sumwise.cuda import programs
from sumwise.cuda.programs import find_gpu_architectures, list_programs
from sumwise.cuda.runtime.arrays import ARITHMETIC
from sumwise.errors import DeviceError
from tests.cuda.runtime.fake_driver import FakeDriver


def test_programs_are_found():
    found = list_programs()
    assert ARITHMETIC in found
    assert [program.name for program in found] == sorted({program.name for program in found})


def test_architectures_of_gpus(monkeypatch):
    fake = FakeDriver(gpus=((9, 0), (7, 0), (12, 0), (9, 0)))
    monkeypatch.setattr(programs, "start_driver", lambda: fake)
    assert find_gpu_architectures() == [90, 120]


def test_no_gpu(monkeypatch):
    def fail():
        raise DeviceError("no driver")

    monkeypatch.setattr(programs, "start_driver", fail)
    assert find_gpu_architectures() == []
