"""Warnings that point at the line of the user, once per fit."""

import inspect
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
# A warning that waits for the process of the user: what, and of which category.
Told = tuple[str, type[Warning]]

_is_quiet = ContextVar("is_quiet", default=False)
_kept: ContextVar[list[Told] | None] = ContextVar("kept", default=None)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside of this package that called it, however deep the call went."""
    if _is_quiet.get():
        return
    kept = _kept.get()
    if kept is not None:
        kept.append((message, category))
        return
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def warn_nothing() -> Iterator[None]:
    """Within this context, ``warn_user`` is silent: for fits on parts of rows that were read.

    Unlike ``warnings.catch_warnings``, it does not affect other threads.
    """
    token = _is_quiet.set(True)
    try:
        yield
    finally:
        _is_quiet.reset(token)


@contextmanager
def keep_warnings() -> Iterator[list[Told]]:
    """Within this context, ``warn_user`` adds to the list: for processes without a user."""
    kept: list[Told] = []
    token = _kept.set(kept)
    try:
        yield kept
    finally:
        _kept.reset(token)
