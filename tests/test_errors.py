"""Errors are also what callers would expect to catch."""

import subprocess
import sys

import pytest

from sumwise import errors


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.ParameterError, ValueError),
        (errors.UnknownParameterError, ValueError),
        (errors.UnknownParameterError, TypeError),
        (errors.DataError, ValueError),
        (errors.TrainingError, ArithmeticError),
        (errors.ExplanationError, ValueError),
        (errors.ModelFileError, ValueError),
        (errors.ThreadError, RuntimeError),
        (errors.MemoryLimitError, MemoryError),
        (errors.DiskSpaceError, OSError),
    ],
)
def test_errors_have_two_parents(error, builtin):
    assert issubclass(error, builtin)
    assert issubclass(error, errors.SumwiseError)
    with pytest.raises(builtin, match="why"):
        raise error("why")


def test_the_warning_is_a_user_warning():
    assert issubclass(errors.DataWarning, UserWarning)
    assert issubclass(errors.IgnoredParameterWarning, UserWarning)
    assert not issubclass(errors.DataWarning, errors.SumwiseError)


def test_every_error_says_what_it_is_for():
    for name, kind in vars(errors).items():
        if isinstance(kind, type):
            assert kind.__doc__, name


TRAVEL = """
import pickle, sys
from sumwise import errors
if "tblib" in sys.argv:
    import tblib.pickling_support
    tblib.pickling_support.install()
for kind in vars(errors).values():
    if isinstance(kind, type) and issubclass(kind, errors.SumwiseError):
        error = kind("what was wrong")
        error.fitted = "so far"
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is kind and again.args == error.args and str(again) == str(error)
        assert again.fitted == "so far"
"""


@pytest.mark.parametrize("arguments", [[], ["tblib"]])
def test_errors_travel_between_processes(arguments):
    """Also where Dask has changed how exceptions are pickled, which it does for a whole process."""
    subprocess.run([sys.executable, "-c", TRAVEL, *arguments], check=True, timeout=60)
