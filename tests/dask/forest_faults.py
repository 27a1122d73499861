"""Tasks of forests in which a worker fails; functions that workers can import."""

import os
from pathlib import Path
from typing import Any

from sumwise.dask import forest_tasks

_ENDING = "act-"


def claim(folder: str, times: int) -> bool:
    """Whether this is one of the first calls, of all processes; note which process it is."""
    for number in range(times):
        try:
            with (Path(folder) / f"{_ENDING}{number}").open("x") as file:
                file.write(str(os.getpid()))
            return True
        except FileExistsError:
            continue
    return False


def run_with_fault(folder: str, step: str, act: Any, times: int, *args: Any) -> Any:
    """Run a task; before, the first workers that get it act."""
    if claim(folder, times):
        act()
    return getattr(forest_tasks, step)(*args)


def fail() -> None:
    """Fail for a reason that has nothing to do with the task."""
    raise OSError("a disk has failed")
