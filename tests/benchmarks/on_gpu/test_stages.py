from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from benchmarks.on_gpu import stages
from benchmarks.on_gpu.stages import Watch, profile_kernels


class Kernel(NamedTuple):
    name: str


class Device:
    """Keeps a list of what it did."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def wait(self) -> None:
        self.done.append("wait")

    def launch(self, kernel: Kernel, n_blocks: int, n_threads: int, arguments: Any) -> None:
        self.done.append(kernel.name)

    def write(self, host: Any, target: Any) -> None:
        self.done.append("write")

    def copy(self, source: Any, target: Any) -> None:
        self.done.append("copy")

    def clear(self, target: Any) -> None:
        self.done.append("clear")

    def download(self, source: Any) -> str:
        return self.download_later(source)

    def download_later(self, source: Any) -> str:
        self.done.append("download")
        return "items"

    @contextmanager
    def record(self) -> Iterator[Any]:
        raise AssertionError("graphs are not recorded while kernels are timed")
        yield


def use(device: Device) -> str:
    device.write(1, 2)
    device.launch(Kernel("first"), 1, 1, ())
    with device.record() as graph:
        device.launch(Kernel("second"), 1, 1, ())
        device.clear(3)
    assert "second" not in device.done
    graph.launch()
    graph.launch()
    return device.download(4)


def test_each_kernel_is_timed_alone() -> None:
    device, watch = Device(), Watch()
    with watch.on(Device):
        assert use(device) == "items"
    counts = {name: len(seconds) for name, seconds in watch.seconds.items()}
    assert counts.pop("(nothing)") == len(counts)
    assert counts == {"write": 1, "first": 1, "second": 2, "clear": 2, "download": 1}
    own = [name for name in device.done if name != "wait"]
    assert own == ["write", "first", "second", "clear", "second", "clear", "download"]
    place = device.done.index("first")
    assert device.done[place - 1 : place + 2] == ["wait", "first", "wait"]
    device.launch(Kernel("third"), 1, 1, ())
    assert "third" not in watch.seconds


def test_kernels_are_ranked() -> None:
    class Model:
        def fit(self, X: Any, y: Any) -> None:
            use(Device())

    make: Callable[[int], Any] = lambda n_trees: Model()  # noqa: E731
    table = profile_kernels(make, None, None, 2, Device)
    assert table.title.startswith("Kernels and copies one by one, 2 trees, ")
    assert {line[0]: line[1] for line in table.rows}["second"] == "2"


def test_a_tiny_run_on_the_cpu() -> None:
    outcome = stages.run(["leaf"], 500, 2, device="cpu")
    whole, functions = outcome.tables
    assert whole.title == "31 leaves, 500 rows: Stages"
    assert [line[0] for line in whole.rows] == ["set-up and end", "a tree", "all, 3 trees"]
    names = [line[0] for line in functions.rows]
    assert "estimators/boosting/base.fit" in names
    assert len(outcome.content) == 2
