"""Attributes that are computed, and modules that are imported, when first asked for."""

import os
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from sumwise.lazy import defer_import, import_on_use, late_function, lazy


class Slow:
    """Counts how often its attribute is computed, and can be made to wait for it."""

    def __init__(self, go_on=None):
        self.count = 0
        self.begun, self.go_on = threading.Event(), go_on

    @lazy
    def answer(self):
        """The answer."""
        self.count += 1
        self.begun.set()
        if self.go_on is not None:
            assert self.go_on.wait(60)
        return 42


class Plain:
    @lazy
    def answer(self):
        return [42]


def test_computed_once_and_kept():
    slow = Slow()
    assert [slow.answer, slow.answer, slow.count] == [42, 42, 1]
    assert Slow.answer.__doc__ == "The answer."
    plain = Plain()
    plain.answer.append(1)
    assert pickle.loads(pickle.dumps(plain)).answer == [42, 1]
    del plain.answer
    assert plain.answer == [42]


def test_objects_do_not_wait_for_each_other():
    go_on = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        slow = Slow(go_on)
        waiting = pool.submit(lambda: slow.answer)
        assert slow.begun.wait(60)
        assert Slow().answer == 42
        go_on.set()
        assert waiting.result(60) == 42


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_waits_for_nobody():
    """While a thread of the parent computes, which the child does not have."""
    go_on = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        slow = Slow(go_on)
        waiting = pool.submit(lambda: slow.answer)
        assert slow.begun.wait(60)
        child = os.fork()
        if child == 0:
            threading.Timer(60, os._exit, [1]).start()  # a child that hangs is a failure
            os._exit(0 if Slow().answer == 42 else 1)
        _, status = os.waitpid(child, 0)
        go_on.set()
        assert waiting.result(60) == 42
    assert status == 0


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a submodule; nothing of it is imported yet."""
    folder = tmp_path / "slow_package"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "part.py").write_text("answer = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "slow_package"
    for name in ("slow_package.part", "slow_package"):
        sys.modules.pop(name, None)


def test_names_are_imported_when_asked_for(package):
    module = __import__(package)
    module.__getattr__ = import_on_use(package, {"answer": f"{package}.part"})
    assert f"{package}.part" not in sys.modules
    assert module.answer == 42
    assert vars(module)["answer"] == 42  # kept
    with pytest.raises(AttributeError, match="module 'slow_package' has no attribute 'question'"):
        module.question  # noqa: B018


def test_a_deferred_import_imports_the_parent_alone(package):
    part = f"{package}.part"
    with defer_import(part):
        assert __import__(part) is sys.modules[package]
        assert not hasattr(sys.modules[package], "part")
    assert part not in sys.modules
    with defer_import("sys"):  # it is there already
        assert sys.modules["sys"] is sys
    assert __import__(part).part.answer == 42


def test_a_deferred_module_that_is_used_is_imported(package):
    part = f"{package}.part"
    with defer_import(part):
        __import__(part)
        stand_in = sys.modules[part]
        assert stand_in.answer == 42  # as another thread might ask
        found = sys.modules[part]
        assert found is not stand_in
        assert stand_in.answer == found.answer
    assert sys.modules[part] is found


def test_an_error_leaves_no_deferred_module(package):
    with pytest.raises(ModuleNotFoundError), defer_import(f"{package}.part"):
        __import__(f"{package}.other")
    assert f"{package}.part" not in sys.modules


def test_a_late_function_imports_when_it_is_called(monkeypatch):
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)

    class Color:
        to_hls = late_function("colorsys", "rgb_to_hls")
        convert = staticmethod(to_hls)

    assert "colorsys" not in sys.modules
    assert Color.convert(1.0, 1.0, 1.0) == (0.0, 1.0, 0.0)
    with pytest.raises(TypeError, match="rgb_to_hls"):
        Color().to_hls()  # as a method, it gets the object
