"""What a part of the benchmark hands back."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.report import Table


@dataclass(frozen=True)
class Outcome:
    """Tables to print, plain values for JSON, and what went wrong: nothing if all is well."""

    tables: Sequence[Table]
    content: Any
    problems: Sequence[str] = field(default_factory=list)


def join(outcomes: Sequence[Outcome]) -> Outcome:
    """Return one outcome of several whose content is a list."""
    return Outcome(
        [table for each in outcomes for table in each.tables],
        [item for each in outcomes for item in each.content],
        [problem for each in outcomes for problem in each.problems],
    )
