"""Machine code is found by a symbol: in the library, in the cache, or by compiling."""

import ctypes

import pytest

from sumwise.kernels.runtime import cache, library, loading, machine_code
from sumwise.kernels.runtime.machine_code import RESULT, find_entry, make_object, name_symbol


def double(x):
    return 2 * x


def triple(x):
    return 3 * x


INTEGER, NUMBER = ("int64",), ("float64",)


@pytest.fixture
def compilations(monkeypatch, own_cache):
    """An empty cache and no library; returns the names of the functions that are compiled."""
    from sumwise.kernels.runtime import compiling

    names = []
    compile_to_object = compiling.compile_to_object

    def record(function, *rest):
        names.append(function.__name__)
        return compile_to_object(function, *rest)

    monkeypatch.setattr(compiling, "compile_to_object", record)
    monkeypatch.setattr(library, "has_symbol", lambda symbol: False)
    return names


def call(address, number):
    """Call an entry with one word; return the next word, its result."""
    block = (ctypes.c_int64 * 2)(number, 0)
    assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(address)(ctypes.addressof(block)) == 0
    return block[1]


def test_a_symbol_stands_for_a_function_its_code_and_its_arguments():
    symbol = name_symbol(double, INTEGER)
    assert symbol.startswith("sumwise_double_")
    assert symbol == name_symbol(double, INTEGER)
    others = [name_symbol(double, NUMBER), name_symbol(triple, INTEGER)]
    edited = lambda x: 2 * x + 1  # noqa: E731 - a function of the same name
    edited.__name__, edited.__qualname__ = double.__name__, double.__qualname__
    others.append(name_symbol(edited, INTEGER))
    assert len({symbol, *others}) == 4


def test_a_symbol_depends_on_the_sources(monkeypatch):
    symbol = name_symbol(double, INTEGER)
    monkeypatch.setattr(cache, "hash_sources", lambda module, file: "edited")
    assert name_symbol(double, INTEGER) != symbol


def test_a_kernel_is_compiled_once_and_then_read_from_the_cache(compilations):
    address, result = find_entry(double, INTEGER)
    assert (call(address, 21), result) == (42, "q")
    symbol = name_symbol(double, INTEGER)
    again = make_object(double, INTEGER, symbol, False)
    assert symbol.encode() in again
    assert (symbol + RESULT).encode() in again
    assert compilations == ["double"]


def test_a_verb_has_an_address(compilations):
    assert machine_code.find_verb(triple, INTEGER) > 0
    assert compilations == ["triple"]


def test_the_library_comes_first(compilations, monkeypatch):
    text = ctypes.create_string_buffer(b"qq")
    symbol = name_symbol(double, INTEGER)
    places = {symbol: 1234, symbol + RESULT: ctypes.addressof(text)}
    monkeypatch.setattr(library, "has_symbol", lambda name: name == symbol)
    monkeypatch.setattr(library, "find_address", places.__getitem__)
    monkeypatch.setattr(loading, "load", lambda code: pytest.fail("nothing is to be loaded"))
    assert find_entry(double, INTEGER) == (1234, "qq")
    assert compilations == []


def test_without_numba_an_error_says_what_to_install(compilations, monkeypatch):
    monkeypatch.setattr(machine_code, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"double is not in .* pip install 'sumwise\[compile\]'"):
        find_entry(double, INTEGER)
    assert compilations == []
