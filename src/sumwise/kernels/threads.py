"""A team of threads inside compiled calls, and the atomics and the barrier they meet at.

Every member runs the same kernel as ``kernel(thread, n_threads, sync, ...)`` without the GIL;
what each does follows from its number. The threads are plain Python ones, started once a fit:
nothing here breaks after ``fork``, and many teams may work at once. The caller waits in Python,
so that an interrupt reaches it; it then raises the abort flag, which kernels look at between nodes.
"""

import queue
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from sumwise.kernels.jit import routine

# Places in the ``sync`` array, a cache line apart so that they do not disturb each other.
ARRIVED, GENERATION, ABORT = 0, 16, 32
SYNC_LENGTH = 48
# A few microseconds of spinning; then give the core away, or an oversubscribed machine crawls.
SPIN_LIMIT = 2000


def _item_pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    struct = context.make_array(array_type)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, array_type, struct, [index])


def _check_int64_array(array: Any) -> None:
    if not isinstance(array, types.Array) or array.dtype != types.int64:
        raise TypingError("atomics work on arrays of int64")


@intrinsic
def atomic_add(typing_context, array, index, value):
    """Add to an item and return what it was before; sequentially consistent."""
    _check_int64_array(array)

    def generate(context, builder, signature, args):
        index = context.cast(builder, args[1], signature.args[1], types.intp)
        pointer = _item_pointer(context, builder, signature.args[0], args[0], index)
        value = context.cast(builder, args[2], signature.args[2], types.int64)
        return builder.atomic_rmw("add", pointer, value, "seq_cst")

    return types.int64(array, index, value), generate


@intrinsic
def atomic_load(typing_context, array, index):
    """Read an item; sequentially consistent."""
    _check_int64_array(array)

    def generate(context, builder, signature, args):
        index = context.cast(builder, args[1], signature.args[1], types.intp)
        pointer = _item_pointer(context, builder, signature.args[0], args[0], index)
        return builder.load_atomic(pointer, "seq_cst", 8, typ=ir.IntType(64))

    return types.int64(array, index), generate


@intrinsic
def yield_core(typing_context):
    """Give the rest of this thread's time slice to another one."""
    name = "SwitchToThread" if sys.platform == "win32" else "sched_yield"

    def generate(context, builder, signature, args):
        function_type = ir.FunctionType(ir.IntType(32), [])
        function = cgutils.get_or_insert_function(builder.module, function_type, name)
        builder.call(function, [])
        return context.get_dummy_value()

    return types.none(), generate


def _make_prefetch(locality):
    @intrinsic
    def prefetch(typing_context, array, index):
        """Ask for the cache line of an item that will be read soon."""

        def generate(context, builder, signature, args):
            index = context.cast(builder, args[1], signature.args[1], types.intp)
            pointer = _item_pointer(context, builder, signature.args[0], args[0], index)
            pointer = builder.bitcast(pointer, ir.IntType(8).as_pointer())
            int32 = ir.IntType(32)
            function_type = ir.FunctionType(ir.VoidType(), [pointer.type, int32, int32, int32])
            name = "llvm.prefetch.p0"
            function = cgutils.get_or_insert_function(builder.module, function_type, name)
            # for reading, into the data cache
            builder.call(function, [pointer, int32(0), int32(locality), int32(1)])
            return context.get_dummy_value()

        return types.none(array, index), generate

    return prefetch


# Into all levels of the cache; into all but the first.
prefetch_near, prefetch_far = _make_prefetch(3), _make_prefetch(2)


@routine
def wait_for_all(sync, n_threads):
    """Barrier: return when every thread of the team has come here."""
    if n_threads == 1:
        return
    generation = atomic_load(sync, GENERATION)
    if atomic_add(sync, ARRIVED, 1) == n_threads - 1:
        atomic_add(sync, ARRIVED, -n_threads)
        atomic_add(sync, GENERATION, 1)
        return
    spins = 0
    while atomic_load(sync, GENERATION) == generation:
        spins += 1
        if spins > SPIN_LIMIT:
            yield_core()


@routine
def share(n, thread, n_threads):
    """Return the thread's part of range(n) as (first, last)."""
    return n * thread // n_threads, n * (thread + 1) // n_threads


class Team:
    """Threads that run a kernel together; use as a context manager.

    Parameters
    ----------
    n_threads : int
        Members of the team. With one, kernels run in the calling thread.
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._sync = np.zeros(SYNC_LENGTH, dtype=np.int64)
        self._inboxes: list[queue.SimpleQueue[Any]] = []
        # Who has finished which job, and how; the queue only wakes the caller up to look. So an
        # interrupt at any moment loses nothing.
        self._job = 0
        self._finished = [(0, None)] * n_threads
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()

    def __enter__(self) -> "Team":
        if self.n_threads > 1:
            for thread in range(self.n_threads):
                inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
                self._inboxes.append(inbox)
                threading.Thread(
                    target=self._serve, args=(thread, inbox), name="sumwise", daemon=True
                ).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for inbox in self._inboxes:
            inbox.put(None)
        self._inboxes.clear()

    def run(self, kernel: Callable[..., Any], *args: Any) -> None:
        """Run ``kernel(thread, n_threads, sync, *args)`` on every thread and wait for all."""
        if self.n_threads == 1:
            kernel(0, 1, self._sync, *args)
            return
        if not self._inboxes:
            raise RuntimeError("a team of several threads runs inside its 'with' block only")
        self._job += 1
        n_sent = 0
        interrupt: BaseException | None = None
        while any(job < self._job for job, _ in self._finished):
            try:
                while n_sent < self.n_threads:
                    self._inboxes[n_sent].put((self._job, kernel, args))
                    n_sent += 1
                self._bell.get(timeout=1.0)
            except queue.Empty:
                continue
            except BaseException as error:  # Ctrl-C: all must leave before it goes on
                self._sync[ABORT] = 1
                interrupt = error
        errors = [error for _, error in self._finished if error is not None]
        if interrupt or errors:
            raise interrupt or errors[0]

    def _serve(self, thread: int, inbox: "queue.SimpleQueue[Any]") -> None:
        while (message := inbox.get()) is not None:
            job, kernel, args = message
            error = None
            if job > self._finished[thread][0]:  # an interrupt may send a job twice
                try:
                    kernel(thread, self.n_threads, self._sync, *args)
                except BaseException as raised:
                    error = raised
                self._finished[thread] = (job, error)
            if all(done >= job for done, _ in self._finished):
                self._bell.put(None)
            del message, kernel, args, error  # an idle thread must not keep the data alive
