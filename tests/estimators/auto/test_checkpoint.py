"""Checkpoints: what is finished is kept, other data is refused, files are complete or absent."""

import json
import os
import warnings

import numpy as np
import pytest

from sumwise.errors import DataError
from sumwise.estimators.auto.checkpoint import Checkpoint, take_fingerprint
from sumwise.estimators.auto.fold_fits import FoldFit
from sumwise.estimators.auto.portfolio import BY_NAME
from tests.estimators.auto.samples import make_classes, make_frame, make_terms, read

LEAF, LINEAR = BY_NAME["leaf_quick"], BY_NAME["linear"]
FIT = FoldFit("a model", np.arange(3.0), 1.5, 7, was_cut=False)


def test_finished_fits_are_found_again(tmp_path):
    folder = tmp_path / "new" / "folder"
    first = Checkpoint(folder)
    first.open("abc", 3)
    first.store(LEAF, 2, FIT)
    again = Checkpoint(str(folder))
    again.open("abc", 3)
    found = again.load(LEAF, 2)
    assert (found.model, found.n_rounds) == ("a model", 7)
    np.testing.assert_array_equal(found.output, FIT.output)
    assert again.load(LEAF, 1) is None
    assert again.load(LINEAR, 2) is None


def test_without_a_folder_nothing_is_kept():
    nothing = Checkpoint(None)
    nothing.open("abc", 3)
    nothing.store(LEAF, 0, FIT)
    assert nothing.load(LEAF, 0) is None
    assert nothing.find_seed(5) == 5


def test_a_fit_that_was_cut_short_is_not_kept(tmp_path):
    point = Checkpoint(tmp_path / "fits")
    point.open("abc", 3)
    point.store(LEAF, 0, FoldFit("half a model", np.arange(3.0), 1.5, 7, was_cut=True))
    assert point.load(LEAF, 0) is None


def test_the_seed_is_that_of_the_first_fit(tmp_path):
    Checkpoint(tmp_path / "fits").open("abc", 3)
    assert Checkpoint(tmp_path / "fits").find_seed(99) == 3


@pytest.mark.parametrize(("fingerprint", "seed"), [("other", 3), ("abc", 4)])
def test_another_fit_is_refused(tmp_path, fingerprint, seed):
    Checkpoint(tmp_path / "fits").open("abc", 3)
    with pytest.raises(DataError, match="belongs to a fit of other data"):
        Checkpoint(tmp_path / "fits").open(fingerprint, seed)


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(DataError, match=r"has files and no fit\.json"):
        Checkpoint(tmp_path).find_seed(0)


@pytest.mark.parametrize("text", ["{", "[]", json.dumps({"version": 99, "seed": 0})])
def test_a_description_of_another_version_is_refused(tmp_path, text):
    (tmp_path / "fit.json").write_text(text)
    with pytest.raises(DataError, match="not a description"):
        Checkpoint(tmp_path).open("abc", 0)


def test_a_file_that_cannot_be_read_is_ignored_with_a_warning(tmp_path):
    point = Checkpoint(tmp_path / "fits")
    point.open("abc", 3)
    point.store(LEAF, 0, FIT)
    (path,) = (tmp_path / "fits").glob("leaf_quick*")
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.warns(UserWarning, match="cannot be read"):
        assert point.load(LEAF, 0) is None


def test_a_kill_while_writing_leaves_no_file(tmp_path, monkeypatch):
    point = Checkpoint(tmp_path / "fits")
    point.open("abc", 3)

    def kill(*names):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", kill)
    with pytest.raises(KeyboardInterrupt):
        point.store(LEAF, 0, FIT)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert point.load(LEAF, 0) is None
    assert [path.name for path in (tmp_path / "fits").iterdir()] == ["fit.json"]


def test_the_fingerprint_is_that_of_the_data_and_folds():
    def take(X, y, loss="auto", seed=0, **options):
        terms = make_terms(read(X, y, **options), seed=seed)
        return take_fingerprint(terms.data, terms.folds, loss)

    frame, y = make_frame()
    known = take(frame, y)
    assert known == take(frame.copy(), y.tolist())
    changed = frame.copy()
    changed.loc[5, "a"] += 1.0
    weight = np.arange(1.0, 121.0)
    others = [
        take(changed, y),
        take(frame, -y),
        take(frame, y, loss="absolute_error"),
        take(frame, y, seed=1),
        take(frame, y, sample_weight=weight),
        take(frame[["a", "b"]], y),
        take(frame, y, groups=np.arange(120) // 3),
        take(*make_classes(), is_class=True),
    ]
    assert len({known, *others}) == 1 + len(others)
