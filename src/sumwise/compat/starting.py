"""Models to continue: of sumwise, or of the library whose names are used."""

import os
from importlib import import_module
from typing import Any

from sumwise.compat.base import CompatEstimator
from sumwise.errors import ModelFileError
from sumwise.estimators.persistence import load


def read_start(given: Any, library: str) -> Any:
    """Return a model of sumwise to continue.

    Parameters
    ----------
    given : fitted model or path
        An estimator of ``sumwise.compat`` or of sumwise, a model of the other library, or the path
        of a file of either.
    library : str
        The other library, in lower case.
    """
    if isinstance(given, CompatEstimator):
        return given._model
    if hasattr(given, "ensemble_"):
        return given
    if isinstance(given, (str, os.PathLike)):
        try:
            return load(given)
        except ModelFileError:
            pass  # then it is one of theirs
    module = import_module(f"sumwise.estimators.imported.{library}_model")
    return getattr(module, f"from_{library}")(given)
