"""How programs are compiled, and what is said if they cannot be."""

import pytest

from sumwise.cuda.runtime.device import Program
from sumwise.cuda.runtime.structs import make_header
from tests.cuda.emulator import compile as compiling
from tests.cuda.emulator.compile import load_kernels
from tests.cuda.emulator.test_device import PROGRAM


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A cache of its own, and nothing remembered."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    load_kernels.cache_clear()
    yield tmp_path / "sumwise-emulator"
    load_kernels.cache_clear()


@pytest.fixture
def load(tmp_path):
    def load(text, header=make_header()):  # noqa: B008
        source = tmp_path / "source.cu"
        source.write_text(text)
        return load_kernels(Program("tried", (str(source),), header))

    return load


def test_a_library_is_compiled_once(folder, load):
    text = 'extern "C" __global__ void one() {}'
    assert list(load(text)) == ["one"]
    made = {path: path.stat().st_mtime_ns for path in folder.glob("*.so")}
    assert len(made) == 1
    load_kernels.cache_clear()
    load(text)
    assert {path: path.stat().st_mtime_ns for path in folder.glob("*.so")} == made


def test_headers_are_part_of_a_program(folder, load):
    text = '#include "layout.cuh"\nextern "C" __global__ void __launch_bounds__(N) one() {}'
    for n in (64, 128):
        header = make_header(constants={"N": n})
        assert load(text, header)["one"].most_threads == n
    assert len(list(folder.glob("*.so"))) == 2


def test_kernels_are_found_where_macros_make_them(folder, load):
    kernels = load("""
        typedef long long Whole;
        struct Pair { double* a; Whole b; };
        #define MAKE(name) extern "C" __global__ void name(Whole n, double x, Pair pair, char* c)
        MAKE(one) {}
        MAKE(two) {}
        extern "C" __global__ __launch_bounds__(2 * (32 + 32), 4) void three() {}
        """)
    assert list(kernels) == ["one", "two", "three"]
    assert kernels["two"].kinds == "idsp"
    assert kernels["two"].sizes == (8, 8, 16, 8)
    assert [kernel.most_threads for kernel in kernels.values()] == [1024, 1024, 128]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("int n) {", "an argument of a kernel takes eight bytes"),
        (") { double x = max(1.0, 2.0);", "deleted function"),
        (") { double x = fma(1.0, 2.0, 3.0);", "fma"),
        (") { double x = exp(1.0);", "exp"),
        ("long long* x) { atomicAdd(x, 1ll);", "atomicAdd"),
        (") { unknown();", r"source\.cu:1:.*\n?.*unknown"),
    ],
)
def test_what_is_forbidden_does_not_compile(folder, load, body, message):
    with pytest.raises(RuntimeError, match=message):
        load(f'extern "C" __global__ void one({body} }}')


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [("sys.platform", "win32", "Linux only"), ("shutil.which", lambda name: None, "needs g")],
)
def test_where_nothing_can_be_compiled_tests_are_skipped(monkeypatch, attribute, value, message):
    monkeypatch.setattr(f"{compiling.__name__}.{attribute}", value)
    with pytest.raises(pytest.skip.Exception, match=message):
        load_kernels.__wrapped__(PROGRAM)
