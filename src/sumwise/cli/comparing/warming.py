"""Compiling what a comparison needs before times are measured, on two CPUs where much is missing.

Forests and symmetric trees share few kernels with other boosting: little is compiled twice.
"""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence

from sumwise.cli.comparing.contenders import (
    COMBINED,
    REFERENCE,
    TREES,
    Contender,
    Terms,
    list_contenders,
    warm_up,
)
from sumwise.cli.comparing.datasets import Dataset
from sumwise.kernels.runtime import cache, library

# The style whose trees have a grower of their own.
_SYMMETRIC = "boosting, CatBoost style"


def is_cold() -> bool:
    """Whether no kernel was compiled on this machine yet, and the installation brings none."""
    if library.choose_level() is not None:
        return False
    return not any(root.is_dir() and any(root.iterdir()) for root in cache.find_roots())


def warm_up_all(
    contenders: Sequence[Contender],
    data: Dataset,
    terms: Terms,
    tell: Callable[[str], None] = lambda name: None,
) -> None:
    """Train contenders briefly; ``tell`` gets the name of each before.

    What fails here fails again, and is reported, when it is compared.
    """
    cache.announce_nothing()  # the caller says what is being done
    ordered = sorted(_list_different(contenders), key=_can_be_helped)
    with _help(data, terms) if is_cold() else contextlib.nullcontext():
        for contender in ordered:
            tell(contender.name)
            with contextlib.suppress(Exception):
                warm_up(contender, data, terms)


def _list_different(contenders: Sequence[Contender]) -> list[Contender]:
    """Return contenders that need kernels of their own: combinations have the same members."""
    combined = [each for each in contenders if each.group == COMBINED]
    return [each for each in contenders if each not in combined[1:] and each.group != REFERENCE]


def _can_be_helped(contender: Contender) -> bool:
    """Whether few of the kernels are those of leaf-wise boosting, which take the longest."""
    return contender.group == TREES or contender.name == _SYMMETRIC


@contextlib.contextmanager
def _help(data: Dataset, terms: Terms) -> Iterator[None]:
    """Within this context, another process compiles a part of the kernels."""
    if (os.cpu_count() or 1) < 2 or threading.current_thread() is not threading.main_thread():
        yield
        return
    helper = multiprocessing.get_context("spawn").Process(
        target=_warm_up_part, args=(data, terms), daemon=True
    )
    # Ctrl-C is for this process, which then ends the other one. What is ignored stays ignored.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        helper.start()
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        yield
        helper.join()
    finally:
        helper.terminate()
        helper.join()


def _warm_up_part(data: Dataset, terms: Terms) -> None:
    cache.announce_nothing()
    for contender in list_contenders(data, terms):
        if _can_be_helped(contender):
            with contextlib.suppress(Exception):
                warm_up(contender, data, terms)
