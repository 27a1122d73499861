"""Peers on sockets of this machine: in threads, or in processes of their own."""

import secrets
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sumwise.sockets import Listener, SocketPeers

HOST = "127.0.0.1"
ROOT = Path(__file__).parents[2]

# What every process of a test runs first; `peers` are connected afterwards.
PROLOGUE = """
import os, signal, sys, time
import numpy as np
import sumwise
from sumwise.errors import PeersError
from sumwise.sockets import Listener, SocketPeers, handshake

rank, size = map(int, sys.argv[1:3])
listener = Listener.open("127.0.0.1")
print(listener.address[1], flush=True)
addresses = [("127.0.0.1", int(port)) for port in sys.stdin.readline().split()]

def connect(token=b"a token", timeout=20, silence=20, **options):
    return SocketPeers.connect(
        rank, listener, addresses, token, timeout=timeout, silence=silence, **options
    )

def say(*words):
    print(*words, flush=True)
"""


def connect_threads(
    n: int, work: Callable[[SocketPeers], Any], *, timeout: float = 20, **options: Any
) -> list[Any]:
    """Return what ``work`` returns, or the error that it raises, for peers in threads."""
    listeners = [Listener.open(HOST) for _ in range(n)]
    addresses = [listener.address for listener in listeners]
    token = secrets.token_bytes(32)
    results: list[Any] = [None] * n

    def run(rank: int) -> None:
        try:
            with SocketPeers.connect(
                rank, listeners[rank], addresses, token, timeout=timeout, **options
            ) as peers:
                results[rank] = work(peers)
        except Exception as error:
            results[rank] = error

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a peer hangs"
    return results


def run_threads(n: int, work: Callable[[SocketPeers], Any], **options: Any) -> list[Any]:
    """Return what ``work`` returns for peers in threads; raise the first error."""
    results = connect_threads(n, work, **options)
    for result in results:
        if isinstance(result, Exception):
            raise result
    return results


class Cluster:
    """Processes that run the same script, each with its rank."""

    def __init__(self, n: int, script: str, *, absent: tuple[int, ...] = ()) -> None:
        self.processes: dict[int, subprocess.Popen] = {
            rank: subprocess.Popen(
                [sys.executable, "-c", PROLOGUE + script, str(rank), str(n)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=ROOT,
            )
            for rank in range(n)
            if rank not in absent
        }
        self.ports = {rank: self.read(rank) for rank in self.processes}
        if absent:
            with Listener.open(HOST) as unused:  # nobody listens there
                self.ports.update(dict.fromkeys(absent, str(unused.address[1])))
        for rank in self.processes:
            self.tell(rank, " ".join(self.ports[k] for k in range(n)))

    def read(self, rank: int) -> str:
        """Return the next line that a process says."""
        return self.processes[rank].stdout.readline().strip()

    def tell(self, rank: int, line: str) -> None:
        """Give a line to a process."""
        self.processes[rank].stdin.write(line + "\n")
        self.processes[rank].stdin.flush()

    def finish(self, rank: int, timeout: float = 40) -> str:
        """Return what a process says until it ends in order."""
        out, errors = self.processes[rank].communicate(timeout=timeout)
        assert self.processes[rank].returncode == 0, errors
        assert errors == ""
        return out.strip()

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *error: object) -> None:
        for process in self.processes.values():
            process.kill()
            process.communicate()
