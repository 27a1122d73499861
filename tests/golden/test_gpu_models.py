"""Models that a GPU has trained have the same bytes when the CPU trains them.

`python -m benchmarks.gpu golden` writes the hashes on a machine with a GPU.
"""

import pytest

from benchmarks.on_gpu.golden import FILE, NAMES, hash_model, read_hashes

pytestmark = pytest.mark.skipif(
    not FILE.exists(), reason=f"no GPU has written {FILE.name}: python -m benchmarks.gpu golden"
)


@pytest.mark.parametrize("name", NAMES)
def test_the_cpu_trains_the_model_of_the_gpu(name: str) -> None:
    assert hash_model(name, "cpu") == read_hashes()[name]


def test_every_hash_has_a_model() -> None:
    assert sorted(read_hashes()) == sorted(NAMES)
