"""Training and prediction on a GPU: equality with the CPU, memory, races, times, golden models.

Run from the root of the repository, on a machine with an NVIDIA GPU, its driver, and one of the
extras `cuda12` and `cuda13`:

    python -m benchmarks.gpu                          # all parts
    python -m benchmarks.gpu equality --rows 1000     # one part, one size
    python -m benchmarks.gpu equality --only dart stop
    python -m benchmarks.gpu time profile --json build/gpu.json
    python -m benchmarks.gpu time --rows 100000000 --cases depth --repeat 1

equality   over 100 settings at 1,000, 70,000 and 1,000,000 rows: model files and predictions have
           the same bytes as the CPU's, on one device and on two that are the same GPU
memory     200 fits, a fit that fails, Ctrl-C and two threads at once leave no device memory behind
sanitizer  small fits under the four tools of compute-sanitizer, which comes with CUDA
time       training of 28 features and prediction, with XGBoost and CatBoost (their GPU builds) in
           turn, all from host arrays and, where CuPy is installed, from arrays of the GPU
multiclass training with 7 classes
explain    Shapley values and interactions, with XGBoost's GPU and our CPU in turn; the bits of ours
profile    set-up, trees, functions of the host, and kernels one by one
golden     trains small models and writes their hashes for the tests, which train them on the CPU

Without a GPU, `--emulate` executes the kernels on the CPU, thread by thread: `equality --emulate
--rows 300 --rounds 2` takes a minute or two. (Times, and the other parts, then mean nothing.)

The last lines say what is not as it should be; the exit status is then 1.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

from benchmarks.on_gpu import (
    equality,
    explaining,
    golden,
    memory,
    predicting,
    sanitizer,
    stages,
    timing,
)
from benchmarks.on_gpu.contestants import CONTESTANTS
from benchmarks.on_gpu.outcome import Outcome, join
from benchmarks.report import (
    add_outputs,
    describe_machine,
    format_aligned,
    format_seconds,
    write_outputs,
)
from benchmarks.side_by_side import make_parser

Part = Callable[[argparse.Namespace], Outcome]


def compare(parsed: argparse.Namespace) -> Outcome:
    """Run the part "equality"."""
    rows = parsed.rows or equality.ROWS
    return equality.run(parsed.only or [""], rows, parsed.devices, parsed.rounds)


def check_memory(parsed: argparse.Namespace) -> Outcome:
    """Run the part "memory"."""
    return memory.run(parsed.fits)


def sanitize(parsed: argparse.Namespace) -> Outcome:
    """Run the part "sanitizer"."""
    return sanitizer.run(parsed.only or sanitizer.NAMES, parsed.tools)


def measure_times(parsed: argparse.Namespace) -> Outcome:
    """Run the part "time"."""
    sizes = parsed.rows or timing.ROWS
    sized = (parsed.trees, parsed.repeat, parsed.contestants)
    trained = timing.time_training(parsed.cases, sizes, *sized)
    return join([trained, predicting.time_prediction(max(sizes), *sized)])


def measure_classes(parsed: argparse.Namespace) -> Outcome:
    """Run the part "multiclass"."""
    n_rows = max(parsed.rows or [timing.N_COVER_ROWS])
    return timing.time_multiclass(parsed.trees, parsed.repeat, n_rows, parsed.contestants)


def measure_explanations(parsed: argparse.Namespace) -> Outcome:
    """Run the part "explain"."""
    n_rows = max(parsed.rows or [explaining.N_ROWS])
    sized = (parsed.trees, parsed.repeat, parsed.contestants)
    return explaining.time_explanations(parsed.cases, n_rows, *sized)


def profile(parsed: argparse.Namespace) -> Outcome:
    """Run the part "profile"."""
    sizes = parsed.rows or (stages.N_ROWS,)
    return join([stages.run(parsed.cases, n_rows, parsed.trees) for n_rows in sizes])


def write_golden(parsed: argparse.Namespace) -> Outcome:
    """Run the part "golden"."""
    return golden.run(parsed.golden, gpu=describe_gpu())


PARTS: dict[str, Part] = {
    "equality": compare,
    "memory": check_memory,
    "sanitizer": sanitize,
    "golden": write_golden,
    "profile": profile,
    "time": measure_times,
    "multiclass": measure_classes,
    "explain": measure_explanations,
}
# Not a part of its own, but what compute-sanitizer watches.
WATCHED = "fit"


def emulate() -> None:
    """Have the emulator of the tests in place of a GPU; it needs a C++ compiler."""
    from sumwise.cuda.runtime import choosing
    from tests.cuda.emulator import EmulatedDevice

    choosing.device_maker = EmulatedDevice


def describe_gpu() -> str:
    """Return the name, driver and memory of the GPU, as nvidia-smi tells them."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = make_parser("gpu", __doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument("--rows", type=int, nargs="+", help="sizes, of the parts that have some")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="settings, or parts of names")
    parser.add_argument("--devices", nargs="+", default=equality.DEVICES, metavar="DEVICE")
    parser.add_argument("--rounds", type=int, help="of each setting of equality")
    parser.add_argument("--fits", type=int, default=memory.N_FITS, help="in the part memory")
    tools = sanitizer.TOOLS
    parser.add_argument("--tools", nargs="+", choices=tools, default=tools)
    cases = tuple(timing.CASES)
    parser.add_argument("--cases", nargs="+", choices=cases, default=cases)
    names = tuple(CONTESTANTS)
    parser.add_argument("--contestants", nargs="+", choices=names, default=names)
    parser.add_argument("--emulate", action="store_true", help="devices are emulated by the CPU")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--golden", type=Path, metavar="PATH", default=golden.FILE)
    add_outputs(parser)
    parsed = parser.parse_args(arguments)
    unknown = [name for name in parsed.parts if name not in (*PARTS, WATCHED)]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    return parsed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts; print the tables of each as soon as it is done, and all problems last."""
    parsed = parse_arguments(arguments)
    if parsed.emulate:
        emulate()
    if parsed.parts == [WATCHED]:
        sanitizer.fit_small(parsed.only or sanitizer.NAMES)
        return 0
    machine = {"gpu": describe_gpu(), **describe_machine()}
    notes = [", ".join(f"{key} {value}" for key, value in machine.items())]
    print(*notes, flush=True)
    outcomes: dict[str, Outcome] = {}
    for name in parsed.parts or PARTS:
        start = perf_counter()
        outcomes[name] = PARTS[name](parsed)
        print("", *map(format_aligned, outcomes[name].tables), sep="\n\n")
        print(f"\n{name} took {format_seconds(perf_counter() - start)}", flush=True)
        # After each part: a run that is stopped leaves what it has.
        tables = [table for own in outcomes.values() for table in own.tables]
        content = {own: each.content for own, each in outcomes.items()}
        write_outputs(parsed, "sumwise on a GPU", notes, tables, {"machine": machine, **content})
    problems = [problem for own in outcomes.values() for problem in own.problems]
    print("", *problems, f"{len(problems)} problems", sep="\n", flush=True)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
