import os
from importlib import import_module

import pytest

from sumwise.cuda.runtime import bindings
from sumwise.cuda.runtime.choosing import open_devices
from sumwise.errors import DeviceError
from tests.cuda.runtime.fake_driver import Code, FakeDriver

SAME = r"; device='cpu' gives the same model$"


def test_bindings_are_not_installed(monkeypatch):
    def fail(name):
        raise ModuleNotFoundError("No module named 'cuda'")

    monkeypatch.setattr(bindings, "import_module", fail)
    message = (
        r"a GPU needs the package cuda-bindings, which cannot be imported \(No module named "
        r"'cuda'\): pip install \"sumwise\[cuda13\]\" \(drivers from 580 on\) or pip install "
        r"\"sumwise\[cuda12\]\"" + SAME
    )
    with pytest.raises(DeviceError, match=message):
        open_devices("cuda")


def test_no_driver(fake, monkeypatch):
    def fail():
        raise RuntimeError("Failed to dlopen libcuda.so.1")

    monkeypatch.setattr(fake, "cuDriverGetVersion", fail)
    with pytest.raises(
        DeviceError, match="no NVIDIA driver is installed: .* libcuda was not found" + SAME
    ):
        open_devices("cuda")


def test_driver_is_too_old(install):
    install(version=12040)
    message = (
        "too old: it knows CUDA 12.4, and the installed cuda-bindings are of version 13.5.0; "
        r'update the driver, or install "sumwise\[cuda12\]"' + SAME
    )
    with pytest.raises(DeviceError, match=message):
        open_devices("cuda")
    install(version=12040, bindings_version="12.9.1")
    open_devices("cuda")[0].close()


def test_no_gpu(install):
    install(gpus=())
    with pytest.raises(
        DeviceError, match="there is no NVIDIA GPU that this process can see" + SAME
    ):
        open_devices("cuda")


def test_driver_does_not_start(fake):
    fake.failing["cuInit"] = Code.CUDA_ERROR_INVALID_VALUE
    with pytest.raises(DeviceError, match="does not start: CUDA_ERROR_INVALID_VALUE"):
        open_devices("cuda")


def test_number_out_of_range(install):
    install(gpus=((9, 0), (12, 0)))
    message = (
        r"there is no GPU 2; found: 0: Fake GPU \(1.0 GiB, compute capability 9.0\); 1: Fake GPU "
        r"\(1.0 GiB, compute capability 12.0\)" + SAME
    )
    with pytest.raises(DeviceError, match=message):
        open_devices("cuda:2")


def test_old_gpu(install):
    install(gpus=((7, 0), (9, 0)))
    message = (
        r"GPU 0: Fake GPU \(1.0 GiB, compute capability 7.0\) is too old: compute capability 7.5 "
        r"\(Turing\) is needed; found: 0: .*; 1: .*" + SAME
    )
    with pytest.raises(DeviceError, match=message):
        open_devices("cuda")
    open_devices("cuda:1")[0].close()


def test_forked_process(fake, monkeypatch):
    (device,) = open_devices("cuda")
    monkeypatch.setattr(bindings, "_started_by", os.getpid() + 1)
    with pytest.raises(DeviceError, match=r'forked .* "spawn"'):
        open_devices("cuda")
    fake.failing["cuCtxSetCurrent"] = Code.CUDA_ERROR_NOT_INITIALIZED
    with pytest.raises(DeviceError, match=r'forked .* "spawn"'):
        device.zeros(3, int)
    n_calls = fake.calls.total()
    device.close()  # what the parent has is the parent's
    assert fake.calls.total() == n_calls


def test_unknown_codes(fake, monkeypatch):
    monkeypatch.setattr(fake, "cuGetErrorName", lambda error: (Code(1), None))
    monkeypatch.setattr(fake, "cuGetErrorString", lambda error: (Code(1), None))
    assert bindings.name_error(12345) == "CUDA error 12345"


def test_the_fake_has_what_the_bindings_have():
    """Names and numbers of arguments are those of the installed package."""
    real = import_module("cuda.bindings.driver")
    for name, function in vars(FakeDriver).items():
        if name.startswith("cu"):
            text = getattr(real, name).__doc__.partition("\n")[0]
            n_arguments = text.partition("(")[2].count(",") + ("()" not in text)
            assert function.__code__.co_argcount - 1 == n_arguments, text
        elif name.startswith("CU"):
            members = [one for one in vars(function) if one.startswith("CU")]
            assert all(hasattr(getattr(real, name), one) for one in members)
    for code in Code:
        assert getattr(real.CUresult, code.name) == code
    flags = (real.CUstream_flags.CU_STREAM_NON_BLOCKING, real.CUevent_flags.CU_EVENT_DISABLE_TIMING)
    assert (*map(int, flags), real.CU_MEMHOSTALLOC_PORTABLE) == (1, 2, 1)
    assert real.CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT == 1
    assert real.CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT == 2
    assert real.CUresult.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED == 704


def test_real_bindings_tell_what_is_missing():
    """Whatever machine this is: a device, or an error that names what is not there."""
    messages = []
    try:
        open_devices("cuda")[0].close()
    except DeviceError as error:
        messages.append(str(error))
    assert all("device='cpu' gives the same model" in message for message in messages)
