"""Exceptions and warnings. Each is also the built-in kind that callers would expect."""

from typing import Any


class SumwiseError(Exception):
    """Base of all errors raised on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Said here because tblib, which Dask installs, cannot guess it for errors of two kinds.
        return type(self), self.args, self.__dict__


class ParameterError(SumwiseError, ValueError):
    """A parameter has a value that cannot be used."""


class UnknownParameterError(ParameterError, TypeError):
    """There is no parameter of this name: a typo, most likely."""


class DataError(SumwiseError, ValueError):
    """The data cannot be used; the message says what, where and what to do."""


class TrainingError(SumwiseError, ArithmeticError):
    """Training cannot go on, for example because gradients are not finite."""


class ThreadError(SumwiseError, RuntimeError):
    """The system does not let as many threads start as were asked for."""


class DeviceError(SumwiseError, RuntimeError):
    """A GPU that was asked for cannot be used, or has failed."""


class DeviceMemoryError(DeviceError, MemoryError):
    """The memory of a GPU does not suffice."""


class MemoryLimitError(SumwiseError, MemoryError):
    """The memory that a fit may use does not suffice, however the data is cut."""


class DiskSpaceError(SumwiseError, OSError):
    """The folder for temporary files has no room for the pages of a fit."""


class PeersError(SumwiseError, ConnectionError):
    """Another process of a fit was lost, has failed, or has come to another result."""


class ModelFileError(SumwiseError, ValueError):
    """A file is not a model that this version can read."""


class ExportError(SumwiseError, ValueError):
    """A model cannot be written in a format; the message says which part and what to do."""


class ExplanationError(SumwiseError, ValueError):
    """A model has no additive explanation; the message says which part and what to do."""


class DataWarning(UserWarning):
    """The data was changed in a way that may surprise."""


class IgnoredParameterWarning(UserWarning):
    """A parameter of another library has no effect here."""
