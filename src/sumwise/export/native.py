"""The native model file: a JSON header and plain arrays. No pickle, nothing that can run.

==================  ======================================================================
bytes               content (all numbers little-endian)
==================  ======================================================================
0 .. 7              ``SUMWISE`` and a zero byte
8 .. 11             format version, uint32
12 .. 15            zero
16 .. 23            length of the header in bytes, uint64
24 ..               header: JSON in UTF-8, keys sorted; its entry ``arrays`` lists name,
                    dtype and length of each array, in the order of the file
then                the arrays, each starting at a multiple of 8 bytes
last 32             SHA-256 of everything before
==================  ======================================================================

Nothing in the file depends on threads, verbosity or time. ``trees.py`` describes the arrays of
trees. From format 3 on, the header may have ``"model": "linear"``: then the arrays are those of
:class:`sumwise.tree.LinearEnsemble`, and ``n_rounds`` is the number of rounds in them.

From format 3 on, further arrays may follow the arrays of boosting, from format 6 on also those of
forests: sizes of the groups of encoded
categorical features, keys of combinations, and sums of targets and of weights per category; see
:class:`sumwise.data.categories.encoder.CategoryEncoder`.

From format 5 on, further arrays may follow those of any model: the points of calibration curves
(number per curve, then x and y), and conformal scores by row (ascending in each output), their
weights (none if all are equal) and classes (of a classifier). The entries ``calibration`` and
``conformal`` of the description say the rest; see ``sumwise.estimators.calibrated``.

From format 6 on, the header may have ``"model": "members"``: then the file holds the files of
several models; see ``members.py``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from sumwise.errors import ModelFileError
from sumwise.export.container import (
    ArrayGroup,
    OpenedFile,
    check_n_features,
    open_file,
    pack_file,
    read_arrays,
    read_n_features,
    read_number,
)
from sumwise.export.files import Source, Target, name_source, read_bytes, write_bytes
from sumwise.export.members import MEMBERS_ARRAYS, MEMBERS_FORMAT, MemberFiles, read_members
from sumwise.export.trees import (
    ENSEMBLE_ARRAYS,
    FOREST_ARRAYS,
    VECTOR_ARRAYS,
    Content,
    convert_arrays,
    fits_link,
    pack_trees,
    read_ensemble,
    read_forest,
    read_link,
    read_vectors,
)
from sumwise.tree import LinearEnsemble, Model
from sumwise.tree.forest import BinnedForest

FORMAT_VERSION = MEMBERS_FORMAT
LINEAR_FORMAT, _ENCODING_FORMAT, _CALIBRATION_FORMAT, _FOREST_ENCODING_FORMAT = 3, 3, 5, 6
# The first format whose header names the kind of model.
_KINDS_FORMAT = 3
_LINEAR = {"coefficient": "<f8", "intercept": "<f8", "base_score": "<f8"}
_LINEAR_ARRAYS = (ArrayGroup(_LINEAR, since=LINEAR_FORMAT),)
# Further arrays of a model that encodes categories by statistics.
_ENCODING = ArrayGroup(
    {
        "group_size": "<i8",
        "group_keys": "<i8",
        "category_sums": "<f8",
        "category_counts": "<f8",
    },
    since=_ENCODING_FORMAT,
    is_optional=True,
)
_FOREST_ENCODING = _ENCODING._replace(since=_FOREST_ENCODING_FORMAT)
# Further arrays of a model that learned from rows unseen by its trees.
_CURVES = ArrayGroup(
    {"curve_size": "<i4", "curve_x": "<f8", "curve_y": "<f8"},
    since=_CALIBRATION_FORMAT,
    is_optional=True,
)
_CONFORMAL = ArrayGroup(
    {"conformal_score": "<f8", "conformal_weight": "<f8", "conformal_class": "<i4"},
    since=_CALIBRATION_FORMAT,
    is_optional=True,
)
_FURTHER = (_ENCODING, _CURVES, _CONFORMAL)
# Entries of a description that older formats do not have.
_CALIBRATION_ENTRIES = ("calibration", "conformal")


def write_model(target: Target, model: Model, about: dict[str, Any]) -> None:
    """Write a model and its description; an old file stays until the new one is complete."""
    write_bytes(target, dump_model(model, about))


def dump_model(model: Model, about: dict[str, Any]) -> bytes:
    """Return the bytes of a model file.

    ``about`` is ready for JSON, except for its entry ``"arrays"``: the arrays of an encoding, of
    calibration curves and of conformal scores.
    """
    try:
        data = _pack_model(model, about)
        check_n_features(model.n_features, len(data))
    except ModelFileError as error:
        raise ModelFileError(f"not saved, because it could not be loaded again: {error}") from None
    return data


def _pack_model(model: Model, about: dict[str, Any]) -> bytes:
    if isinstance(model, LinearEnsemble):
        version, own, arrays = _pack_linear(model)
    else:
        version, own, arrays = pack_trees(model)
    further = about.get("arrays", {})
    for group in _FURTHER:
        if any(name in further for name in group.types):
            if group is _ENCODING and isinstance(model, BinnedForest):
                group = _FOREST_ENCODING
            version = max(version, group.since)
            arrays = arrays | convert_arrays(further, group.types)
    if any(name in about for name in _CALIBRATION_ENTRIES):
        version = max(version, _CALIBRATION_FORMAT)
    description = {name: value for name, value in about.items() if name != "arrays"}
    header = {**own, "about": description, "n_features": model.n_features}
    return pack_file(version, header, arrays)


def read_model(source: Source) -> tuple[Model, dict[str, Any]]:
    """Read a model file; raise ModelFileError for anything that is not a sound one."""
    with name_source(source):
        return parse_model(read_bytes(source))


def parse_model(data: bytes | bytearray | memoryview) -> tuple[Model, dict[str, Any]]:
    """Return what :func:`dump_model` was given."""
    model, about = parse_file(data)
    if isinstance(model, MemberFiles):
        raise ModelFileError("the file holds an ensemble of several models")
    return model, about


def parse_file(
    data: bytes | bytearray | memoryview,
) -> tuple[Model | MemberFiles, dict[str, Any]]:
    """Return a model, or the files of the members of an ensemble, and its description."""
    file = open_file(data, FORMAT_VERSION)
    kind = file.header.get("model") if file.version >= _KINDS_FORMAT else None
    groups, read = _READERS[kind if isinstance(kind, str) and kind in _READERS else None]
    arrays = read_arrays(file, groups)
    names = [name for group in _FURTHER for name in group.types]
    further = {name: arrays.pop(name) for name in names if name in arrays}
    return read(file, arrays), file.header["about"] | ({"arrays": further} if further else {})


def _pack_linear(model: LinearEnsemble) -> Content:
    _check_linear(model)
    header = {"model": "linear", "n_rounds": model.n_rounds, "link": model.link}
    return Content(LINEAR_FORMAT, header, convert_arrays(vars(model), _LINEAR))


def _read_linear(file: OpenedFile, arrays: dict[str, np.ndarray]) -> LinearEnsemble:
    n_features, link = read_n_features(file), read_link(file)
    n_rounds = read_number(file, "n_rounds", "the number of rounds")
    n_outputs = arrays["base_score"].size
    sound = arrays["coefficient"].size == n_rounds * n_outputs * n_features
    sound = sound and arrays["intercept"].size == n_rounds * n_outputs
    if not sound:
        raise ModelFileError("the arrays do not fit together")
    model = LinearEnsemble(
        coefficient=arrays["coefficient"].reshape(n_rounds, n_outputs, n_features),
        intercept=arrays["intercept"].reshape(n_rounds, n_outputs),
        base_score=arrays["base_score"],
        link=link,
    )
    _check_linear(model)
    return model


def _check_linear(model: LinearEnsemble) -> None:
    if not fits_link(model.n_outputs, model.link):
        raise ModelFileError("the arrays do not fit together")
    numbers = model.coefficient, model.intercept, model.base_score
    if not all(np.isfinite(array).all() for array in numbers):
        raise ModelFileError("a coefficient, intercept or base score is not a number")


# Arrays of each kind of model, and how it is read; None stands for trees of boosting.
_READERS: dict[str | None, tuple[tuple[ArrayGroup, ...], Callable[..., Model | MemberFiles]]] = {
    None: ((*ENSEMBLE_ARRAYS, *_FURTHER), read_ensemble),
    "linear": ((*_LINEAR_ARRAYS, *_FURTHER), _read_linear),
    "forest": ((*FOREST_ARRAYS, _FOREST_ENCODING, *_FURTHER[1:]), read_forest),
    "vectors": (VECTOR_ARRAYS, read_vectors),
    "members": (MEMBERS_ARRAYS, read_members),
}
