"""Progress of ensembles of given members: a line on standard error for each member fitted."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def report_fit(what: str | None) -> Iterator[None]:
    """Write what was fitted and how long it took, after the fit; None is not reported.

    Each report is written as a whole line, because several processes may report at once.
    """
    start = time.perf_counter()
    yield
    if what is not None:
        sys.stderr.write(f"fitting {what} ... {time.perf_counter() - start:.1f} s\n")
        sys.stderr.flush()


def describe_member(place: int, n_members: int, name: str) -> str:
    """Return the place of a member among all, from 1, and its name."""
    return f"member {place + 1} of {n_members}: {name}"
