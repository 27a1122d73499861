"""Results as text: aligned and Markdown tables, JSON, and a description of the machine."""

import argparse
import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import llvmlite.binding as llvm

# Numba reads its CPU from these when it is imported.
CPU_VARIABLES = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")
_ADD_VECTORS = """
define void @add(ptr %place) {
  %items = load <16 x float>, ptr %place
  %sums = fadd <16 x float> %items, %items
  store <16 x float> %sums, ptr %place
  ret void
}
"""
VERSIONED_MODULES = ("sumwise", "numpy", "numba", "sklearn", "lightgbm", "xgboost", "catboost")


class Table(NamedTuple):
    """A titled table of strings."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def format_seconds(seconds: float) -> str:
    """Return three significant figures in a suitable unit: 1.58 s, 27.0 ms, 51.0 µs."""
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1.0:
            return f"{format_figures(seconds * factor)} {unit}"
    return f"{format_figures(seconds * 1e6)} µs"


def format_bytes(n_bytes: float) -> str:
    """Return megabytes: 210 MB."""
    return f"{format_figures(n_bytes / 1e6)} MB"


def format_figures(value: float) -> str:
    """Return three significant figures without an exponent: 0.0123, 1.58, 27.0, 1235."""
    if value == 0.0:
        return "0"
    n_decimals = 2
    while abs(value) * 10**n_decimals < 99.95:
        n_decimals += 1
    while n_decimals > 0 and abs(value) * 10**n_decimals >= 999.5:
        n_decimals -= 1
    return f"{value:.{n_decimals}f}"


def format_metrics(metrics: Mapping[str, float]) -> str:
    """Return all metrics in one line: AUC 0.7761, log loss 0.5650."""
    return ", ".join(f"{name} {value:.4f}" for name, value in metrics.items())


def format_aligned(table: Table) -> str:
    """Return the table for a terminal; the first column is left-aligned, others right-aligned."""
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
    """Return the table in Markdown."""
    rule = ["---", *["--:"] * (len(table.header) - 1)]
    lines = [
        "| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |"
        for line in (table.header, rule, *table.rows)
    ]
    return "\n".join([f"## {table.title}", "", *lines])


def write_markdown(path: Path, title: str, notes: Iterable[str], tables: Iterable[Table]) -> None:
    """Write a page: the notes as a list, then the tables."""
    listed = "\n".join(f"- {note}" for note in notes)
    sections = [f"# {title}", listed, *map(format_markdown, tables)]
    path.write_text("\n\n".join(sections) + "\n", encoding="utf-8")


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write indented JSON; NaN raises ValueError, because JSON has none."""
    text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def add_outputs(parser: argparse.ArgumentParser) -> None:
    """Add the options for the files that :func:`write_outputs` writes."""
    parser.add_argument("--json", type=Path, metavar="PATH")
    parser.add_argument("--markdown", type=Path, metavar="PATH")


def write_outputs(
    parsed: argparse.Namespace,
    title: str,
    notes: Iterable[str],
    tables: Iterable[Table],
    content: Mapping[str, Any],
) -> None:
    """Write the files that the command line asks for."""
    if parsed.markdown:
        write_markdown(parsed.markdown, title, notes, tables)
    if parsed.json:
        write_json(parsed.json, content)


def describe_machine() -> dict[str, str]:
    """Return what the results depend on: processor, threads, system and versions.

    Libraries that are not installed are left out.
    """
    installed = [module for module in VERSIONED_MODULES if find_spec(module) is not None]
    versions = {module: str(import_module(module).__version__) for module in installed}
    n_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": read_processor(),
        "cpus": str(count_cpus()),
        "kernels": describe_kernels(),
        "memory": f"{n_bytes / 2**30:.0f} GiB",
        "system": platform.platform(),
        "python": platform.python_version(),
        **versions,
    }


def read_processor() -> str:
    """Return the name of the processor, which Linux has only in a file."""
    cpu_info = Path("/proc/cpuinfo")
    if cpu_info.exists():
        for line in cpu_info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def describe_kernels() -> str:
    """Return the CPU that our kernels are compiled for, and the width of its vectors."""
    cpu, features = find_kernel_cpu()
    return f"for {cpu} with vectors of {measure_vectors(cpu, features)} bits"


def find_kernel_cpu() -> tuple[str, str]:
    """Return the name and the features of the CPU that Numba compiles for: this one, or another.

    The environment variables :data:`CPU_VARIABLES` choose another one. If only its name is set,
    Numba adds the features of this one.
    """
    name, features = map(os.environ.get, CPU_VARIABLES)
    if features is None:
        is_generic = (name or "").lower() == "generic"
        features = "" if is_generic else llvm.get_host_cpu_features().flatten()
    return name or llvm.get_host_cpu_name(), features


def measure_vectors(cpu: str, features: str) -> int:
    """Return the bits of the registers that a CPU adds vectors in, from a line of its assembly."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(_ADD_VECTORS)
    target = llvm.Target.from_triple(llvm.get_process_triple())
    assembly = target.create_target_machine(cpu=cpu, features=features).emit_assembly(module)
    return 512 if "zmm" in assembly else 256 if "ymm" in assembly else 128


def choose_cpu(name: str) -> None:
    """Have our kernels compiled for another CPU, with its features alone, from now on."""
    os.environ.update(zip(CPU_VARIABLES, (name, ""), strict=True))


def count_cpus() -> int:
    """Return the number of CPUs that this process may use, within affinity and container limits."""
    return int(joblib.cpu_count())
