"""The native model file: what it holds, how it is written, and what is refused."""

import hashlib
import json
import os
import re
import struct
from dataclasses import replace

import numpy as np
import pytest

from sumwise.errors import ModelFileError
from sumwise.export.native import (
    FORMAT_VERSION,
    dump_model,
    parse_model,
    read_model,
    write_model,
)
from sumwise.export.trees import TREE_FORMAT
from sumwise.kernels.runtime.threads import Team
from sumwise.tree import LinearEnsemble, TreeEnsemble

BY_TREE = {"start": "<i8", "output": "<i4"}
BY_NODE = {
    "feature": "<i4",
    "threshold": "<f8",
    "missing_left": "|u1",
    "left": "<i4",
    "value": "<f8",
    "gain": "<f8",
    "n_rows": "<i8",
    "weight": "<f8",
}
SETS = {"set_node": "<i4", "set_size": "<i4", "set_categories": "<i4"}
ARRAYS = {**BY_TREE, **BY_NODE, "base_score": "<f8", **SETS}
ABOUT = {"estimator": "Example", "note": "café"}


def make_ensemble():
    """Two trees: a split of feature 1 whose left child is split by a set of feature 0; a leaf."""
    return TreeEnsemble(
        start=np.array([0, 5, 6], dtype=np.int64),
        feature=np.array([1, 0, -1, -1, -1, -1], dtype=np.int32),
        threshold=np.array([0.5, 0, 0, 0, 0, 0]),
        missing_left=np.array([1, 0, 0, 0, 0, 0], dtype=np.uint8),
        left=np.array([1, 3, -1, -1, -1, -1], dtype=np.int32),
        value=np.array([0.1, 0.2, -1.5, 2.5, -0.25, 0.125]),
        gain=np.array([9.0, 4.0, 0, 0, 0, 0]),
        n_rows=np.array([10, 7, 3, 4, 3, 10], dtype=np.int64),
        weight=np.array([10.0, 7, 3, 4, 3, 10]),
        base_score=np.array([0.3]),
        link="identity",
        n_features=2,
        set_node=np.array([1], dtype=np.int32),
        set_size=np.array([2], dtype=np.int32),
        set_categories=np.array([0, 7], dtype=np.int32),
    )


ENSEMBLE = make_ensemble()
# What the file has, and the ensemble has in another form.
NUMBERED = {"start": np.array([0, 5])}
DATA = dump_model(ENSEMBLE, ABOUT)


def in_file(name):
    return NUMBERED.get(name, getattr(ENSEMBLE, name))


def read_parts(data, expected=TREE_FORMAT):
    """Read a file by its documentation alone."""
    magic, version, zero, length = struct.unpack("<8sIIQ", data[:24])
    assert (magic, version, zero) == (b"SUMWISE\0", expected, 0)
    header = json.loads(data[24 : 24 + length].decode("utf-8"))
    arrays, place = {}, 24 + length
    for entry in header["arrays"]:
        place = (place + 7) // 8 * 8
        array = np.frombuffer(data, entry["dtype"], entry["length"], place)
        arrays[entry["name"]] = array.copy()
        place += array.nbytes
    assert place == len(data) - 32
    return header, arrays


def join_parts(header, arrays, version=TREE_FORMAT):
    """Write a file with a right checksum, whatever the parts are."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    data = struct.pack("<8sIIQ", b"SUMWISE\0", version, 0, len(text)) + text
    for array in arrays.values():
        data += b"\0" * (-len(data) % 8) + array.tobytes()
    return seal(data)


def seal(data):
    return data + hashlib.sha256(data).digest()


# What the file holds


def test_the_file_is_as_documented():
    header, arrays = read_parts(DATA)
    assert header == {
        "about": ABOUT,
        "arrays": [
            {"name": name, "dtype": dtype, "length": in_file(name).size}
            for name, dtype in ARRAYS.items()
        ],
        "link": "identity",
        "n_features": 2,
    }
    for name, array in arrays.items():
        assert np.array_equal(array, in_file(name))
    assert DATA[-32:] == hashlib.sha256(DATA[:-32]).digest()


def test_keys_of_the_header_are_sorted():
    text = DATA[24 : 24 + int.from_bytes(DATA[16:24], "little")]
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":")).encode()
    shuffled = dict(reversed(ABOUT.items()))
    assert dump_model(ENSEMBLE, shuffled) == DATA


def test_parse_gives_back_what_was_dumped():
    ensemble, about = parse_model(DATA)
    assert about == ABOUT
    assert (ensemble.link, ensemble.n_features) == ("identity", 2)
    for name in ARRAYS:
        array, expected = getattr(ensemble, name), getattr(ENSEMBLE, name)
        assert array.dtype == expected.dtype
        assert array.dtype.isnative
        assert array.flags.aligned
        assert np.array_equal(array, expected)
    assert dump_model(ensemble, about) == DATA


def test_a_parsed_ensemble_predicts():
    ensemble, _ = parse_model(DATA)
    X = np.array([[7.0, 0.0], [np.nan, np.nan], [0.0, 1.0]])
    with Team(1) as team:
        raw = ensemble.predict_raw(X, team)
    expected = [[0.3 + 2.5 + 0.125], [0.3 - 0.25 + 0.125], [0.3 - 1.5 + 0.125]]
    assert raw.tolist() == expected


@pytest.mark.parametrize("name", ["value", "threshold", "base_score"])
def test_a_model_that_could_not_be_loaded_is_not_written(name, tmp_path):
    bad = getattr(ENSEMBLE, name).copy()
    bad[0] = np.nan
    path = tmp_path / "model"
    path.write_bytes(DATA)
    with pytest.raises(ModelFileError, match=r"not saved.* is not a number"):
        write_model(path, replace(ENSEMBLE, **{name: bad}), ABOUT)
    assert path.read_bytes() == DATA


def test_a_linear_model_that_could_not_be_loaded_is_not_written():
    with pytest.raises(ModelFileError, match=r"not saved.* is not a number"):
        dump_model(replace(LINEAR, intercept=LINEAR.intercept + np.inf), ABOUT)


def test_so_many_features_are_read_and_no_more():
    """Wide matrices without names have small files; what no computer could train is refused."""
    header, arrays = read_parts(DATA)
    header["n_features"] = 1 << 26
    assert parse_model(join_parts(header, arrays))[0].n_features == 1 << 26
    header["n_features"] += 1
    with pytest.raises(ModelFileError, match="too many for a file of"):
        parse_model(join_parts(header, arrays))
    with pytest.raises(ModelFileError, match=r"not saved.*too many"):
        dump_model(replace(ENSEMBLE, n_features=header["n_features"]), ABOUT)


def test_not_a_number_is_never_written_to_the_header():
    with pytest.raises(ValueError, match="JSON compliant"):
        dump_model(ENSEMBLE, {"number": float("nan")})


# Writing


def test_write_and_read(tmp_path):
    for path in (tmp_path / "model", str(tmp_path / "other.sumwise")):
        write_model(path, ENSEMBLE, ABOUT)
        assert read_model(path)[1] == ABOUT
    assert sorted(os.listdir(tmp_path)) == ["model", "other.sumwise"]


def test_a_new_file_takes_the_place_of_an_old_one(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"something longer than the new file" * 1000)
    write_model(path, ENSEMBLE, ABOUT)
    assert path.read_bytes() == DATA


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=repr)
def test_a_failing_write_leaves_the_old_file(tmp_path, monkeypatch, step, error):
    def fail(*args):
        raise error

    path = tmp_path / "model"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(error)):
        write_model(path, ENSEMBLE, ABOUT)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model"]


def test_nothing_is_written_of_what_cannot_be_described(tmp_path):
    with pytest.raises(TypeError):
        write_model(tmp_path / "model", ENSEMBLE, {"function": print})
    assert os.listdir(tmp_path) == []


def test_a_missing_folder_is_named(tmp_path):
    path = tmp_path / "no_such_folder" / "model.sumwise"
    with pytest.raises(FileNotFoundError, match="no_such_folder") as caught:
        write_model(path, ENSEMBLE, ABOUT)
    # The name of a temporary file would only confuse.
    assert not re.search("[0-9a-f]{32}", str(caught.value))


def test_a_folder_is_no_file(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_model(tmp_path / "folder", ENSEMBLE, ABOUT)
    assert os.listdir(tmp_path) == ["folder"]


def test_a_name_as_long_as_the_file_system_takes(tmp_path):
    path = tmp_path / ("m" * 255)
    try:
        path.touch()
    except OSError:
        pytest.skip("the file system takes no names this long")
    write_model(path, ENSEMBLE, ABOUT)
    assert path.read_bytes() == DATA


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_model(tmp_path / "nowhere")


# Damage


def test_errors_name_the_file(tmp_path):
    path = tmp_path / "broken.sumwise"
    path.write_bytes(DATA[:-1])
    with pytest.raises(ModelFileError, match=r"broken\.sumwise: .*damaged or truncated"):
        read_model(path)


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_every_flipped_byte_is_noticed(mask):
    for place in range(len(DATA)):
        damaged = bytearray(DATA)
        damaged[place] ^= mask
        with pytest.raises(ModelFileError):
            parse_model(bytes(damaged))


def test_every_truncation_is_noticed():
    for length in range(len(DATA)):
        with pytest.raises(ModelFileError):
            parse_model(DATA[:length])


@pytest.mark.parametrize("tail", [b"\0", b"\0" * 32, DATA])
def test_bytes_after_the_end_are_noticed(tail):
    with pytest.raises(ModelFileError, match="checksum"):
        parse_model(DATA + tail)


@pytest.mark.parametrize(
    "data",
    [b"", b"S", b"SUMWISE", b"sumwise\0" + DATA[8:], b"PK\x03\x04" + DATA, b"\x80\x04]\x94." * 99],
    ids=["empty", "one byte", "short", "lower case", "zip", "pickle"],
)
def test_files_of_another_kind(data):
    with pytest.raises(ModelFileError, match="not a sumwise model file"):
        parse_model(data)


@pytest.mark.parametrize("version", [FORMAT_VERSION + 1, 2**32 - 1])
def test_a_newer_format_says_what_to_do(version):
    data = join_parts(*read_parts(DATA), version=version)
    with pytest.raises(ModelFileError, match=rf"format {version}, .* install a newer sumwise"):
        parse_model(data)


def test_format_zero_does_not_exist():
    with pytest.raises(ModelFileError, match="format 0"):
        parse_model(join_parts(*read_parts(DATA), version=0))


# Files made with ill intent: the checksum is right, the content is not


def set_item(name, index, value):
    def change(header, arrays):
        arrays[name][index] = value

    return change


def set_entry(array, **changes):
    def change(header, arrays):
        entry = next(entry for entry in header["arrays"] if entry["name"] == array)
        entry.update(changes)

    return change


def set_header(**changes):
    def change(header, arrays):
        header.update(changes)

    return change


def drop_from(*names):
    def change(header, arrays):
        for name in names:
            arrays[name] = arrays[name][:-1]
            set_entry(name, length=arrays[name].size)(header, arrays)

    return change


def resize(name, length):
    def change(header, arrays):
        arrays[name] = np.resize(arrays[name], length)
        set_entry(name, length=length)(header, arrays)

    return change


def reorder_arrays(header, arrays):
    header["arrays"].reverse()


def repeat_array(header, arrays):
    header["arrays"].append(header["arrays"][0])


def remove_array(header, arrays):
    del header["arrays"][3]


def remove_key(key):
    def change(header, arrays):
        del header[key]

    return change


def store_objects(header, arrays):
    """Claim an array of object pointers; reading one would follow an address in the file."""
    set_entry("value", dtype="|O")(header, arrays)
    arrays["value"] = np.full(6, 0x41414141, dtype="<i8")


HOSTILE = {
    # nodes
    "child beyond the last node": set_item("left", 0, 6),
    "right child beyond the last node": set_item("left", 1, 5),
    "child in the next tree": set_item("left", 1, 4),
    "child is the node itself": set_item("left", 1, 1),
    "child is the root": set_item("left", 1, 0),
    "largest child": set_item("left", 0, 2**31 - 1),
    "smallest child": set_item("left", 0, -(2**31)),
    "no child of a split": set_item("left", 0, -1),
    "child of a leaf": set_item("left", 2, 3),
    "child of two nodes": set_item("left", 1, 2),
    "feature that is not there": set_item("feature", 0, 2),
    "largest feature": set_item("feature", 0, 2**31 - 1),
    "feature below -1": set_item("feature", 0, -2),
    "smallest feature": set_item("feature", 2, -(2**31)),
    "threshold not a number": set_item("threshold", 0, np.nan),
    "value not a number": set_item("value", 3, np.nan),
    "value infinite": set_item("value", 3, -np.inf),
    "base score not a number": set_item("base_score", 0, np.nan),
    "base score infinite": set_item("base_score", 0, np.inf),
    # trees
    "first tree not at the first node": set_item("start", 0, 1),
    "tree before the first node": set_item("start", 1, -1),
    "tree without nodes": set_item("start", 1, 0),
    "tree beyond the last node": set_item("start", 1, 6),
    "tree far beyond": set_item("start", 1, 2**63 - 1),
    "tree far before": set_item("start", 1, -(2**63)),
    "output that is not there": set_item("output", 0, 1),
    "output below zero": set_item("output", 0, -1),
    # sets
    "set of a leaf": set_item("set_node", 0, 2),
    "set of a node before the first": set_item("set_node", 0, -1),
    "set of a node that is not there": set_item("set_node", 0, 6),
    "set of the largest node": set_item("set_node", 0, 2**31 - 1),
    "set too large": set_item("set_size", 0, 3),
    "set too small": set_item("set_size", 0, 1),
    "set of negative size": set_item("set_size", 0, -2),
    "category twice": set_item("set_categories", 0, 7),
    "categories in another order": set_item("set_categories", 1, -1),
    "category below zero": set_item("set_categories", 0, -1),
    "category that fills the memory": set_item("set_categories", 1, 2**31 - 1),
    "two sets of a node": lambda header, arrays: [
        resize(name, 2 * arrays[name].size)(header, arrays) for name in SETS
    ],
    # lengths
    **{f"{name} too short": drop_from(name) for name in ARRAYS},
    "all nodes too short": drop_from(*BY_NODE),
    "no trees": lambda header, arrays: [resize(name, 0)(header, arrays) for name in ARRAYS],
    "two outputs": resize("base_score", 2),
    "more outputs than trees": resize("base_score", 3),
    "huge length": set_entry("value", length=2**62),
    "length beyond 64 bits": set_entry("value", length=2**70),
    "negative length": set_entry("value", length=-1),
    "fractional length": set_entry("value", length=6.0),
    "length a string": set_entry("value", length="6"),
    "length missing": set_entry("value", length=None),
    "length a list": set_entry("value", length=[6]),
    # types
    "objects": store_objects,
    "half the precision": set_entry("value", dtype="<f4"),
    "other byte order": set_entry("value", dtype=">f8"),
    "records": set_entry("value", dtype=[["a", "<f8"]]),
    "text": set_entry("value", dtype="<U2"),
    "type missing": set_entry("value", dtype=None),
    # header
    "arrays in another order": reorder_arrays,
    "array twice": repeat_array,
    "array missing": remove_array,
    "array of another name": set_entry("value", name="values"),
    "name a list": set_entry("value", name=["value"]),
    "arrays a number": set_header(arrays=7),
    "arrays a string": set_header(arrays="value"),
    "arrays of numbers": set_header(arrays=[1, 2]),
    "arrays empty": set_header(arrays=[]),
    "about a list": set_header(about=[]),
    "about missing": remove_key("about"),
    "link unknown": set_header(link="eval"),
    "link a list": set_header(link=["identity"]),
    "link a number": set_header(link=3),
    "link missing": remove_key("link"),
    "link of many outputs": set_header(link="softmax"),
    "no features": set_header(n_features=0),
    "negative features": set_header(n_features=-2),
    "fractional features": set_header(n_features=2.0),
    "features a string": set_header(n_features="2"),
    "features true": set_header(n_features=True),
    "features missing": remove_key("n_features"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_content_is_refused(name):
    header, arrays = read_parts(DATA)
    HOSTILE[name](header, arrays)
    with pytest.raises(ModelFileError):
        parse_model(join_parts(header, arrays))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[]",
        b"3",
        b'"about"',
        b"{",
        b'{"about": {}, }',
        b"{'about': {}}",
        b"\xff\xfe{}",
        b"\0" * 50,
        b"[" * 200_000,
        b'{"about":' * 50_000 + b"1" + b"}" * 50_000,
        b'{"n_features": ' + b"9" * 10_000 + b"}",
    ],
    ids=lambda text: f"{len(text)} bytes {text[:9]!r}",
)
def test_hostile_headers_are_refused(text):
    with pytest.raises(ModelFileError, match="header"):
        parse_model(join_parts(text, read_parts(DATA)[1]))


@pytest.mark.parametrize("length", [0, 1, len(DATA) - 24 - 32, len(DATA), 2**32, 2**64 - 1])
def test_hostile_header_lengths_are_refused(length):
    data = DATA[:16] + struct.pack("<Q", length) + DATA[24:-32]
    with pytest.raises(ModelFileError):
        parse_model(seal(data))


def test_any_content_is_refused_or_can_be_walked():
    """Change random bytes of the arrays: what is accepted must predict and end."""
    rng = np.random.default_rng(0)
    n_header = 24 + int.from_bytes(DATA[16:24], "little")
    X = np.array([[0.0, 0.0], [np.nan, np.nan], [np.inf, -np.inf], [1e300, 1.0]])
    n_accepted = 0
    with Team(1) as team:
        for _ in range(1000):
            data = bytearray(DATA[:-32])
            places = rng.integers(n_header, len(data), size=rng.integers(1, 4))
            for place in places:
                data[place] = rng.choice([0, 1, 2, 5, 0x7F, 0x80, 0xF0, 0xFF])
            try:
                ensemble, _ = parse_model(seal(bytes(data)))
            except ModelFileError:
                continue
            n_accepted += 1
            splits = np.flatnonzero(ensemble.feature >= 0)
            # Otherwise the walk might never end.
            assert np.all(ensemble.find_children()[splits] > splits)
            assert not np.isnan(ensemble.predict_raw(X, team)).any()
            leaves = ensemble.apply(X, team)
            assert np.all(ensemble.feature[ensemble.start[:-1] + leaves] == -1)
    assert 100 < n_accepted < 900


def test_sets_go_to_the_file_and_back():
    again, _ = parse_model(dump_model(ENSEMBLE, ABOUT))
    assert again.set_categories.tolist() == [0, 7]
    X = np.array([[0.0, 0.0], [7.0, 0.0], [3.0, 0.0], [np.nan, 0.0], [0.5, 0.0], [99.0, 0.0]])
    with Team(1) as team:
        assert again.apply(X, team)[:, 0].tolist() == [3, 3, 4, 4, 4, 4]


def test_models_without_sets_have_empty_arrays():
    empty = {name: np.empty(0, dtype=np.int32) for name in SETS}
    arrays = read_parts(dump_model(replace(ENSEMBLE, **empty), ABOUT))[1]
    assert [arrays[name].size for name in SETS] == [0, 0, 0]


def test_format_1_has_no_sets_of_categories():
    header, arrays = read_parts(DATA)
    with pytest.raises(ModelFileError, match="does not describe the arrays"):
        parse_model(join_parts(header, arrays, version=1))


# Other boosters


def test_rounds_of_other_boosters():
    """The header tells of them; older versions read such files, and predict the same."""
    assert not {"stages", "trees_per_round"} & read_parts(DATA)[0].keys()
    for stages, trees_per_round in (("mean", 2), ("rescaled", 1)):
        ensemble = replace(ENSEMBLE, stages=stages, trees_per_round=trees_per_round)
        again, _ = parse_model(dump_model(ensemble, ABOUT))
        assert (again.stages, again.trees_per_round) == (stages, trees_per_round)
        assert again.n_rounds == 2 // trees_per_round


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"stages": "product"}, "unknown stages 'product'"),
        ({"stages": ["sum"]}, "unknown stages"),
        ({"trees_per_round": 0}, "trees per round"),
        ({"trees_per_round": True}, "trees per round"),
        ({"trees_per_round": 1.0}, "trees per round"),
        ({"trees_per_round": 3}, "do not fit together"),
        ({"model": "linear", "n_rounds": 1}, None),  # no such thing in this format
    ],
)
def test_hostile_rounds_are_refused(entry, message):
    header, arrays = read_parts(DATA)
    data = join_parts({**header, **entry}, arrays)
    if message is None:
        assert parse_model(data)[0].n_trees == 2
        return
    with pytest.raises(ModelFileError, match=message):
        parse_model(data)


LINEAR = LinearEnsemble(
    coefficient=np.arange(12.0).reshape(2, 3, 2),
    intercept=np.arange(6.0).reshape(2, 3),
    base_score=np.array([0.5, 0.25, 0.125]),
    link="softmax",
)
