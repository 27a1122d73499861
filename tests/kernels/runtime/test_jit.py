"""Decorators of kernels, and what importing them does."""

import os
import subprocess
import sys
import textwrap

import pytest


def test_importing_sumwise_changes_nothing(tmp_path):
    script = textwrap.dedent(
        """
        import logging, os, sys
        before = dict(os.environ)
        import sumwise
        import sumwise.kernels.grow.tree
        assert dict(os.environ) == before
        assert not os.listdir()
        logger = logging.getLogger("sumwise")
        assert logger.level == logging.NOTSET and not logger.handlers
        slow = {"llvmlite", "matplotlib", "numba", "rich", "sklearn.ensemble"}
        slow |= {"sklearn.model_selection"}
        assert not slow & set(sys.modules)  # imported where they are needed
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


FORK = """
import os, sys, threading, time
from sumwise.kernels.runtime import jit
# A thread loads and compiles kernels, one after the other, while the main thread forks.
stop = False
def compile_on():
    k = 0
    while not stop:
        k += 1
        space = {}
        exec(f"def add_{k}(x):\\n    return x + {k}", space)
        function = space[f"add_{k}"]
        function.__module__ = "__main__"
        assert jit.kernel(function)(1) == 1 + k
thread = threading.Thread(target=compile_on)
thread.start()
time.sleep(0.2)
for k in range(5):
    child = os.fork()
    if child == 0:
        def double(x):
            return 2 * x
        assert jit.kernel(double)(k) == 2 * k
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    time.sleep(0.05)
stop = True
thread.join()
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_of_a_fork_compiles_while_a_thread_of_the_parent_does(tmp_path):
    """Without a lock that nobody is left to release."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK],
        env={**os.environ, "SUMWISE_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
