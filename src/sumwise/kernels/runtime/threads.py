"""A team of threads inside compiled calls, and the atomics and the barrier they meet at.

Every member runs the same kernel as ``kernel(thread, n_threads, sync, ...)`` without the GIL;
what each does follows from its number. The threads are plain Python ones, started once a fit:
nothing here breaks after ``fork``, and many teams may work at once. If a member fails or the caller
is interrupted, the abort flag goes up: it makes the barrier raise, so that nobody waits for ever.

A thread that has done its part of a kernel waits for the next one in compiled code: it spins, then
yields its core, then sleeps. Waking sixteen threads through Python, one after the other because of
the GIL, would take longer than a small tree. Members return to Python only for work in Python.
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

from sumwise.errors import ThreadError
from sumwise.kernels.runtime.jit import (
    AbortError,
    Kernel,
    cgutils,
    intrinsic,
    ir,
    kernel,
    routine,
    types,
)
from sumwise.kernels.runtime.library import name_architecture

# Places in the ``sync`` array, two cache lines apart so that they do not disturb each other.
_APART = 16
ARRIVED, GENERATION, ABORT, CLAIMED = (_APART * i for i in range(4))
SYNC_LENGTH = 4 * _APART
# A few microseconds of spinning; then give the core away, or an oversubscribed machine crawls.
SPIN_LIMIT = 500
# Places in the ``post`` array, where members find their jobs: the number of jobs so far, the entry
# of the kernel, the address and length of its block; how many members have done it, and how many
# sleep.
_NUMBER, _ENTRY, _BLOCK, _N_WORDS, _DONE, _SLEEPING = (_APART * i for i in range(6))
_POST_LENGTH = 6 * _APART
# How often a member yields its core before it goes to sleep: for about half a millisecond.
_YIELDS = 1000
# The longest block of a kernel: every member copies it.
_MOST_WORDS = 512
# Instead of an entry: the job is in the inbox.
_FOR_PYTHON = 0
# The number of the system call by which threads of Linux sleep, and its operations.
_FUTEX = {"x86_64": 202, "aarch64": 98}
_FUTEX_WAIT, _FUTEX_WAKE, _ALL = 128, 129, (1 << 31) - 1
# Elsewhere, a thread that sleeps looks up after so many microseconds.
_NAP = 500
# For one thread, which meets nobody.
_NO_SYNC = np.zeros(SYNC_LENGTH, dtype=np.int64)
# Seconds after which a waiting caller looks up: Windows does not let an interrupt wake it.
_INTERRUPT_DELAY = 0.1
# Seconds for which an interrupted caller waits for the members to stop.
_PATIENCE = 0.5


def _item_pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    struct = context.make_array(array_type)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, array_type, struct, [index])


def _check_int64_array(array: Any) -> None:
    if not isinstance(array, types.Array) or array.dtype != types.int64:
        raise TypeError("atomics work on arrays of int64")


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


def _find_futex() -> int | None:
    """Return the number of the system call, None if this system has none that is known."""
    return _FUTEX.get(name_architecture()) if sys.platform == "linux" else None


def _call_futex(builder: Any, number: int, pointer: Any, operation: int, value: Any) -> None:
    word = ir.IntType(64)
    function_type = ir.FunctionType(word, [word], var_arg=True)
    function = cgutils.get_or_insert_function(builder.module, function_type, "syscall")
    builder.call(function, [word(number), pointer, word(operation), value, word(0)])


@intrinsic
def _sleep_while(typing_context, array, index, value):
    """Sleep while the lower half of an item is that of a value; it may end early."""
    _check_int64_array(array)
    nap, naps_in_milliseconds = ("Sleep", True) if sys.platform == "win32" else ("usleep", False)

    def generate(context, builder, signature, args):
        number = _find_futex()
        if number is None:
            function_type = ir.FunctionType(ir.IntType(32), [ir.IntType(32)])
            function = cgutils.get_or_insert_function(builder.module, function_type, nap)
            duration = max(1, _NAP // 1000) if naps_in_milliseconds else _NAP
            builder.call(function, [ir.IntType(32)(duration)])
        else:
            index = context.cast(builder, args[1], signature.args[1], types.intp)
            pointer = _item_pointer(context, builder, signature.args[0], args[0], index)
            value = context.cast(builder, args[2], signature.args[2], types.int64)
            _call_futex(builder, number, pointer, _FUTEX_WAIT, value)
        return context.get_dummy_value()

    return types.none(array, index, value), generate


@intrinsic
def _wake_all(typing_context, array, index):
    """Wake the threads that sleep because of an item."""
    _check_int64_array(array)

    def generate(context, builder, signature, args):
        number = _find_futex()
        if number is not None:  # otherwise they wake up by themselves
            index = context.cast(builder, args[1], signature.args[1], types.intp)
            pointer = _item_pointer(context, builder, signature.args[0], args[0], index)
            _call_futex(builder, number, pointer, _FUTEX_WAKE, ir.IntType(64)(_ALL))
        return context.get_dummy_value()

    return types.none(array, index), generate


@intrinsic
def compare_exchange(typing_context, array, index, expected, value):
    """Replace an item if it is what is expected; return whether it was."""
    _check_int64_array(array)

    def generate(context, builder, signature, args):
        index = context.cast(builder, args[1], signature.args[1], types.intp)
        pointer = _item_pointer(context, builder, signature.args[0], args[0], index)
        expected, value = (
            context.cast(builder, args[i], signature.args[i], types.int64) for i in (2, 3)
        )
        found = builder.cmpxchg(pointer, expected, value, "seq_cst", "seq_cst")
        return builder.extract_value(found, 1)

    return types.boolean(array, index, expected, value), generate


@intrinsic
def _pause(typing_context):
    """Tell the CPU that this thread only waits: its sibling on the same core gets more of it."""

    def generate(context, builder, signature, args):
        if name_architecture() == "aarch64":
            name, arguments = "llvm.aarch64.hint", [ir.IntType(32)(1)]
        elif name_architecture() == "x86_64":
            name, arguments = "llvm.x86.sse2.pause", []
        else:
            return context.get_dummy_value()
        function_type = ir.FunctionType(ir.VoidType(), [value.type for value in arguments])
        function = cgutils.get_or_insert_function(builder.module, function_type, name)
        builder.call(function, arguments)
        return context.get_dummy_value()

    return types.none(), generate


@intrinsic
def _call_entry(typing_context, entry, block, n_words, thread):
    """Call the entry of a kernel with a copy of a block, whose first word is the thread's number.

    Return 0, or 1 if it has failed.
    """

    def generate(context, builder, signature, args):
        word = ir.IntType(64)
        entry, block, n_words, thread = args
        own = cgutils.alloca_once(builder, word, size=_MOST_WORDS)
        given = builder.inttoptr(block, word.as_pointer())
        cgutils.raw_memcpy(builder, own, given, n_words, 8)
        builder.store(thread, own)
        function_type = ir.FunctionType(ir.IntType(32), [word.as_pointer()])
        function = builder.inttoptr(entry, function_type.as_pointer())
        return builder.zext(builder.call(function, [own]), word)

    kinds = (types.int64,) * 4
    return types.int64(*kinds), generate


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
        if spins < SPIN_LIMIT:
            _pause()
            continue
        if atomic_load(sync, ABORT):  # someone may never come
            raise AbortError
        yield_core()


@routine
def share(n, thread, n_threads):
    """Return the thread's part of range(n) as (first, last)."""
    return n * thread // n_threads, n * (thread + 1) // n_threads


@routine
def claim_next(sync, n_threads, previous):
    """Return the number of the next piece of work that no thread has: 0, 1, 2, ...

    ``previous`` is the thread's last one, -1 at first. Who comes late, or shares its core with
    another process, does less. A kernel may share out one thing in this way.
    """
    return previous + 1 if n_threads == 1 else atomic_add(sync, CLAIMED, 1)


@routine
def _wait_for_members(post, n_threads):
    """Return when all members but the caller have done their part of a job."""
    spins = 0
    while atomic_load(post, _DONE) < n_threads - 1:
        spins += 1
        if spins < SPIN_LIMIT:
            _pause()
        else:
            yield_core()


@kernel
def _serve_jobs(thread, post, sync, n_posted):
    """Do one job after the other, until one is for Python.

    Return the number of jobs that were posted so far.
    """
    while True:
        spins = 0
        while atomic_load(post, _NUMBER) == n_posted:
            spins += 1
            if spins < SPIN_LIMIT:
                _pause()
            elif spins < SPIN_LIMIT + _YIELDS:
                yield_core()
            else:
                # Who posts a job changes NUMBER first and then looks at SLEEPING: it either sees
                # this member, or the member sees the new number and does not sleep.
                atomic_add(post, _SLEEPING, 1)
                _sleep_while(post, _NUMBER, n_posted)
                atomic_add(post, _SLEEPING, -1)
        n_posted = atomic_load(post, _NUMBER)
        if post[_ENTRY] == _FOR_PYTHON:
            return n_posted
        if _call_entry(post[_ENTRY], post[_BLOCK], post[_N_WORDS], thread):
            atomic_add(sync, ABORT, 1)
        atomic_add(post, _DONE, 1)


@routine
def _post(post):
    post[_DONE] = 0
    atomic_add(post, _NUMBER, 1)
    if atomic_load(post, _SLEEPING) > 0:
        _wake_all(post, _NUMBER)


@kernel
def _post_job(post):
    """Tell all members of a job."""
    _post(post)


@kernel
def _lead_job(post, sync, n_threads):
    """Tell all members of a job, do the caller's part, and wait for the others."""
    sync[ARRIVED] = sync[ABORT] = sync[CLAIMED] = 0
    _post(post)
    if _call_entry(post[_ENTRY], post[_BLOCK], post[_N_WORDS], 0):
        atomic_add(sync, ABORT, 1)
    _wait_for_members(post, n_threads)


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
        """Call the function as a member."""
        try:
            self._kernel(thread, self._n_threads, self._sync, *self._args)
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


class _Mail:
    """Where the members of a team find jobs that are kernels, in compiled code."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self.post = np.zeros(_POST_LENGTH, dtype=np.int64)
        self.sync = np.zeros(SYNC_LENGTH, dtype=np.int64)
        self._block = np.zeros(_MOST_WORDS, dtype=np.int64)
        self.post[_BLOCK] = self._block.ctypes.data
        self._lead_job = _lead_job.bind(self.post, self.sync, n_threads)

    def run(self, kernel: Kernel, args: tuple[Any, ...]) -> None:
        """Run a kernel with all members; the caller is one of them.

        An interrupt comes before or after the compiled call, when no member is at work.
        """
        entry, words = kernel.find_entry((0, self.n_threads, self.sync, *args))
        entry.arguments.pack_into(self._block, 0, *words)
        self.post[_ENTRY], self.post[_N_WORDS] = entry.address, len(words)
        self._lead_job()
        if self.sync[ABORT]:
            raise AbortError

    def send_to_python(self) -> None:
        """Have the members look into their inboxes."""
        self.post[_ENTRY] = _FOR_PYTHON
        _post_job(self.post)

    def serve(self, thread: int, n_posted: int) -> int:
        """Do jobs as a member until one is for Python; return the number of jobs so far."""
        return _serve_jobs(thread, self.post, self.sync, n_posted)


# What a thread waits for in Python: a job, or None to end.
_Inbox = queue.SimpleQueue["_Job | None"]


def _serve(thread: int, inbox: _Inbox, mail: _Mail | None) -> None:
    """What a thread of a team does until it is sent None."""
    n_posted = 0
    while True:
        if mail is not None:
            n_posted = mail.serve(thread, n_posted)
        if (job := inbox.get()) is None:
            return
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
        self._inboxes: list[_Inbox] = []
        self._mail: _Mail | None = None
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
        try:
            if self._process != os.getpid():  # the first run, or the first of a forked child
                self._assemble()
        except BaseException:
            self._dismiss()
            raise
        if self._mail is not None and isinstance(kernel, Kernel):
            self._mail.run(kernel, args)
        else:
            self._run_python(kernel, args)

    def _run_python(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        job = _Job(function, args, self.n_threads)
        try:
            for inbox in self._inboxes:
                inbox.put(job)
            if self._mail is not None:
                self._mail.send_to_python()
                job.take_part(0)
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
        self._mail = _Mail(self.n_threads) if self._caller_works else None
        self._process = os.getpid()
        for thread in range(int(self._caller_works), self.n_threads):
            inbox: _Inbox = queue.SimpleQueue()
            try:
                _thread.start_new_thread(_serve, (thread, inbox, self._mail))
            except RuntimeError as error:  # a limit of the system; run() dismisses those started
                raise ThreadError(
                    f"the system started {len(self._inboxes)} threads, and refused the next "
                    f"({error}); {self.n_threads} were asked for: set n_jobs to fewer, or raise "
                    "the limit of processes (ulimit -u, or that of the container)"
                ) from None
            self._inboxes.append(inbox)

    def _dismiss(self) -> None:
        """Let the threads end when they have nothing to do; the next run starts new ones."""
        for inbox in self._inboxes:
            inbox.put(None)
        if self._mail is not None and self._process == os.getpid():
            self._mail.send_to_python()
        self._inboxes, self._mail, self._process = [], None, 0
