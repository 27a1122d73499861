"""Whether fits give their device memory back, and whether two threads may fit at once."""

import ctypes
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from benchmarks.on_gpu.outcome import Outcome
from benchmarks.on_gpu.settings import SETTINGS, Setting, classify, dump, fit, regress
from benchmarks.report import Table, format_bytes

N_FITS = 200
# Kernels, which are loaded once, and what the driver keeps for itself are no leak. A leak of all
# arrays of the smallest fit here would be larger after a few fits.
_TOLERANCE = 4 << 20
_N_ROWS, _N_ROUNDS = 5_000, 5
# Different programs and sizes of arrays.
_NAMES = ("weights-leaf", "seven-depth", "categories-symmetric", "stop-refitted")
_CONCURRENT = (classify("events"), regress("mixed", growth="depth", sampler="goss"))


def find_counter() -> Callable[[], int]:
    """Return a function that counts the used bytes of the first GPU, by CUDA's driver itself."""
    cuda = ctypes.CDLL("libcuda.so.1")
    device, context = ctypes.c_int(), ctypes.c_void_p()

    def call(name: str, *arguments: Any) -> None:
        code = getattr(cuda, name)(*arguments)
        if code:
            raise RuntimeError(f"{name} failed with error {code}")

    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)

    def count_used() -> int:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        call("cuCtxPushCurrent_v2", context)
        try:
            call("cuCtxSynchronize")
            call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        finally:
            call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
        return total.value - free.value

    return count_used


def fit_many(n_fits: int, device: str) -> None:
    """Fit small models of several kinds in turn."""
    for number in range(n_fits):
        fit(SETTINGS[_NAMES[number % len(_NAMES)]], _N_ROWS, _N_ROUNDS, device)


def fail(device: str) -> None:
    """Fit with a callback that fails after a few rounds."""

    def give_up(state: Any) -> None:
        if state.round_number == 3:
            raise RuntimeError("on purpose")

    with suppress(RuntimeError):
        fit(regress("mixed"), _N_ROWS, _N_ROUNDS, device, callbacks=[give_up])
        raise AssertionError("the fit should have failed")


def interrupt(device: str, seconds: float = 1.0) -> None:
    """Press Ctrl-C in the middle of a long fit."""
    setting = classify("events", min_samples_leaf=1)
    fit(setting, 100_000, 1, device)  # compiles kernels, and makes the table
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
    with _interruptible():
        timer.start()
        try:
            fit(setting, 100_000, 100_000, device)
        except KeyboardInterrupt:
            return
        finally:
            timer.cancel()
    raise AssertionError("the fit should have been interrupted")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Have SIGINT raise KeyboardInterrupt, even in a process that was started to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def fit_concurrently(device: str, n_repeats: int = 5, n_rows: int = 20_000) -> list[str]:
    """Return how models of two threads at work at once differ from those of one."""

    def train(setting: Setting) -> bytes:
        return dump(fit(setting, n_rows, _N_ROUNDS, device))

    expected = [train(setting) for setting in _CONCURRENT]
    problems = []
    with ThreadPoolExecutor(len(_CONCURRENT)) as pool:
        for number in range(n_repeats):
            found = list(pool.map(train, _CONCURRENT))
            if found != expected:
                problems.append(f"two threads, repeat {number}: other bytes than a single thread")
    return problems


def run(
    n_fits: int = N_FITS, device: str = "cuda", count_used: Callable[[], int] | None = None
) -> Outcome:
    """Measure the memory in use after each kind of fit."""
    count_used = count_used or find_counter()
    lines: list[tuple[str, str, str]] = []
    problems: list[str] = []
    content: dict[str, Any] = {}

    def watch(what: str, work: Callable[[], object]) -> None:
        before = count_used()
        work()
        after = count_used()
        grown = after - before
        content[what] = {"before": before, "after": after}
        lines.append((what, format_bytes(before), f"{grown / 1e6:+.1f} MB"))
        if grown > _TOLERANCE:
            problems.append(f"{what}: {format_bytes(grown)} of device memory were not freed")

    fit_many(len(_NAMES), device)  # loads kernels, and makes the driver keep what it keeps
    watch(f"{n_fits} fits", lambda: fit_many(n_fits, device))
    watch("a fit that fails", lambda: fail(device))
    watch("Ctrl-C in a fit", lambda: interrupt(device))
    watch("two threads at once", lambda: problems.extend(fit_concurrently(device)))
    watch("more fits after these", lambda: fit_many(len(_NAMES), device))
    table = Table("Device memory", ("", "used before", "growth"), lines)
    return Outcome([table], content, problems)
