"""Trees in the model file: what is kept, and what is refused. See test_native.py for boosting."""

import dataclasses
import hashlib
import json
import pickle
import struct
import subprocess
import sys
from copy import copy

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from sklearn.datasets import make_classification

import sumwise
from sumwise import (
    DecisionTreeClassifier,
    GradientBoostingRegressor,
    Pasting,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sumwise.errors import ModelFileError
from sumwise.export.container import open_file, pack_file, read_arrays
from sumwise.export.native import dump_model, parse_model
from sumwise.export.trees import _FOREST, FOREST_ARRAYS, FOREST_FORMAT

GENERATOR = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "color": pd.Categorical(GENERATOR.choice(["red", "green", "blue"], 60)),
        "size": GENERATOR.normal(size=60),
    }
)
Y = GENERATOR.integers(0, 3, 60)
MODEL = RandomForestClassifier(3, random_state=0, resampling=Pasting(0.7)).fit(X, Y)
DATA = dump_model(MODEL.forest_, {"some": "thing"})


def open_parts():
    file = open_file(DATA, FOREST_FORMAT)
    return dict(file.header), read_arrays(file, FOREST_ARRAYS)


def read(header, arrays):
    return parse_model(pack_file(FOREST_FORMAT, header, arrays))[0]


def test_a_forest_is_read_as_it_was_written():
    forest, about = parse_model(DATA)
    assert dump_model(forest, about) == DATA
    for name in _FOREST:
        assert np.array_equal(getattr(forest, name), getattr(MODEL.forest_, name))
        assert getattr(forest, name).dtype == getattr(MODEL.forest_, name).dtype
    bins, expected = forest.mapper.categories[0], MODEL.forest_.mapper.categories[0]
    assert np.array_equal(bins.bin_of_code, expected.bin_of_code)
    assert np.array_equal(bins.code_of_bin, expected.code_of_bin)


def test_the_header_tells_what_is_inside():
    assert struct.unpack("<8sII", DATA[:16]) == (b"SUMWISE\0", 3, 0)
    length = struct.unpack("<Q", DATA[16:24])[0]
    header = json.loads(DATA[24 : 24 + length])
    assert header["model"] == "forest"
    assert header["n_features"] == 2
    assert header["n_columns"] == 3


def test_parameters_and_parts_are_kept(tmp_path):
    MODEL.save(tmp_path / "model")
    again = sumwise.load(tmp_path / "model")
    assert again.get_params() == MODEL.get_params()
    assert again.resampling == Pasting(0.7)
    assert list(again.feature_names_in_) == ["color", "size"]
    assert np.array_equal(again.predict_proba(X), MODEL.predict_proba(X))
    assert np.array_equal(again.feature_importances_, MODEL.feature_importances_)


def test_out_of_bag_scores_are_kept(tmp_path):
    model = RandomForestClassifier(40, oob_score=True, random_state=0).fit(X, Y)
    model.save(tmp_path / "model")
    assert sumwise.load(tmp_path / "model").oob_score_ == model.oob_score_
    model.oob_score_ = np.nan
    model.save(tmp_path / "model")
    assert np.isnan(sumwise.load(tmp_path / "model").oob_score_)


@pytest.mark.parametrize("labels", [["one"], ["one", "two"], [False, True], [1, 2, 3]])
def test_classes_are_kept(labels, tmp_path):
    y = np.array(labels)[Y % len(labels)]
    model = DecisionTreeClassifier().fit(X, y)
    model.save(tmp_path / "model")
    again = sumwise.load(tmp_path / "model")
    assert np.array_equal(again.classes_, model.classes_)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_several_targets_are_kept(tmp_path):
    model = RandomForestRegressor(2).fit(X, np.column_stack([Y, -Y, Y]))
    model.save(tmp_path / "model")
    assert np.array_equal(sumwise.load(tmp_path / "model").predict(X), model.predict(X))


def test_a_file_is_less_than_half_of_what_scikit_learn_pickles(tmp_path):
    rows, y = make_classification(3000, 10, random_state=0)
    ours = RandomForestClassifier(50, random_state=0).fit(rows, y)
    theirs = sklearn.ensemble.RandomForestClassifier(50, random_state=0).fit(rows, y)
    ours.save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < 0.5 * len(pickle.dumps(theirs))


# --- what is refused ---


def change(name, place, value):
    def apply(header, arrays):
        arrays[name][place] = value

    return apply


def replace(name, value):
    def apply(header, arrays):
        arrays[name] = value(arrays[name])

    return apply


def set_header(name, value):
    def apply(header, arrays):
        header[name] = value

    return apply


HOSTILE = {
    "child outside": change("left", 0, 10**6),
    "child of itself": change("left", 0, 0),
    "child before": change("left", 1, 0),
    "negative child": change("left", 0, -5),
    "leaf with a child": change("left", -1, 1),
    "feature outside": change("feature", 0, 2),
    "negative feature": change("feature", 0, -7),
    "start not zero": change("start", 0, 1),
    "start falls": change("start", 1, 10**6),
    "last start wrong": change("start", -1, 1),
    "no trees": replace("start", lambda a: a[:1]),
    "one node less": replace("split_bin", lambda a: a[:-1]),
    "one value less": replace("value", lambda a: a[:-1]),
    "one set less": replace("sets", lambda a: a[:-4]),
    "half a set": replace("sets", lambda a: a[:-1]),
    "missing nowhere": change("missing_left", 0, 2),
    "value not a number": change("value", 0, np.nan),
    "value infinite": change("value", 0, np.inf),
    "threshold not a number": change("thresholds", 3, np.nan),
    "thresholds fall": replace("thresholds", lambda a: a[::-1].copy()),
    "too many thresholds": change("n_thresholds", 0, 300),
    "negative thresholds": change("n_thresholds", 0, -1),
    "one threshold less": replace("thresholds", lambda a: a[:-1]),
    "category outside": change("category", 0, 2),
    "negative category": change("category", 0, -1),
    "category with thresholds": change("category", 0, 1),
    "more kept than there are": change("n_categories", 0, 1),
    "negative number of categories": change("n_categories", 0, -1),
    "far too many categories": change("n_categories", 0, 2**30),
    "kept outside": change("kept", -1, 77),
    "kept twice": change("kept", 0, 1),
    "negative kept": change("kept", 0, -1),
    "no categories": replace("category", lambda a: a[:0]),
    "no columns": set_header("n_columns", 0),
    "more columns": set_header("n_columns", 4),
    "columns true": set_header("n_columns", True),
    "more features": set_header("n_features", 3),
    "features a string": set_header("n_features", "2"),
}


@pytest.mark.parametrize("attack", HOSTILE.values(), ids=HOSTILE)
def test_hostile_arrays_are_refused(attack):
    header, arrays = open_parts()
    attack(header, arrays)
    with pytest.raises(ModelFileError):
        read(header, arrays)


def test_a_split_after_no_bin_is_refused():
    header, arrays = open_parts()
    numeric = np.flatnonzero(arrays["feature"] == 1)[0]
    for wrong in (0, 200):
        arrays["split_bin"][numeric] = wrong
        with pytest.raises(ModelFileError, match="bin that is not there"):
            read(header, arrays)


def test_nodes_with_two_parents_are_refused():
    """Five nodes, two of them leaves: values of leaves of later trees would not be there."""
    header, arrays = open_parts()
    first = {
        "feature": [1, 1, 1, -1, -1],
        "left": [1, 3, 3, -1, -1],
        "split_bin": [1, 1, 1, 0, 0],
    }
    by_node = ("feature", "split_bin", "missing_left", "left", "gain", "weight", "n_rows")
    for name in by_node:
        arrays[name] = np.zeros(6, dtype=arrays[name].dtype)
    for name, values in first.items():
        arrays[name][:5] = values
    arrays["feature"][5] = arrays["left"][5] = -1
    arrays["start"], arrays["sets"] = np.array([0, 5, 6]), arrays["sets"][:0]
    arrays["value"] = arrays["value"][: 3 * header["n_columns"]]
    with pytest.raises(ModelFileError, match="not the child of exactly one"):
        read(header, arrays)


@pytest.mark.parametrize("kind", ["short", "flipped"])
def test_damaged_files_are_refused(kind, tmp_path):
    MODEL.save(tmp_path / "model")
    data = bytearray((tmp_path / "model").read_bytes())
    if kind == "short":
        data = data[:-9]
    else:
        data[len(data) // 2] ^= 1
    (tmp_path / "model").write_bytes(data)
    with pytest.raises(ModelFileError, match="damaged or truncated"):
        sumwise.load(tmp_path / "model")


def change_about(path, change):
    """Write a file again whose description has been changed."""
    file = open_file(path.read_bytes(), FOREST_FORMAT)
    header = dict(file.header)
    change(header["about"])
    path.write_bytes(pack_file(FOREST_FORMAT, header, read_arrays(file, FOREST_ARRAYS)))


@pytest.mark.parametrize(
    "attack",
    [
        lambda about: about.update(estimator="GradientBoostingClassifier"),
        lambda about: about.update(estimator="RandomForestRegressor"),
        lambda about: about.update(estimator="BaseForest"),
        lambda about: about["fitted"].pop("classes_"),
        lambda about: about["fitted"].update(forest_=1),
        lambda about: about["fitted"]["classes_"]["items"].pop(),
        lambda about: about["fitted"]["schema_"]["0"]["values"]["strings"].pop(),
        lambda about: about["fitted"]["schema_"].pop("0"),
        lambda about: about["fitted"].update(n_features_in_=3),
        lambda about: about["fitted"].update(oob_score_=[]),
        lambda about: about["params"].update(nonsense=1),
        lambda about: about["params"].update(resampling={"part": "Columns", "params": {"x": 1}}),
    ],
)
def test_descriptions_that_do_not_fit_are_refused(attack, tmp_path):
    path = tmp_path / "model"
    MODEL.save(path)
    change_about(path, attack)
    with pytest.raises(ModelFileError):
        sumwise.load(path)


def test_a_forest_that_could_not_be_loaded_is_not_written(tmp_path):
    value = MODEL.forest_.value.copy()
    value[-1] = np.inf
    model = copy(MODEL)
    model.forest_ = dataclasses.replace(MODEL.forest_, value=value)
    with pytest.raises(ModelFileError, match=r"not saved.* is not a number"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_trees_of_boosting_are_no_forest(tmp_path):
    path = tmp_path / "model"
    GradientBoostingRegressor(n_estimators=2).fit(X, Y).save(path)
    data = path.read_bytes().replace(b'"GradientBoostingRegressor"', b'"RandomForestRegressor"    ')
    path.write_bytes(data[:-32] + hashlib.sha256(data[:-32]).digest())
    with pytest.raises(ModelFileError, match="TreeEnsemble in a RandomForestRegressor"):
        sumwise.load(path)


def test_classes_load_before_forests_are_imported(tmp_path):
    MODEL.save(tmp_path / "model")
    code = f"import sumwise; print(type(sumwise.load({str(tmp_path / 'model')!r})).__name__)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "RandomForestClassifier\n"
