"""Gpu: one physical GPU in this process: its properties, its context, the programs loaded on it.

All devices on a GPU share its primary context, as CuPy and torch do, so that their arrays can be
used here. A context takes a few tenths of a second to make and holds the pinned memory of the host
and all loaded programs; so it is kept until the process ends.
"""

import threading
from itertools import count
from types import ModuleType
from typing import Any, NamedTuple

from sumwise.cuda.runtime.bindings import SAME_MODEL, call, fail, start_driver
from sumwise.cuda.runtime.compiler import compile_program, find_kernels
from sumwise.cuda.runtime.device import Program
from sumwise.errors import DeviceError

OLDEST_ARCHITECTURE = 75
_EVENT_WITHOUT_TIME = 2
_NOT_FOUND = 500
_ALREADY_ENABLED = 704


class GpuProperties(NamedTuple):
    """What there is to know about a GPU without using it."""

    number: int
    name: str
    architecture: int
    memory: int
    n_processors: int
    shared_memory: int

    def describe(self) -> str:
        """Return one line for people."""
        capability = f"{self.architecture // 10}.{self.architecture % 10}"
        memory = f"{self.memory / 2**30:.1f} GiB"
        return f"{self.number}: {self.name} ({memory}, compute capability {capability})"


class Kernel(NamedTuple):
    """A kernel on one GPU."""

    function: Any
    name: str
    n_bytes: int | None  # of all its arguments, if the driver tells


class Gpu:
    """One physical GPU, with its context; see :func:`find_gpu`."""

    def __init__(self, cuda: ModuleType, properties: GpuProperties) -> None:
        self.cuda, self.properties = cuda, properties
        self.context = call(cuda.cuDevicePrimaryCtxRetain, call(cuda.cuDeviceGet, self.number))
        self._programs: dict[Program, dict[str, Kernel]] = {}
        self._loading = threading.Lock()
        self._events: list[Any] = []
        self.reached = {self.number}  # GPUs whose memory kernels here can read

    @property
    def number(self) -> int:
        return self.properties.number

    def use(self) -> None:
        """Make the context that of the calling thread; as quick as asking which one it is."""
        (error,) = self.cuda.cuCtxSetCurrent(self.context)
        if error:
            fail(error, self.cuda.cuCtxSetCurrent)

    # --- events ---

    def take_event(self) -> Any:
        """Return an event that nobody else has."""
        try:
            return self._events.pop()
        except IndexError:
            return call(self.cuda.cuEventCreate, _EVENT_WITHOUT_TIME)

    def give_event(self, event: Any) -> None:
        """Let others have an event: those who wait for it wait for what it has marked so far."""
        self._events.append(event)

    # --- programs ---

    def find_loaded(self, program: Program) -> dict[str, Kernel] | None:
        """Return the kernels of a program if it was loaded before."""
        return self._programs.get(program)

    def load(self, program: Program) -> dict[str, Kernel]:
        """Return the kernels of a program, loaded once in a process."""
        with self._loading:
            if program not in self._programs:
                self._programs[program] = self._load(program)
            return self._programs[program]

    def _load(self, program: Program) -> dict[str, Kernel]:
        image = compile_program(program, self.properties.architecture)
        self.use()
        module = call(self.cuda.cuModuleLoadData, image)
        kernels = {}
        for name in find_kernels(image):
            error, function = self.cuda.cuModuleGetFunction(module, name.encode())
            if error == _NOT_FOUND:  # a function that is no kernel
                continue
            if error:
                fail(error, self.cuda.cuModuleGetFunction)
            self._allow_shared_memory(function)
            kernels[name] = Kernel(function, name, self._measure_arguments(function))
        return kernels

    def _allow_shared_memory(self, function: Any) -> None:
        """Let a kernel have all shared memory, not just 48 KB; this loads its code, too."""
        attributes = self.cuda.CUfunction_attribute
        static = call(
            self.cuda.cuFuncGetAttribute,
            attributes.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
            function,
        )
        call(
            self.cuda.cuFuncSetAttribute,
            function,
            attributes.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            self.properties.shared_memory - static,
        )

    def _measure_arguments(self, function: Any) -> int | None:
        """Return how many bytes of arguments a kernel takes; None if the driver is before 12.4."""
        n_bytes = 0
        try:
            for idx in count():
                error, offset, size = self.cuda.cuFuncGetParamInfo(function, idx)
                if error:  # there is no further argument
                    break
                n_bytes = offset + size
        except (AttributeError, RuntimeError):
            return None
        return n_bytes

    # --- other GPUs ---

    def reach(self, other: "Gpu") -> None:
        """Let kernels and copies here read the memory of another GPU, if the hardware can."""
        numbers = (call(self.cuda.cuDeviceGet, gpu.number) for gpu in (self, other))
        if not call(self.cuda.cuDeviceCanAccessPeer, *numbers):
            return
        self.reached.add(other.number)
        self.use()
        (error,) = self.cuda.cuCtxEnablePeerAccess(other.context, 0)
        if error and error != _ALREADY_ENABLED:
            fail(error, self.cuda.cuCtxEnablePeerAccess)


_gpus: dict[int, Gpu] = {}
_finding = threading.Lock()


def find_gpu(number: int) -> Gpu:
    """Return a GPU by its number; DeviceError says what there is instead."""
    cuda = start_driver()
    with _finding:
        if number not in _gpus:
            found = list_gpus(cuda)
            _check(number, found)
            gpu = Gpu(cuda, found[number])
            for other in _gpus.values():
                gpu.reach(other)
                other.reach(gpu)
            _gpus[number] = gpu
        return _gpus[number]


def list_gpus(cuda: ModuleType) -> list[GpuProperties]:
    """Return the properties of all GPUs that this process can see."""
    return [_read_properties(cuda, number) for number in range(call(cuda.cuDeviceGetCount))]


def _read_properties(cuda: ModuleType, number: int) -> GpuProperties:
    device = call(cuda.cuDeviceGet, number)
    kinds = cuda.CUdevice_attribute
    major, minor, n_processors, shared_memory = (
        call(cuda.cuDeviceGetAttribute, kind, device)
        for kind in (
            kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            kinds.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
            kinds.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
        )
    )
    name = call(cuda.cuDeviceGetName, 256, device).partition(b"\0")[0].decode()
    memory = call(cuda.cuDeviceTotalMem, device)
    return GpuProperties(number, name, 10 * major + minor, memory, n_processors, shared_memory)


def _check(number: int, found: list[GpuProperties]) -> None:
    lines = "; ".join(gpu.describe() for gpu in found)
    if number >= len(found):
        raise DeviceError(f"there is no GPU {number}; found: {lines or 'none'}; {SAME_MODEL}")
    if found[number].architecture < OLDEST_ARCHITECTURE:
        raise DeviceError(
            f"GPU {found[number].describe()} is too old: compute capability "
            f"{OLDEST_ARCHITECTURE / 10} (Turing) is needed; found: {lines}; {SAME_MODEL}"
        )
