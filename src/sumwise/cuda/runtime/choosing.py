"""Which devices a text such as "cuda:0,1" means."""

import re
from collections.abc import Callable
from typing import Any

from sumwise.cuda.runtime.bindings import SAME_MODEL
from sumwise.cuda.runtime.device import Device
from sumwise.errors import DeviceError, ParameterError

_SPEC = re.compile(r"cuda(?::(\d+(?:,\d+)*))?")


def _open_gpu(number: int) -> Device:
    from sumwise.cuda.runtime.driver import DriverDevice

    return DriverDevice(number)


# What opens a device by its number. Tests put an emulator here.
device_maker: Callable[[int], Device] = _open_gpu


def parse_devices(spec: Any) -> list[int]:
    """Return the numbers of the GPUs that a text asks for; ParameterError if it is malformed."""
    match = _SPEC.fullmatch(spec) if isinstance(spec, str) else None
    if match is None:
        raise ParameterError(
            "device must be 'cpu', 'cuda', or 'cuda:' with numbers of GPUs, as in 'cuda:1' or "
            f"'cuda:0,1'; got {spec!r}"
        )
    return [int(number) for number in (match[1] or "0").split(",")]


def open_devices(spec: Any) -> list[Device]:
    """Return the devices that a text asks for, opened; the same GPU may be there twice.

    Parameters
    ----------
    spec : str
        "cuda" is the first GPU; "cuda:1" the second one; "cuda:0,1" both.

    Raises
    ------
    ParameterError
        If the text is malformed.
    DeviceError
        If a GPU cannot be used: the message says what is missing.
    """
    devices: list[Device] = []
    try:
        for number in parse_devices(spec):
            devices.append(device_maker(number))
            _check_reach(devices)
    except BaseException:
        for device in devices:
            device.close()
        raise
    return devices


def _check_reach(devices: list[Device]) -> None:
    """Raise DeviceError unless the last device and the others can read each other's sums."""
    *others, last = devices
    for other in others:
        if not (last.can_read(other) and other.can_read(last)):
            raise DeviceError(
                f"GPUs {other.number} and {last.number} cannot read each other's memory (neither "
                "NVLink nor peer access over PCIe), which growing a tree together needs; use one "
                f"of them, or {SAME_MODEL}"
            )
