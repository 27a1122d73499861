"""DriverDevice: a queue on a real GPU, through the CUDA driver.

Large copies travel through pinned memory that the process keeps (see pinned.py); programs are
compiled by NVRTC at first use (see compiler.py); why ``cuda.bindings`` is called directly is told
in bindings.py. A device belongs to one fit, or to one model that predicts: several threads may use
several devices. Threads that share a device share its queue: each call is safe, but their work is
done in any order, and one of them must not record while the others work.
"""

import contextlib
import ctypes
import threading
from collections.abc import Callable, Iterator, Sequence
from math import prod
from struct import Struct
from typing import Any

import numpy as np

from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.bindings import call, fail, is_forked
from sumwise.cuda.runtime.device import Device, Graph, Mark, Program, Slot
from sumwise.cuda.runtime.gpu import Gpu, Kernel, find_gpu
from sumwise.cuda.runtime.memory import Block, Memory
from sumwise.cuda.runtime.pinned import PIECE, SMALL, Buffer, PinnedSlot, Ring, pool, staging
from sumwise.cuda.runtime.structs import pack_word
from sumwise.errors import DeviceError

_NON_BLOCKING = 1
_MOST_ARGUMENTS = 4096  # bytes; what every GPU and driver takes
# A list of arguments as one block of memory: CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE and _END.
_BLOCK_AT, _BLOCK_SIZE, _BLOCK_END = 1, 2, 0

_pack_signed, _pack_unsigned = Struct("<q").pack, Struct("<Q").pack


def _pack_int(value: int) -> bytes:
    return _pack_signed(value) if value < 1 << 63 else _pack_unsigned(value)


# As pack_word does, but without finding out what a value is.
_PACKERS: dict[type, Callable[[Any], bytes]] = {
    DeviceArray: lambda array: _pack_unsigned(array.address),
    int: _pack_int,
    float: Struct("<d").pack,
    bytes: bytes,
}


class DriverDevice(Device):
    """A queue on a GPU of this machine.

    Parameters
    ----------
    number : int
        Which GPU. Several devices on the same GPU are allowed: each has its own queue.
    """

    def __init__(self, number: int) -> None:
        self._is_open = False
        self._gpu = gpu = find_gpu(number)
        self._cuda = cuda = gpu.cuda
        properties = gpu.properties
        self.name, self.number = properties.name, number
        self.architecture, self.n_processors = properties.architecture, properties.n_processors
        self.shared_memory = properties.shared_memory
        self._before = threading.get_ident(), call(cuda.cuCtxGetCurrent)
        self._graphs: list[DriverGraph] = []
        self._under_way: dict[int, DriverLater] = {}
        self._ring: Ring | None = None
        self._recording: DriverGraph | None = None
        self._arguments = _ArgumentBlock()
        self._lock = threading.Lock()
        gpu.use()
        self._stream = call(cuda.cuStreamCreate, _NON_BLOCKING)
        self.stream = int(self._stream)
        self._memory = Memory(gpu, self._stream)
        self._is_open = True

    def _begin(self, recorded: Any = None) -> None:
        """Make sure that this thread can queue work; a recording keeps the arrays that it uses."""
        if not self._is_open:
            raise DeviceError(f"GPU {self.number}: this device has been closed")
        if self._recording is not None:
            if recorded is None:
                raise DeviceError("only kernels, clears and copies on a device can be recorded")
            self._recording.kept.append(recorded)
        self._gpu.use()

    # --- memory ---

    def allocate(self, shape: int | tuple[int, ...], dtype: Any) -> DeviceArray:
        self._begin()
        shape = (shape,) if isinstance(shape, (int, np.integer)) else shape
        shape = tuple(int(length) for length in shape)
        with self._lock:
            block = self._memory.take(prod(shape) * np.dtype(dtype).itemsize)
        return DeviceArray(self, block.address, shape, dtype, block)

    def free(self, array: DeviceArray) -> None:
        if not self._is_open:
            return
        if not isinstance(array.owner, Block) or not self._memory.has(array.owner):
            raise ValueError("a view, or an array whose memory was given back before")
        self._begin()
        self._memory.release(array.owner)

    def count_free(self) -> int:
        self._begin()
        return self._memory.count_free()

    # --- copies ---

    def write(self, host: np.ndarray, target: DeviceArray) -> None:
        self._begin()
        host = np.ascontiguousarray(host)
        n_bytes = host.nbytes
        _check_sizes(n_bytes, target.nbytes)
        if n_bytes == 0:
            return
        source = host.ctypes.data
        if n_bytes > SMALL:
            staging.upload(self._gpu, self._stream, source, target.address, n_bytes)
            return
        with self._lock:
            if self._ring is None:
                self._ring = Ring(self._gpu, self._stream, pool)
            source = self._ring.place(source, n_bytes)
            call(self._cuda.cuMemcpyHtoDAsync, target.address, source, n_bytes, self._stream)

    def lend_slots(self, n_bytes: int) -> contextlib.AbstractContextManager[Sequence[Slot]]:
        self._begin()
        return staging.lend(self._gpu) if n_bytes <= PIECE else super().lend_slots(n_bytes)

    def write_from(self, slot: Slot, host: np.ndarray, target: DeviceArray) -> None:
        if not isinstance(slot, PinnedSlot) or not host.flags.c_contiguous:
            self.write(host, target)
            return
        self._begin()
        _check_sizes(host.nbytes, target.nbytes)
        source, n_bytes = host.ctypes.data, host.nbytes
        if n_bytes:
            call(self._cuda.cuMemcpyHtoDAsync, target.address, source, n_bytes, self._stream)
            slot.mark(self._gpu, self._stream)

    def copy(self, source: DeviceArray, target: DeviceArray) -> None:
        self._begin((source, target))
        _check_sizes(source.nbytes, target.nbytes)
        n_bytes = source.nbytes
        if n_bytes == 0:
            return
        cuda, here, there = self._cuda, _find_gpu_of(target), _find_gpu_of(source)
        if here is there:
            call(cuda.cuMemcpyDtoDAsync, target.address, source.address, n_bytes, self._stream)
            return
        # Directly if the GPUs reach each other, else through the host.
        call(
            cuda.cuMemcpyPeerAsync,
            *(target.address, here.context, source.address, there.context),
            *(n_bytes, self._stream),
        )

    def clear(self, target: DeviceArray) -> None:
        self._begin(target)
        if target.nbytes:
            call(self._cuda.cuMemsetD8Async, target.address, 0, target.nbytes, self._stream)

    def download(self, source: DeviceArray) -> np.ndarray:
        if source.nbytes <= PIECE // 16:
            return self.download_later(source).get()
        host = np.empty(source.shape, source.dtype)
        self.read(source, host)
        return host

    def read(self, source: DeviceArray, target: np.ndarray) -> None:
        self._begin()
        _check_sizes(source.nbytes, target.nbytes)
        if not target.flags.c_contiguous:
            raise ValueError("only a contiguous array can be read to")
        address = target.ctypes.data
        staging.download(self._gpu, self._stream, source.address, address, source.nbytes)

    def download_later(self, source: DeviceArray) -> "DriverLater":
        self._begin()
        later = DriverLater(self, source)
        self._under_way[id(later)] = later
        return later

    # --- work ---

    def load(self, program: Program) -> dict[str, Any]:
        kernels = self._gpu.find_loaded(program)
        if kernels is None:
            self._begin()  # not while something is recorded
            kernels = self._gpu.load(program)
        return kernels

    def launch(
        self,
        kernel: Kernel,
        n_blocks: int | tuple[int, int],
        n_threads: int,
        arguments: Sequence[Any],
        shared: int = 0,
    ) -> None:
        self._begin(arguments)
        width, height = n_blocks if isinstance(n_blocks, tuple) else (n_blocks, 1)
        if not width or not height:
            return
        grid = (width, height, 1, n_threads, 1, 1)
        launch, stream = self._cuda.cuLaunchKernel, self._stream
        with self._lock:
            extra = self._arguments.fill(kernel, arguments)
            (error,) = launch(kernel.function, *grid, shared, stream, 0, extra)
        if error:
            where = f"{n_blocks} blocks of {n_threads} threads, {shared} bytes of shared memory"
            fail(error, launch, f" of {kernel.name} ({where})")

    def count_blocks(self, kernel: Kernel, n_threads: int, shared: int = 0) -> int:
        self._begin(kernel)
        count = self._cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor
        return int(call(count, kernel.function, n_threads, shared)) * self.n_processors

    @contextlib.contextmanager
    def record(self) -> Iterator[Graph]:
        self._begin()
        cuda = self._cuda
        # Other devices and other threads may do what they like meanwhile.
        mode = cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        self._recording = graph = DriverGraph(self)
        try:
            call(cuda.cuStreamBeginCapture, self._stream, mode)
            yield graph
        except BaseException:
            self._drop_recording()
            raise
        self._recording = None
        graph.finish(call(cuda.cuStreamEndCapture, self._stream))
        self._graphs.append(graph)

    def _drop_recording(self) -> None:
        self._recording = None
        error, recorded = self._cuda.cuStreamEndCapture(self._stream)
        if not error:
            self._cuda.cuGraphDestroy(recorded)

    # --- order ---

    def mark(self) -> "DriverMark":
        self._begin()
        return DriverMark(self)

    def can_read(self, other: Device) -> bool:
        return other.number in self._gpu.reached

    def wait_for(self, mark: Mark) -> None:
        self._begin()
        assert isinstance(mark, DriverMark)
        call(self._cuda.cuStreamWaitEvent, self._stream, mark.event, 0)

    def wait_for_stream(self, stream: int) -> None:
        self._begin()
        call(self._cuda.cuStreamSynchronize, stream)

    def wait(self) -> None:
        self._begin()
        call(self._cuda.cuStreamSynchronize, self._stream)

    # --- the end ---

    def __exit__(self, *error: object) -> None:
        # What has gone wrong first is what matters.
        with contextlib.suppress(DeviceError) if any(error) else contextlib.nullcontext():
            self.close()

    def close(self) -> None:
        """Wait for the work and free all memory, whatever has happened."""
        if not self._is_open or is_forked():
            return
        cuda = self._cuda
        cuda.cuCtxSetCurrent(self._gpu.context)
        if self._recording is not None:
            self._drop_recording()
        (error,) = cuda.cuStreamSynchronize(self._stream)
        for later in list(self._under_way.values()):
            later.drop()
        if self._ring is not None:
            ring, self._ring = self._ring, None
            ring.close()
        while self._graphs:
            self._graphs.pop().destroy()
        self._memory.close()
        self._is_open = False
        cuda.cuStreamDestroy(self._stream)
        thread, before = self._before
        if thread == threading.get_ident():
            cuda.cuCtxSetCurrent(before)
        if error:
            fail(error, cuda.cuStreamSynchronize)

    def __del__(self) -> None:
        # Without `with`, memory goes with the last array. At the end of the process the driver may
        # have gone before.
        with contextlib.suppress(Exception):
            self.close()


class DriverGraph:
    """Recorded work of a device."""

    def __init__(self, device: DriverDevice) -> None:
        self._device = device
        self._work: Any = None
        self.kept: list[Any] = []

    def finish(self, recorded: Any) -> None:
        """Make the recorded work ready to be launched."""
        cuda = self._device._cuda
        try:
            self._work = call(cuda.cuGraphInstantiate, recorded, 0)
        finally:
            cuda.cuGraphDestroy(recorded)
        call(cuda.cuGraphUpload, self._work, self._device._stream)

    def launch(self) -> None:
        device = self._device
        device._begin()
        if self._work is None:
            raise DeviceError("a graph is launched after its recording has ended")
        call(device._cuda.cuGraphLaunch, self._work, device._stream)

    def destroy(self) -> None:
        """Give back what the driver keeps of it."""
        if self._work is not None:
            work, self._work = self._work, None
            self._device._cuda.cuGraphExecDestroy(work)
        self.kept.clear()


class DriverLater:
    """A copy on its way to pinned memory."""

    def __init__(self, device: DriverDevice, source: DeviceArray) -> None:
        self._device, self._shape, self._dtype = device, source.shape, source.dtype
        self._n_bytes = source.nbytes
        self._result: np.ndarray | None = None
        gpu, cuda = device._gpu, device._cuda
        self._buffer: Buffer | None = pool.take(gpu, self._n_bytes)
        self._event = gpu.take_event()
        if self._n_bytes:
            target = self._buffer.address
            call(cuda.cuMemcpyDtoHAsync, target, source.address, self._n_bytes, device._stream)
        call(cuda.cuEventRecord, self._event, device._stream)

    def get(self) -> np.ndarray:
        if self._result is None:
            if self._buffer is None:
                raise DeviceError("the device was closed before this copy was done")
            device = self._device
            device._begin()
            call(device._cuda.cuEventSynchronize, self._event)
            self._result = np.empty(self._shape, self._dtype)
            ctypes.memmove(self._result.ctypes.data, self._buffer.address, self._n_bytes)
            self.drop()
        return self._result

    def drop(self) -> None:
        """Give the pinned memory back; the copy must be done."""
        device = self._device
        device._under_way.pop(id(self), None)
        if self._buffer is not None:
            buffer, self._buffer = self._buffer, None
            pool.give(device._gpu, buffer)
            device._gpu.give_event(self._event)


class DriverMark:
    """An event in the queue of a device."""

    def __init__(self, device: DriverDevice) -> None:
        self.device = device
        self.event = device._gpu.take_event()
        call(device._cuda.cuEventRecord, self.event, device._stream)

    def __del__(self) -> None:
        # Who waits for it already waits for what was marked, whatever the event marks next.
        if hasattr(self, "event"):
            self.device._gpu.give_event(self.event)


class _ArgumentBlock:
    """Arguments of a launch in one block of memory, and the list that tells the driver of it."""

    def __init__(self) -> None:
        self._block = ctypes.create_string_buffer(_MOST_ARGUMENTS)
        self._view = memoryview(self._block).cast("B")
        self._size = ctypes.c_size_t()
        words = (_BLOCK_AT, ctypes.addressof(self._block), _BLOCK_SIZE)
        self._list = (ctypes.c_uint64 * 5)(*words, ctypes.addressof(self._size), _BLOCK_END)
        self._address = ctypes.addressof(self._list)

    def fill(self, kernel: Kernel, arguments: Sequence[Any]) -> int:
        """Pack arguments; return the address of the list."""
        find = _PACKERS.get
        packed = b"".join([find(type(value), pack_word)(value) for value in arguments])
        size = len(packed)
        if size != kernel.n_bytes and kernel.n_bytes is not None:
            raise DeviceError(
                f"kernel {kernel.name} takes {kernel.n_bytes} bytes of arguments, got {size}"
            )
        self._view[:size] = packed
        self._size.value = size
        return self._address


def _find_gpu_of(array: DeviceArray) -> Gpu:
    assert isinstance(array.device, DriverDevice)
    return array.device._gpu


def _check_sizes(source: int, target: int) -> None:
    if source != target:
        raise ValueError(f"a copy of {source} bytes to an array of {target} bytes")
