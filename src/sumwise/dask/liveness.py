"""Which workers are there, and which of them give no sign of life.

The scheduler removes a worker whose connection has ended, but believes in one that was stopped, or
whose machine is unreachable, for minutes. A fit must not wait for those.
"""

import asyncio
import inspect
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from distributed import CancelledError, Client, Future, wait
from distributed import TimeoutError as DaskTimeoutError

from sumwise.errors import PeersError

# Seconds between two looks at the workers: longer if there are more than a hundred, but several
# looks before a worker is lost.
_PAUSE, _PAUSE_PER_WORKER, _LOOKS = 1.0, 0.01, 4
# Seconds in which the scheduler has to answer; a large graph keeps it busy for some time.
SCHEDULER_TIMEOUT = 300.0


class Workers:
    """The workers of a cluster as the scheduler knows them.

    Attributes
    ----------
    present : mapping from str to mapping
        What the scheduler knows about each worker, by its address.
    """

    def __init__(self, client: Client, silence: float) -> None:
        self.client, self.silence = client, silence
        self.present: Mapping[str, Any] = {}
        self._pause = min(_PAUSE, silence / _LOOKS)
        # The last sign of life of each worker, and for how long it was the last.
        self._signs: dict[str, float] = {}
        self._quiet: dict[str, float] = {}
        self._looked_at = -self._pause
        # The number of workers that are reported is limited unless told otherwise.
        is_limited = "n_workers" in inspect.signature(client.scheduler_info).parameters
        self._options = {"n_workers": -1} if is_limited else {}
        self.look(at_once=True)

    def look(self, at_once: bool = False) -> None:
        """Ask the scheduler, unless it was asked just before."""
        now = time.monotonic()
        passed = now - self._looked_at
        if passed < self._pause and not at_once:
            return
        found = self.ask(self.client.scheduler.identity, **self._options)
        self._looked_at = now
        self.present = found["workers"]
        longest = max(_PAUSE, _PAUSE_PER_WORKER * len(self.present))
        self._pause = min(longest, self.silence / _LOOKS)
        for address, about in self.present.items():
            sign = about["last_seen"]
            if self._signs.get(address) == sign:
                # If the scheduler was busy, it heard nobody.
                self._quiet[address] += min(passed, 2 * self._pause)
            else:
                self._signs[address], self._quiet[address] = sign, 0.0

    def is_lost(self, address: str) -> bool:
        """Whether a worker is gone, or gives no sign of life."""
        return address not in self.present or self._quiet[address] > self.silence

    @property
    def alive(self) -> list[str]:
        """The addresses of all workers that are not lost."""
        return [address for address in self.present if not self.is_lost(address)]

    @property
    def silent(self) -> list[str]:
        """The addresses of workers that give no sign of life."""
        return [address for address in self.present if self.is_lost(address)]

    def explain(self, address: str) -> str:
        """Return what is known about a worker, for messages."""
        if address not in self.present:
            return f"{address} (it has ended, or was removed from the cluster)"
        if self.is_lost(address):
            return f"{address} (no sign of life for {self.silence:g} seconds)"
        if self.present[address].get("status") == "paused":
            return f"{address} (paused, because its memory is nearly full)"
        return address

    def ask(self, question: Any, *args: Any, **options: Any) -> Any:
        """Return the answer of the scheduler to a question, a coroutine function."""
        try:
            timeout = SCHEDULER_TIMEOUT
            return self.client.sync(question, *args, callback_timeout=timeout, **options)
        except (OSError, DaskTimeoutError, AttributeError) as error:
            if isinstance(error, AttributeError) and self.client.status == "running":
                raise
            reason = str(error) or f"no answer for {SCHEDULER_TIMEOUT:g} seconds"
            raise PeersError(f"the scheduler of Dask was lost: {reason}") from error

    def call(self, addresses: Sequence[str], function: Any, *args: Any) -> dict[str, Any]:
        """Return what a function returns on workers; those that do not answer soon are left out.

        It runs beside their tasks, at once, and must take no time.
        """

        async def call_one(address: str) -> Any:
            options = {"workers": [address], "on_error": "raise", "asynchronous": True}
            found = await self.client.run(function, *args, **options)
            return found[address]

        async def call_all() -> list[Any]:
            calls = [asyncio.wait_for(call_one(a), self._pause) for a in addresses]
            return await asyncio.gather(*calls, return_exceptions=True)

        found = zip(addresses, self.ask(call_all), strict=True)
        return {own: result for own, result in found if not isinstance(result, BaseException)}

    def wait(self, futures: Sequence[Future]) -> None:
        """Wait until all futures are done, but not for long, and look at the workers."""
        with suppress(DaskTimeoutError, CancelledError):
            wait(list(futures), timeout=self._pause)
        self.look()
