"""A fake of ``cuda.bindings.driver``: GPUs whose queues are lists, and whose memory is the host's.

Work is done as late as the driver may do it: when somebody waits for it. So a test sees whether
memory is used again too early. Kernels are Python functions of the packed arguments.
"""

# ruff: noqa: N802, N815 - names as in cuda.bindings

import ctypes
import threading
from collections import Counter
from enum import IntEnum
from types import SimpleNamespace


class Code(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NOT_INITIALIZED = 3
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_INVALID_CONTEXT = 201
    CUDA_ERROR_NOT_FOUND = 500
    CUDA_ERROR_ILLEGAL_ADDRESS = 700
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900


class _Attribute(IntEnum):
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 0
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 1
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 2
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 3


class Stream:
    """Queued work; ``captured`` while a graph is recorded."""

    def __init__(self, number):
        self.number, self.work, self.captured = number, [], None

    def __int__(self):
        return self.number

    def add(self, step):
        (self.work if self.captured is None else self.captured).append(step)

    def run(self, n_steps=None):
        while self.work and n_steps != 0:
            self.work.pop(0)()
            n_steps = None if n_steps is None else n_steps - 1


class Event:
    """What must be done before the event has happened: a stream and its work up to here."""

    def __init__(self):
        self.stream, self.last = None, None

    def finish(self):
        while self.stream is not None and self.last in self.stream.work:
            self.stream.run(1)


class FakeDriver:
    """The functions of the driver that are used, with everything counted."""

    CUdevice_attribute = _Attribute
    CUfunction_attribute = SimpleNamespace(
        CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES=1, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8
    )
    CUstreamCaptureMode = SimpleNamespace(CU_STREAM_CAPTURE_MODE_RELAXED=2)

    def __init__(self, gpus=((9, 0),), version=13000, memory=1 << 30, kernels=None):
        self.gpus, self.version, self.total = gpus, version, memory
        self.kernels = kernels or {}  # name: (bytes of each argument, function)
        self.memory, self.pinned, self.calls = {}, {}, Counter()
        self.failing = {}  # name of a function: code
        self.n_streams = self.n_graphs = 0
        self._current = threading.local()
        self._lock = threading.RLock()

    def __getattribute__(self, name):
        """Count calls of the driver, let them fail, and do one at a time."""
        member = super().__getattribute__(name)
        if not name.startswith("cu") or not callable(member):
            return member

        def call(*arguments):
            with self._lock:
                self.calls[name] += 1
                if name in self.failing:
                    return (self.failing[name], *[None] * _N_RESULTS.get(name, 0))
                result = member(*arguments)
            return result if isinstance(result, tuple) else (Code.CUDA_SUCCESS,)

        call.__name__ = name
        return call

    # --- the driver and its GPUs ---

    def cuInit(self, flags):
        return (Code.CUDA_SUCCESS if self.gpus else Code.CUDA_ERROR_NO_DEVICE,)

    def cuDriverGetVersion(self):
        return Code.CUDA_SUCCESS, self.version

    def cuGetErrorName(self, error):
        return Code.CUDA_SUCCESS, Code(error).name.encode()

    def cuGetErrorString(self, error):
        return Code.CUDA_SUCCESS, b"what " + Code(error).name[11:].lower().encode()

    def cuDeviceGetCount(self):
        return Code.CUDA_SUCCESS, len(self.gpus)

    def cuDeviceGet(self, number):
        return Code.CUDA_SUCCESS, number

    def cuDeviceGetName(self, length, number):
        return Code.CUDA_SUCCESS, b"Fake GPU" + bytes(length - 8)

    def cuDeviceTotalMem(self, number):
        return Code.CUDA_SUCCESS, self.total

    def cuDeviceGetAttribute(self, kind, number):
        return Code.CUDA_SUCCESS, (*self.gpus[number], 4, 100_000)[kind]

    def cuDeviceCanAccessPeer(self, number, other):
        return Code.CUDA_SUCCESS, 1

    def cuDevicePrimaryCtxRetain(self, number):
        return Code.CUDA_SUCCESS, ("context", number)

    def cuCtxSetCurrent(self, context):
        self._current.context = context

    def cuCtxGetCurrent(self):
        return Code.CUDA_SUCCESS, getattr(self._current, "context", None)

    def cuCtxEnablePeerAccess(self, context, flags):
        self._check_context()

    def _check_context(self):
        assert getattr(self._current, "context", None) is not None, "no current context"

    # --- memory ---

    def cuMemAlloc(self, n_bytes):
        self._check_context()
        assert n_bytes > 0
        if n_bytes > self._count_free():
            return Code.CUDA_ERROR_OUT_OF_MEMORY, None
        return self._add(self.memory, n_bytes)

    def cuMemHostAlloc(self, n_bytes, flags):
        self._check_context()
        return self._add(self.pinned, n_bytes)

    def _add(self, memory, n_bytes):
        block = ctypes.create_string_buffer(n_bytes)
        memory[ctypes.addressof(block)] = block
        return Code.CUDA_SUCCESS, ctypes.addressof(block)

    def cuMemFree(self, address):
        self._check_context()
        del self.memory[address]

    def cuMemFreeHost(self, address):
        del self.pinned[address]

    def _count_free(self):
        return self.total - sum(map(len, self.memory.values()))

    def cuMemGetInfo(self):
        return Code.CUDA_SUCCESS, self._count_free(), self.total

    def _copy(self, target, source, n_bytes, stream):
        self._check_context()
        stream.add(lambda: ctypes.memmove(target, source, n_bytes))

    cuMemcpyHtoDAsync = cuMemcpyDtoHAsync = cuMemcpyDtoDAsync = _copy

    def cuMemcpyPeerAsync(self, target, there, source, here, n_bytes, stream):
        self._copy(target, source, n_bytes, stream)

    def cuMemsetD8Async(self, target, value, n_bytes, stream):
        self._check_context()
        stream.add(lambda: ctypes.memset(target, value, n_bytes))

    # --- queues ---

    def cuStreamCreate(self, flags):
        self._check_context()
        self.n_streams += 1
        return Code.CUDA_SUCCESS, Stream(self.n_streams)

    def cuStreamDestroy(self, stream):
        self.n_streams -= 1

    def cuStreamSynchronize(self, stream):
        if stream.captured is not None:
            return (Code.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,)
        stream.run()

    def cuEventCreate(self, flags):
        return Code.CUDA_SUCCESS, Event()

    def cuEventRecord(self, event, stream):
        event.stream, event.last = stream, lambda: None
        stream.add(event.last)

    def cuEventSynchronize(self, event):
        event.finish()

    def cuStreamWaitEvent(self, stream, event, flags):
        seen = Event()
        seen.stream, seen.last = event.stream, event.last
        stream.add(seen.finish)

    # --- kernels ---

    def cuModuleLoadData(self, image):
        self._check_context()
        return Code.CUDA_SUCCESS, image

    def cuModuleGetFunction(self, module, name):
        if name.decode() not in self.kernels:
            return Code.CUDA_ERROR_NOT_FOUND, None
        return Code.CUDA_SUCCESS, name.decode()

    def cuFuncGetAttribute(self, kind, function):
        return Code.CUDA_SUCCESS, 1000

    def cuFuncSetAttribute(self, function, kind, value):
        assert (kind, value) == (8, 99_000)

    def cuFuncGetParamInfo(self, function, idx):
        sizes = self.kernels[function][0]
        if idx >= len(sizes):
            return Code.CUDA_ERROR_INVALID_VALUE, 0, 0
        return Code.CUDA_SUCCESS, sum(sizes[:idx]), sizes[idx]

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, function, n_threads, shared):
        return Code.CUDA_SUCCESS, 2048 // n_threads

    def cuLaunchKernel(self, function, x, y, z, n_threads, ty, tz, shared, stream, params, extra):
        self._check_context()
        kind, block, size_kind, size, end = (ctypes.c_uint64 * 5).from_address(extra)
        assert (params, kind, size_kind, end) == (0, 1, 2, 0)
        packed = ctypes.string_at(block, ctypes.c_size_t.from_address(size).value)
        stream.add(lambda: self.kernels[function][1](packed))

    # --- graphs ---

    def cuStreamBeginCapture(self, stream, mode):
        stream.captured = []

    def cuStreamEndCapture(self, stream):
        steps, stream.captured = stream.captured, None
        self.n_graphs += 1
        return Code.CUDA_SUCCESS, steps

    def cuGraphDestroy(self, graph):
        self.n_graphs -= 1

    def cuGraphInstantiate(self, graph, flags):
        self.n_graphs += 1
        return Code.CUDA_SUCCESS, list(graph)

    def cuGraphUpload(self, work, stream):
        pass

    def cuGraphExecDestroy(self, work):
        self.n_graphs -= 1

    def cuGraphLaunch(self, work, stream):
        for step in work:
            stream.add(step)


# How many results a failing function has beside its code.
_N_RESULTS = {
    "cuMemAlloc": 1, "cuMemHostAlloc": 1, "cuStreamCreate": 1, "cuEventCreate": 1,
    "cuDriverGetVersion": 1, "cuDeviceGetCount": 1, "cuGraphInstantiate": 1,
    "cuStreamEndCapture": 1, "cuModuleLoadData": 1,
}  # fmt: skip
