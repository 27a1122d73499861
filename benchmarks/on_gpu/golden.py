"""Models that a GPU has trained, kept as hashes: any CPU must train the same bytes.

`python -m benchmarks.gpu golden` trains them on the GPU and writes `tests/golden/gpu_models.json`;
`tests/golden/test_gpu_models.py` trains them again on the CPU. Their hashes change only when models
change on purpose (then the changelog says so, and the file is written again).
"""

import hashlib
import json
from pathlib import Path

from benchmarks.on_gpu.outcome import Outcome
from benchmarks.on_gpu.settings import SETTINGS, dump, fit
from benchmarks.report import Table

FILE = Path(__file__).parents[2] / "tests" / "golden" / "gpu_models.json"
N_ROWS, N_ROUNDS = 600, 4
NAMES = (
    "leaf-squared_error-numbers-all-free",
    "depth-binomial-sparse-goss-monotone",
    "symmetric-multinomial-events-all-free",
    "leaf-huber-numbers-goss-interaction",
    "extreme-depth",
    "categories-leaf",
    "regularized-leaf",
    "columns-depth",
    "extra_trees-leaf",
    "multinomial-bayesian",
    "dart",
    "forest",
    "stop-validation",
)


def hash_model(name: str, device: str) -> str:
    """Return the SHA-256 of the file of a model that is trained on a device."""
    content = dump(fit(SETTINGS[name], N_ROWS, N_ROUNDS, device))
    return hashlib.sha256(content).hexdigest()


def read_hashes(path: Path = FILE) -> dict[str, str]:
    """Return the hashes of a file by name."""
    return json.loads(path.read_text(encoding="utf-8"))["models"]


def run(path: Path, device: str = "cuda", gpu: str = "unknown") -> Outcome:
    """Train the models on a device, write their hashes, and compare them with the CPU's."""
    hashes = {name: hash_model(name, device) for name in NAMES}
    text = json.dumps({"gpu": gpu, "models": hashes}, indent=2)
    path.write_text(text + "\n", encoding="utf-8")
    problems = [
        f"golden model {name}: the CPU's has other bytes"
        for name, own in hashes.items()
        if own != hash_model(name, "cpu")
    ]
    lines = [(name, own[:16]) for name, own in hashes.items()]
    return Outcome([Table(f"Golden models, in {path}", ("model", "hash"), lines)], hashes, problems)
