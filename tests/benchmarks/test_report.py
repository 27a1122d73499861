import json
import math
import platform
from pathlib import Path

import pytest

from benchmarks.report import (
    CPU_VARIABLES,
    Table,
    choose_cpu,
    find_kernel_cpu,
    format_aligned,
    format_bytes,
    format_figures,
    format_markdown,
    format_metrics,
    format_seconds,
    measure_vectors,
    write_json,
    write_markdown,
)

TABLE = Table("Title", ("work", "time"), [("train", "1.58 s"), ("a|b", "27 ms")])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.01234, "0.0123"),
        (0.9999, "1.00"),
        (1.575, "1.57"),
        (27.04, "27.0"),
        (99.96, "100"),
        (1234.5, "1234"),
        (-2.5, "-2.50"),
    ],
)
def test_three_figures(value: float, text: str) -> None:
    assert format_figures(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(75.0, "75.0 s"), (0.0271, "27.1 ms"), (51e-6, "51.0 µs")]
)
def test_seconds_choose_their_unit(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


def test_bytes_are_megabytes() -> None:
    assert format_bytes(210_400_000) == "210 MB"


def test_metrics_share_a_line() -> None:
    assert format_metrics({"AUC": 0.77612, "log loss": 0.5}) == "AUC 0.7761, log loss 0.5000"


def test_aligned_columns() -> None:
    assert format_aligned(TABLE).splitlines() == [
        "Title",
        "work     time",
        "-----  ------",
        "train  1.58 s",
        "a|b     27 ms",
    ]


def test_markdown_escapes_bars() -> None:
    assert format_markdown(TABLE).splitlines() == [
        "## Title",
        "",
        "| work | time |",
        "| --- | --: |",
        "| train | 1.58 s |",
        r"| a\|b | 27 ms |",
    ]


def test_markdown_page(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    write_markdown(path, "Page", ["one", "two"], [TABLE])
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Page\n\n- one\n- two\n\n## Title\n")
    assert text.endswith("|\n")


def test_json_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "numbers.json"
    write_json(path, {"unit": "µs", "values": (1.5, 2.5)})
    assert json.loads(path.read_text(encoding="utf-8")) == {"unit": "µs", "values": [1.5, 2.5]}


def test_json_refuses_nan(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(tmp_path / "numbers.json", {"value": math.nan})


@pytest.mark.skipif(platform.machine() != "x86_64", reason="CPUs of other machines")
@pytest.mark.parametrize(
    ("cpu", "features", "bits"),
    [
        ("x86-64", "", 128),
        ("haswell", "", 256),
        ("x86-64-v4", "", 512),
        ("haswell", "+avx512f", 512),  # what Numba makes of the name alone on such a machine
    ],
)
def test_width_of_vectors(cpu: str, features: str, bits: int) -> None:
    assert measure_vectors(cpu, features) == bits


def test_kernels_are_for_this_cpu_or_another(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in CPU_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    here = find_kernel_cpu()
    assert all(here)
    monkeypatch.setenv(CPU_VARIABLES[0], "haswell")
    assert find_kernel_cpu() == ("haswell", here[1])
    monkeypatch.setenv(CPU_VARIABLES[1], "")
    assert find_kernel_cpu() == ("haswell", "")


def test_choose_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in CPU_VARIABLES:
        monkeypatch.setenv(variable, "before")  # restored after the test
    choose_cpu("haswell")
    assert find_kernel_cpu() == ("haswell", "")
