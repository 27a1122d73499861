"""Warnings that point at the line of the user."""

import inspect
import os
import warnings

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside of this package that called it, however deep the call went."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
