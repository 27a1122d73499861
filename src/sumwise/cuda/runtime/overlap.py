"""Work of the host that goes on while the results before travel to a device."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def use_meanwhile(items: Iterable[T], use: Callable[[T], None]) -> None:
    """Use each item in another thread while the next one is made.

    When an item is made, the one before the last has been used: two buffers suffice.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="sumwise-send") as user:
        used: Future[None] | None = None
        try:
            for item in items:
                if used is not None:
                    used.result()
                used = user.submit(use, item)
        finally:
            if used is not None:
                used.result()
