"""The jobs of pages: the same as those of threads, but for the rows."""

from collections.abc import Sequence
from typing import Any

from sumwise.kernels.grow.layout import Job
from sumwise.kernels.runtime.arguments import TupleMemory, _describe


def bind_page_jobs(jobs: TupleMemory, own: Sequence[dict[str, Any]]) -> TupleMemory:
    """Return one job per page; ``jobs`` are those of the threads, with all that pages share.

    ``own`` has what differs from page to page, by the names of the fields of a job. The caller
    keeps it as long as the jobs, since these have the addresses of its arrays.
    """
    bound = TupleMemory(Job(**jobs._values), max(1, len(own)))
    for memory, values in zip(bound._memory, own, strict=False):
        for name, value in values.items():
            offset, struct, _ = bound._layout.fields[name]
            numbers: list[Any] = []
            _describe(value, numbers)
            struct.pack_into(memory, offset, *numbers)
    return bound
