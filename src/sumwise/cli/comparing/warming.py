"""Compiling what a comparison needs before times are measured, on two CPUs where much is missing.

Trees and forests share few kernels with boosting, so that hardly anything is compiled twice.
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
    ordered = sorted(_list_different(contenders), key=lambda each: each.group == TREES)
    with _help_with_trees(data, terms) if is_cold() else contextlib.nullcontext():
        for contender in ordered:
            tell(contender.name)
            with contextlib.suppress(Exception):
                warm_up(contender, data, terms)


def _list_different(contenders: Sequence[Contender]) -> list[Contender]:
    """Return contenders that need kernels of their own: combinations have the same members."""
    combined = [each for each in contenders if each.group == COMBINED]
    return [each for each in contenders if each not in combined[1:] and each.group != REFERENCE]


@contextlib.contextmanager
def _help_with_trees(data: Dataset, terms: Terms) -> Iterator[None]:
    """Within this context, another process compiles the kernels of trees and forests."""
    if (os.cpu_count() or 1) < 2 or threading.current_thread() is not threading.main_thread():
        yield
        return
    helper = multiprocessing.get_context("spawn").Process(
        target=_warm_up_trees, args=(data, terms), daemon=True
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


def _warm_up_trees(data: Dataset, terms: Terms) -> None:
    cache.announce_nothing()
    for contender in list_contenders(data, terms):
        if contender.group == TREES:
            with contextlib.suppress(Exception):
                warm_up(contender, data, terms)
