"""Which library of compiled kernels is loaded."""

import pytest

from sumwise.kernels.runtime import library


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """Libraries of two levels, on a CPU that has both features."""
    features = {"WIDE", "NARROW"}
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    levels = {library.name_architecture(): {"best": "WIDE", "plain": "NARROW"}}
    monkeypatch.setattr(library, "LEVELS", levels)
    monkeypatch.setattr(library, "_has_feature", lambda name: name in features)
    for name in ("SUMWISE_KERNELS", "NUMBA_CPU_NAME"):
        monkeypatch.delenv(name, raising=False)
    for level in ("best", "plain"):
        library.path_of(level).touch()
    return features


def test_the_best_level_that_is_there_and_that_the_cpu_has(installed):
    assert library.choose_level() == "best"
    library.path_of("best").unlink()
    assert library.choose_level() == "plain"
    library.path_of("best").touch()
    installed.discard("WIDE")
    assert library.choose_level() == "plain"
    installed.clear()
    assert library.choose_level() is None


def test_the_user_chooses(installed, monkeypatch):
    monkeypatch.setenv("SUMWISE_KERNELS", "plain")
    assert library.choose_level() == "plain"
    monkeypatch.setenv("SUMWISE_KERNELS", "compiled")
    assert library.choose_level() is None
    monkeypatch.setenv("SUMWISE_KERNELS", "auto")
    assert library.choose_level() == "best"
    monkeypatch.setenv("NUMBA_CPU_NAME", "haswell")  # kernels for that CPU are compiled
    assert library.choose_level() is None


def test_what_cannot_be_chosen_is_an_error(installed, monkeypatch):
    monkeypatch.setenv("SUMWISE_KERNELS", "typo")
    with pytest.raises(ValueError, match="typo: must be one of auto, compiled, best, plain"):
        library.choose_level()
    monkeypatch.setenv("SUMWISE_KERNELS", "best")
    library.path_of("best").unlink()
    with pytest.raises(ValueError, match="this installation has no compiled kernels"):
        library.choose_level()
    installed.discard("WIDE")
    with pytest.raises(ValueError, match="this CPU has no WIDE"):
        library.choose_level()


def test_numpy_knows_the_features_of_this_cpu():
    assert not library._has_feature("no such feature")
