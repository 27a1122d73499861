"""Kernels compiled ahead of time: the same models, without Numba."""

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from build_tools.library import Request
from sumwise.kernels.runtime import library
from sumwise.kernels.runtime.reduce import exact_sum

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")

WORK = """
import hashlib, sys
from pathlib import Path
import numpy as np
from sumwise.kernels.runtime import library

def train():
    from sumwise import GradientBoostingClassifier, RandomForestRegressor
    X = np.random.default_rng(0).normal(size=(3000, 4))
    y = X[:, 0] + X[:, 1] * X[:, 2] > 0.2
    found = []
    for growth in ("leaf", "symmetric"):
        model = GradientBoostingClassifier(n_estimators=3, growth=growth, n_jobs=2).fit(X, y)
        found += [model.predict_proba(X), model.predict_proba(X[:1])]
    found.append(RandomForestRegressor(3, random_state=0).fit(X, X[:, 0]).predict(X))
    print(hashlib.sha256(b"".join(part.tobytes() for part in found)).hexdigest())

folder = Path(sys.argv[1])
"""
BUILD = """
from build_tools import library as build
requests = build.record_requests(train)
parts = [build.compile_request(folder, request) for request in requests]
build.link(parts, folder / library.path_of("x86-64-v3").name)
assert "sumwise.kernels.runtime.loading" in sys.modules
"""
RUN = """
sys.modules["numba"] = sys.modules["llvmlite"] = None  # as if they were not installed
library.FOLDER, library.LEVELS = folder, {library.name_architecture(): {"x86-64-v3": "any"}}
library._has_feature = lambda name: True
train()
"""
UNKNOWN = """
from sumwise.kernels.runtime.jit import kernel
@kernel
def double(x):
    return 2 * x
try:
    double(1)
except ImportError as error:
    print(error)
"""


def run(script, folder):
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", WORK + textwrap.dedent(script), str(folder)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_library_gives_the_same_models_without_numba(tmp_path):
    (compiled,) = run(BUILD, tmp_path)
    found, error = run(RUN + UNKNOWN, tmp_path)
    assert found == compiled
    assert "__main__.double is not in the library" in error
    assert "pip install 'sumwise[compile]'" in error


def test_a_request_finds_its_kernel():
    request = Request(exact_sum.py_func.__module__, "exact_sum", (), False)
    assert request.find_function() is exact_sum.py_func


def test_every_level_has_a_path_of_its_own():
    levels = [level for own in library.LEVELS.values() for level in own]
    assert len({library.path_of(level) for level in levels}) == len(levels)
