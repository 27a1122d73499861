"""Every program compiles for all GPUs, and its arithmetic is that of the CPU.

NVRTC needs no GPU. PTX shows which operations the compiler has chosen: what ptxas makes of them is
exact by definition. To save time, machine code is made for the newest architecture only.
"""

import re
from pathlib import Path

import pytest

import sumwise.cuda
from sumwise.cuda.programs import list_programs
from sumwise.cuda.runtime.compiler import (
    choose_target,
    find_architectures,
    find_kernels,
    load_compiler,
    run_compiler,
)
from sumwise.cuda.runtime.program import Program

PROGRAMS = list_programs()
ARCHITECTURES, NEWEST = (75, 80, 90, 100), "sm_120"
# Fused operations, approximations, and flushed denormals.
FORBIDDEN = re.compile(r"\bfma\.\S+|\bmad\.r[nzmp]\S*|\S+\.approx\S*|\S+\.ftz\S*|\bdiv\.full\S*")
# Functions whose results are not those of the CPU: NaN in another way, other roundings.
FUNCTIONS = re.compile(
    r"\b(?:fma|fmin|fmax|exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|sin|cos|tanh|cbrt|erf)f?\s*\("
    r"|\b__(?:f?(?:exp|log|div|pow|sin|cos)|\w+_r[nudz]\b)\w*\s*\("
)
SPILLED = re.compile(r"(\d+) bytes spill stores")
MOST_SPILLED = 128  # bytes of a thread; more shows in the time of a kernel

name_of = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)


@name_of
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_arithmetic(architecture, program):
    ptx, log = run_compiler(load_compiler(), program, f"compute_{architecture}")
    assert find_kernels(ptx)
    assert FORBIDDEN.findall(ptx.decode()) == []
    assert "warning" not in log, log


@name_of
def test_machine_code(program):
    image, log = run_compiler(load_compiler(), program, NEWEST, ("--ptxas-options=-v",))
    assert image.startswith(b"\x7fELF")
    assert find_kernels(image)
    assert "warning" not in log, log
    assert max(map(int, SPILLED.findall(log))) <= MOST_SPILLED, log


def test_newest_architectures_are_known_or_translated():
    assert choose_target(120, find_architectures()) == "sm_120"
    assert choose_target(999, find_architectures()).startswith("compute_")


def test_every_source_belongs_to_a_program():
    folder = Path(sumwise.cuda.__file__).parent
    sources = {path.relative_to(folder).as_posix() for path in folder.rglob("*.cu")}
    assert sources == {file for program in PROGRAMS for file in program.files}


def test_sources_call_no_function_of_other_bits():
    folder = Path(sumwise.cuda.__file__).parent
    for path in (*folder.rglob("*.cu"), *folder.rglob("*.cuh")):
        code = re.sub(r"//.*", "", path.read_text())
        assert FUNCTIONS.findall(code) == [], path


@pytest.mark.parametrize(
    "call",
    ["fmax(a, b)", "fma (a)", "exp(x)", "log1p(x)", "powf(x, y)", "__expf(x)", "__dmul_rn(x)"],
)
def test_functions_of_other_bits_are_found(call):
    assert FUNCTIONS.search(f"double y = {call};")
    assert not FUNCTIONS.search("exp_of(x) larger_of(x) __syncthreads() __shfl_sync(x)")


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("out[0] = __fma_rn(out[1], out[2], out[3]);", ["fma.rn.f64"]),
        ("float* x = (float*)out; x[0] = __fmaf_rn(x[1], x[2], x[3]);", ["fma.rn.f32"]),
        ("float* x = (float*)out; x[0] = __fdividef(x[1], x[2]);", ["div.approx.f32"]),
        ("float* x = (float*)out; x[0] = __expf(x[1]);", ["ex2.approx"]),
        ("out[0] = out[1] * out[2] + out[3];", []),
        ("out[0] = out[1] / out[2] + __dsqrt_rn(out[3]);", []),
        ("float* x = (float*)out; x[0] = x[1] * x[2] + x[3] / x[4];", []),
        ("out[0] = out[1] > out[2] ? out[1] : out[2];", []),
        ("long long* n = (long long*)out; n[0] = n[1] * n[2] + n[3] / n[4];", []),
    ],
)
def test_the_check_finds_what_it_should(code, found):
    source = f'extern "C" __global__ void kernel(double* out) {{ {code} }}'
    ptx, _ = run_compiler(load_compiler(), Program("p", ("layout.cuh",), source), "compute_80")
    seen = FORBIDDEN.findall(ptx.decode())
    assert bool(seen) == bool(found)
    assert all(any(one.startswith(name) for one in seen) for name in found)


def test_options_keep_products_and_sums_apart():
    """Without them, the compiler would fuse: the check is needed."""
    source = 'extern "C" __global__ void kernel(double* x) { x[0] = x[1] * x[2] + x[3]; }'
    program = Program("p", ("layout.cuh",), source)
    ptx, _ = run_compiler(load_compiler(), program, "compute_80", ("--fmad=true",))
    assert FORBIDDEN.findall(ptx.decode()) == ["fma.rn.f64"]
