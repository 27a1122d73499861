"""Numbers as text: aligned and Markdown tables, JSON, and where they were taken."""

import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import joblib

VERSIONED_MODULES = (
    "sumwise",
    "numpy",
    "numba",
    "sklearn",
    "lightgbm",
    "xgboost",
    "catboost",
)


class Table(NamedTuple):
    """A titled table of strings."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def format_seconds(seconds: float) -> str:
    """Three significant figures in a fitting unit: 1.58 s, 27.0 ms, 51.0 µs."""
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1.0:
            return f"{format_figures(seconds * factor)} {unit}"
    return f"{format_figures(seconds * 1e6)} µs"


def format_bytes(n_bytes: float) -> str:
    """Megabytes: 210 MB."""
    return f"{format_figures(n_bytes / 1e6)} MB"


def format_figures(value: float) -> str:
    """Three significant figures without an exponent: 0.0123, 1.58, 27.0, 1235."""
    if value == 0.0:
        return "0"
    n_decimals = 2
    while abs(value) * 10**n_decimals < 99.95:
        n_decimals += 1
    while n_decimals > 0 and abs(value) * 10**n_decimals >= 999.5:
        n_decimals -= 1
    return f"{value:.{n_decimals}f}"


def format_metrics(metrics: Mapping[str, float]) -> str:
    """All metrics in a line: AUC 0.7761, log loss 0.5650."""
    return ", ".join(f"{name} {value:.4f}" for name, value in metrics.items())


def format_aligned(table: Table) -> str:
    """The table for a terminal: the first column to the left, others to the right."""
    lines = [table.header, *table.rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    text = [
        "  ".join(
            cell.rjust(width) if position else cell.ljust(width)
            for position, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join([table.title, *text])


def format_markdown(table: Table) -> str:
    """The table for a page."""
    rule = ["---", *["--:"] * (len(table.header) - 1)]
    lines = [
        "| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |"
        for line in (table.header, rule, *table.rows)
    ]
    return "\n".join([f"## {table.title}", "", *lines])


def write_markdown(path: Path, title: str, notes: Iterable[str], tables: Iterable[Table]) -> None:
    """A page of its own: the notes as a list, then the tables."""
    listed = "\n".join(f"- {note}" for note in notes)
    sections = [f"# {title}", listed, *map(format_markdown, tables)]
    path.write_text("\n\n".join(sections) + "\n", encoding="utf-8")


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """The content, indented. Not-a-numbers are refused: they are no JSON."""
    text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def describe_machine() -> dict[str, str]:
    """What the numbers depend on: processor, threads, system and versions."""
    versions = {module: str(import_module(module).__version__) for module in VERSIONED_MODULES}
    n_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": read_processor(),
        "cpus": str(count_cpus()),
        "memory": f"{n_bytes / 2**30:.0f} GiB",
        "system": platform.platform(),
        "python": platform.python_version(),
        **versions,
    }


def read_processor() -> str:
    """The processor's name: Linux tells it in a file only."""
    cpu_info = Path("/proc/cpuinfo")
    if cpu_info.exists():
        for line in cpu_info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def count_cpus() -> int:
    """The CPUs this process may use: affinity and container limits respected."""
    return int(joblib.cpu_count())
