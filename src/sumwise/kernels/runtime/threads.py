"""A team of threads inside compiled calls, and the atomics and the barrier they meet at.

Every member runs the same kernel as ``kernel(thread, n_threads, sync, ...)`` without the GIL;
what each does follows from its number. The threads are plain Python ones, started once a fit:
nothing here breaks after ``fork``, and many teams may work at once. If a member fails or the caller
is interrupted, the abort flag goes up: it makes the barrier raise, so that nobody waits for ever.
"""

import _thread
import os
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

from sumwise.errors import ThreadError
from sumwise.kernels.runtime.jit import kernel, routine

# Places in the ``sync`` array, a cache line apart so that they do not disturb each other.
ARRIVED, GENERATION, ABORT = 0, 16, 32
SYNC_LENGTH = 48
# A few microseconds of spinning; then give the core away, or an oversubscribed machine crawls.
SPIN_LIMIT = 2000
# For one thread, which meets nobody.
_NO_SYNC = np.zeros(SYNC_LENGTH, dtype=np.int64)
# Seconds after which a waiting caller looks up: Windows does not let an interrupt wake it.
_INTERRUPT_DELAY = 0.1
# Seconds for which an interrupted caller waits for the members to stop.
_PATIENCE = 0.5


class AbortError(Exception):
    """Ends a member's part in a job that another member or the caller cannot finish."""


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
    """Barrier: return when every thread of the team has come here; raise if the job was aborted.

    What a thread wrote before the barrier, all see behind it, on any CPU: arriving is one chain of
    read-modify-writes of ARRIVED, so that the last one has seen what all have written; it then
    changes GENERATION, for which the others wait. All are sequentially consistent.
    """
    if atomic_load(sync, ABORT):
        raise AbortError
    if n_threads == 1:
        return
    generation = atomic_load(sync, GENERATION)
    if atomic_add(sync, ARRIVED, 1) == n_threads - 1:
        atomic_add(sync, ARRIVED, -n_threads)  # before GENERATION lets anyone arrive again
        atomic_add(sync, GENERATION, 1)
        return
    spins = 0
    while atomic_load(sync, GENERATION) == generation:
        spins += 1
        if spins > SPIN_LIMIT:
            if atomic_load(sync, ABORT):  # someone may never come
                raise AbortError
            yield_core()


@routine
def share(n, thread, n_threads):
    """Return the thread's part of range(n) as (first, last)."""
    return n * thread // n_threads, n * (thread + 1) // n_threads


@kernel
def _finish(thread, n_threads, sync):
    """The last barrier of every job: to spin here is quicker than to sleep and be woken up."""
    wait_for_all(sync, n_threads)


class _Job:
    """One call of a kernel by all members of a team."""

    def __init__(self, kernel: Callable[..., Any], args: tuple[Any, ...], n_threads: int) -> None:
        self._kernel, self._args, self._n_threads = kernel, args, n_threads
        self._sync = np.zeros(SYNC_LENGTH, dtype=np.int64)
        self._unfinished = list(range(n_threads))
        self._all_have_left = threading.Lock()
        self._all_have_left.acquire()
        self.errors: list[BaseException] = []

    def take_part(self, thread: int) -> None:
        """Call the kernel as a member; without an error, all have done so when this returns."""
        try:
            self._kernel(thread, self._n_threads, self._sync, *self._args)
            _finish(thread, self._n_threads, self._sync)
        except BaseException as error:
            self.abort(error)
        finally:
            if self._unfinished.pop() == 0:  # the last one, whoever that is: a pop is atomic
                self._all_have_left.release()

    def abort(self, error: BaseException) -> None:
        """Have every member stop at the next barrier."""
        self._sync[ABORT] = 1
        self.errors.append(error)

    def wait(self, seconds: float) -> bool:
        """Wait until all members have left; return whether they have."""
        return not self._unfinished or self._all_have_left.acquire(timeout=seconds)

    def pop_cause(self) -> BaseException:
        """Return the error that made the others stop; keep none, for errors refer to the job."""
        errors, self.errors = self.errors, []
        return next((error for error in errors if not isinstance(error, AbortError)), errors[0])


def _serve(thread: int, inbox: "queue.SimpleQueue[_Job | None]") -> None:
    """What a thread of a team does until it is sent None."""
    while (job := inbox.get()) is not None:
        job.take_part(thread)
        del job  # an idle thread must not keep the data alive


class Team:
    """Threads that run a kernel together; use as a context manager.

    Parameters
    ----------
    n_threads : int
        Members of the team.
    interruptible : bool
        Whether the caller waits in Python while the members work, so that an interrupt ends even a
        long call. Otherwise it is a member itself; that saves a thread, and time at every call.
    """

    def __init__(self, n_threads: int, interruptible: bool = False) -> None:
        self.n_threads = n_threads
        # Interrupts reach the main thread only.
        is_main = threading.current_thread() is threading.main_thread()
        self._caller_works = not (interruptible and is_main)
        self._inboxes: list[queue.SimpleQueue[_Job | None]] = []
        self._process = 0

    def __enter__(self) -> "Team":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._dismiss()

    def run(self, kernel: Callable[..., Any], *args: Any) -> None:
        """Run ``kernel(thread, n_threads, sync, *args)`` on every thread and wait for all."""
        if self._caller_works and self.n_threads == 1:
            self.run_alone(kernel, *args)
            return
        job = _Job(kernel, args, self.n_threads)
        try:
            if self._process != os.getpid():  # the first run, or the first of a forked child
                self._assemble()
            for inbox in self._inboxes:
                inbox.put(job)
            if self._caller_works:
                job.take_part(0)
            else:
                while not job.wait(_INTERRUPT_DELAY) and not job.errors:
                    pass
        except BaseException as error:  # Ctrl-C, most likely
            job.abort(error)
        if job.errors:
            self._dismiss()
            # Who does not come to a barrier by then (it may compile) is left behind. It keeps what
            # it works on, which nobody else will see, and ends when it has done.
            job.wait(_PATIENCE)
            raise job.pop_cause()

    def run_alone(self, kernel: Callable[..., Any], *args: Any) -> None:
        """Run it in the calling thread: small work is done before another would have woken up."""
        kernel(0, 1, _NO_SYNC, *args)

    def _assemble(self) -> None:
        """Start the threads, by the plain function that takes half as long as a Thread does."""
        self._inboxes = []
        for thread in range(int(self._caller_works), self.n_threads):
            inbox: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
            try:
                _thread.start_new_thread(_serve, (thread, inbox))
            except RuntimeError as error:  # a limit of the system; run() dismisses those started
                raise ThreadError(
                    f"the system started {len(self._inboxes)} threads, and refused the next "
                    f"({error}); {self.n_threads} were asked for: set n_jobs to fewer, or raise "
                    "the limit of processes (ulimit -u, or that of the container)"
                ) from None
            self._inboxes.append(inbox)
        self._process = os.getpid()

    def _dismiss(self) -> None:
        """Let the threads end when they have nothing to do; the next run starts new ones."""
        for inbox in self._inboxes:
            inbox.put(None)
        self._inboxes, self._process = [], 0
