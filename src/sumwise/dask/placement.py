"""The partitions of a fit on the workers: computed, kept there, and given to ranks."""

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from dask import delayed
from distributed import Future, futures_of

from sumwise.dask.collections import Sources
from sumwise.dask.liveness import Workers
from sumwise.dask.ranks import make_part
from sumwise.dask.renaming import rename_tasks
from sumwise.errors import PeersError

# Seconds to wait for a first worker, because machines may have to be started; and for a partition
# while some workers do not answer, although Dask removes those after five minutes.
PATIENCE = 3600.0

# The training rows among the sets of partitions.
TRAIN = ""
# A partition: the name of its set, and its number.
Key = tuple[str, int]


class Share(NamedTuple):
    """The partitions of one rank: of the training rows, and of each validation set."""

    parts: list[Future]
    sets: dict[str, list[Future]]


class Partitions:
    """The partitions of all sets of a fit.

    Each is made by one task: so all columns of a partition are on one worker. Dask makes those of a
    worker that has ended once more elsewhere. It does not know that a worker does not answer any
    more; then what that worker has, or was to compute, is submitted again for the others.
    """

    def __init__(
        self, workers: Workers, train: Sequence[Sources], sets: Mapping[str, Sequence[Sources]]
    ) -> None:
        self._workers = workers
        self._set_names = list(sets)
        self._sources = {
            (name, number): own
            for name, sources in {TRAIN: train, **sets}.items()
            for number, own in enumerate(sources)
        }
        self._futures: dict[Key, Future] = {}
        # Workers that did not answer when partitions were submitted last, and the workers that may
        # compute a partition, if they are not all.
        self._avoided: set[str] = set()
        self._allowed: dict[Key, set[str]] = {}

    def place(self) -> dict[str, Share]:
        """Compute the partitions that are missing; return who trains on which.

        The workers that have training rows or validation rows are the ranks, by their addresses.
        """
        while True:
            self._compute()
            has = self._find_holders()
            lacking = [key for key, holders in has.items() if not holders]
            if not lacking:
                return self._share_out(has)
            # Their workers do not answer, or have ended just now.
            self._drop(lacking)

    def gather(self) -> list[Future]:
        """Compute the training rows that are missing; return all, in the order of partitions."""
        self.place()
        return [self._futures[key] for key in self._sources if key[0] == TRAIN]

    def close(self) -> None:
        """Let Dask forget the partitions."""
        self._drop(self._sources)

    def _drop(self, keys: Iterable[Key]) -> None:
        for key in list(keys):
            if key in self._futures:
                self._futures.pop(key).release()
                self._allowed.pop(key, None)

    def _compute(self) -> None:
        """Wait until all partitions are computed."""
        self._submit_missing()
        n_pending, since = len(self._sources), time.monotonic()
        while True:
            pending = {
                key: future for key, future in self._futures.items() if future.status != "finished"
            }
            for future in pending.values():
                if future.status in ("error", "cancelled"):
                    raise _explain(future)
            if not pending:
                return
            silent = self._workers.silent
            if self._workers.present and (not silent or len(pending) < n_pending):
                n_pending, since = len(pending), time.monotonic()
            elif time.monotonic() - since > PATIENCE:
                raise self._give_up(silent)
            self._workers.wait(list(pending.values()))
            stuck = self._find_stuck(pending)
            if stuck:
                self._drop(stuck)
                self._submit_missing()

    def _find_stuck(self, pending: Iterable[Key]) -> list[Key]:
        """Return the partitions that would have to wait for workers that are lost."""
        alive = set(self._workers.alive)
        if not alive:
            return []
        if set(self._workers.silent) - self._avoided:
            return list(pending)  # or what they are made from
        return [key for key in pending if not alive & self._allowed.get(key, alive)]

    def _give_up(self, silent: Iterable[str]) -> PeersError:
        named = ", ".join(map(self._workers.explain, sorted(silent)))
        reason = "the cluster has had no workers" if not silent else "Dask waits for"
        return PeersError(
            f"no partition was computed for {PATIENCE:g} seconds, because {reason} {named}".rstrip()
        )

    def _submit_missing(self) -> None:
        missing = [key for key in self._sources if key not in self._futures]
        if not missing:
            return
        client, version = self._workers.client, sys.modules["sumwise"].__version__
        make = delayed(make_part, pure=False, traverse=False)
        parts = [make(version, key[1], *self._sources[key]) for key in missing]
        self._avoided = set(self._workers.silent)
        if self._avoided:
            self._check_inputs(missing)
            alive = self._workers.alive
            self._allowed |= {key: set(alive) for key in missing}
            futures = client.get(*rename_tasks(parts), workers=alive, sync=False)
        else:
            futures = client.compute(parts)
        self._futures |= dict(zip(missing, futures, strict=True))

    def _check_inputs(self, missing: Sequence[Key]) -> None:
        """Refuse to wait for inputs that only workers without a sign of life have."""
        client, alive = self._workers.client, set(self._workers.alive)
        sources = [own for key in missing for own in self._sources[key]]
        inputs = {future.key for future in futures_of(sources)}
        if not inputs:
            return
        has = self._workers.ask(client.scheduler.who_has, keys=list(inputs))
        stuck = {
            address
            for own in has.values()
            if own and not alive.intersection(own)
            for address in own
        }
        if stuck:
            named = ", ".join(map(self._workers.explain, sorted(stuck)))
            raise PeersError(
                f"some of the data is only on {named}. Dask computes it again elsewhere once that "
                "worker has ended or was removed from the cluster; then fit again"
            )

    def _find_holders(self) -> dict[Key, list[str]]:
        """Return the workers that have each partition, without those that are lost."""
        workers = self._workers
        workers.look(at_once=True)
        keys = {future.key: key for key, future in self._futures.items()}
        found = workers.ask(workers.client.scheduler.who_has, keys=list(keys))
        return {
            key: [address for address in found.get(name) or () if not workers.is_lost(address)]
            for name, key in keys.items()
        }

    def _share_out(self, has: Mapping[Key, Sequence[str]]) -> dict[str, Share]:
        """Give every partition to one of the workers that have it, as evenly as possible."""
        shares: dict[str, Share] = {}
        # Those that few workers have come first, then there is a choice for the others.
        for key in sorted(has, key=lambda key: len(has[key])):
            name, _ = key
            own = min(has[key], key=lambda address: _count(shares.get(address), name))
            if own not in shares:
                shares[own] = Share([], {each: [] for each in self._set_names})
            share = shares[own]
            (share.parts if name == TRAIN else share.sets[name]).append(self._futures[key])
        return shares


def _count(share: Share | None, name: str) -> int:
    if share is None:
        return 0
    return len(share.parts if name == TRAIN else share.sets[name])


def _explain(future: Future) -> BaseException:
    """Return why a partition could not be computed."""
    if future.status == "cancelled":
        return PeersError("the partitions of this fit were cancelled, or the cluster restarted")
    error = future.exception()
    if isinstance(error, ImportError) and "sumwise" in str(error):
        return PeersError(f"a worker lacks sumwise, or has another version: {error}")
    return error
