from importlib.metadata import PackageNotFoundError

import pytest

from sumwise.cuda.runtime import compiler
from sumwise.cuda.runtime.compiler import (
    choose_target,
    compile_program,
    find_kernels,
    find_texts,
    hash_program,
)
from sumwise.cuda.runtime.device import Program
from sumwise.errors import DeviceError
from sumwise.kernels.runtime import cache

KERNELS = """
#pragma once
#include "runtime/types.cuh"
__noinline__ double half(double value) { return value / 2; }
extern "C" __global__ void one(double* out, int64 n) { out[n] = half(out[n]); }
extern "C" __global__ void __launch_bounds__(256) two(double* out) { out[0] = 1; }
"""
PROGRAM = Program("small", ("layout.cuh",), KERNELS)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SUMWISE_CACHE_DIR", str(tmp_path))
    cache.find_writable_root.cache_clear()
    yield tmp_path
    cache.find_writable_root.cache_clear()


def test_kernels_are_found_in_cubins_and_in_ptx():
    load = compiler.load_compiler()
    cubin, _ = compiler.run_compiler(load, PROGRAM, "sm_90")
    ptx, _ = compiler.run_compiler(load, PROGRAM, "compute_75")
    assert cubin.startswith(b"\x7fELF")
    assert b".target sm_75" in ptx
    assert {"one", "two"} <= set(find_kernels(cubin))
    assert find_kernels(ptx) == ["one", "two"]


def test_cubins_are_kept(folder, monkeypatch):
    cubin = compile_program(PROGRAM, 90)
    (file,) = folder.glob("cuda-*/small-*.kernel")
    monkeypatch.setattr(compiler, "run_compiler", None)
    assert compile_program(PROGRAM, 90) == cubin
    file.write_bytes(file.read_bytes()[:-1])  # damaged: not used
    with pytest.raises(TypeError):
        compile_program(PROGRAM, 90)


def test_another_architecture_or_version_is_compiled_anew(folder, monkeypatch):
    compile_program(PROGRAM, 90)
    compile_program(PROGRAM, 80)
    monkeypatch.setattr(compiler, "identify_compiler", lambda: "99.0")
    compile_program(PROGRAM, 90)
    assert len(list(folder.glob("cuda-*/*"))) == 3
    assert len(list(folder.iterdir())) == 1


def test_what_is_kept_needs_no_compiler(folder, monkeypatch):
    cubin = compile_program(PROGRAM, 90)
    monkeypatch.setattr(compiler, "load_compiler", None)
    assert compile_program(PROGRAM, 90) == cubin


@pytest.mark.parametrize(
    ("bindings", "installed", "expected"),
    [
        ("13.3.0", {"nvidia-cuda-nvrtc": "13.4.92"}, "13.4.92"),
        ("12.9.1", {"nvidia-cuda-nvrtc-cu12": "12.9.86", "nvidia-cuda-nvrtc": "13.4"}, "12.9.86"),
        ("12.9.1", {"nvidia-cuda-nvrtc": "13.9.9"}, "13.4"),
        ("13.3.0", {}, "13.4"),
        (None, {}, "13.4"),
    ],
)
def test_the_compiler_is_known_by_its_package(monkeypatch, bindings, installed, expected):
    def find_version(name):
        try:
            return installed[name]
        except KeyError:
            raise PackageNotFoundError from None

    monkeypatch.setattr(compiler, "version", find_version)
    monkeypatch.setattr(compiler, "read_bindings_version", lambda: bindings)
    monkeypatch.setattr(compiler, "read_version", lambda: (13, 4))
    assert compiler.identify_compiler.__wrapped__() == expected


def test_all_texts_count(tmp_path, monkeypatch):
    monkeypatch.setattr(compiler, "FOLDER", tmp_path)
    (tmp_path / "grow").mkdir()
    (tmp_path / "grow" / "a.cu").write_text('#include "b.cuh"\n # include "layout.cuh"\n')
    (tmp_path / "grow" / "b.cuh").write_text('#include "c.cuh"\n')
    (tmp_path / "c.cuh").write_text("int c;\n")
    program = Program("p", ("grow/a.cu",), "int layout;")
    assert sorted(find_texts(program)) == ["c.cuh", "grow/a.cu", "grow/b.cuh", "layout.cuh"]
    hashes = {hash_program(program), hash_program(program._replace(header="int other;"))}
    (tmp_path / "c.cuh").write_text("int d;\n")
    hashes.add(hash_program(program))
    monkeypatch.setattr(compiler, "OPTIONS", ("--fmad=true",))
    hashes.add(hash_program(program))
    assert len(hashes) == 4


def test_missing_sources():
    with pytest.raises(DeviceError, match=r"a source of the CUDA program p: .*nowhere\.cu"):
        find_texts(Program("p", ("nowhere.cu",), ""))


def test_errors_have_the_log():
    broken = Program("broken", ("layout.cuh",), "int f() { return unknown; }")
    with pytest.raises(DeviceError, match=r'broken does not compile:\n.*"unknown" is undef'):
        compiler.run_compiler(compiler.load_compiler(), broken, "sm_90")


def test_targets():
    known = [75, 80, 90]
    assert choose_target(80, known) == "sm_80"
    assert choose_target(86, known) == "compute_80"
    assert choose_target(130, known) == "compute_90"
    with pytest.raises(DeviceError, match=r"compute capability 7.0, only for 7.5, 8.0, 9.0"):
        choose_target(70, known)


def test_unknown_architectures_get_ptx(folder, monkeypatch):
    monkeypatch.setattr(compiler, "find_architectures", lambda: [75, 80])
    assert b".target sm_80" in compile_program(PROGRAM, 120)


def test_no_compiler(monkeypatch):
    class Missing:
        def nvrtcVersion(self):  # noqa: N802
            raise RuntimeError("libnvrtc.so was not found")

    monkeypatch.setattr(compiler, "import_bindings", lambda name: Missing())
    compiler.load_compiler.cache_clear()
    message = r"NVRTC, .*, was not found \(libnvrtc.so was not found\): pip install .*cuda13"
    with pytest.raises(DeviceError, match=message):
        compiler.load_compiler()
