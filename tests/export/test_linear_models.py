"""Linear models in files: written, read, and refused if hostile."""

import numpy as np
import pytest

from sumwise.errors import ModelFileError
from sumwise.export.native import (
    LINEAR_FORMAT,
    dump_model,
    parse_model,
)
from sumwise.kernels.runtime.threads import Team
from tests.export.test_native import ABOUT, LINEAR, join_parts, read_parts


def test_linear_models_go_to_the_file_and_back():
    data = dump_model(LINEAR, ABOUT)
    header, arrays = read_parts(data, LINEAR_FORMAT)
    assert (header["model"], header["n_rounds"], header["n_features"]) == ("linear", 2, 2)
    assert list(arrays) == ["coefficient", "intercept", "base_score"]
    again, about = parse_model(data)
    assert about == ABOUT
    assert again.link == "softmax"
    for name in arrays:
        assert np.array_equal(getattr(again, name), getattr(LINEAR, name))
    with Team(1) as team:
        raw = again.predict_raw(np.array([[1.0, np.nan], [0.0, 1.0]]), team)
    last = LINEAR.base_score + LINEAR.intercept[1]
    assert raw.tolist() == [
        (last + LINEAR.coefficient[1, :, 0]).tolist(),
        (last + LINEAR.coefficient[1, :, 1]).tolist(),
    ]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"n_rounds": 3}, "do not fit together"),
        ({"n_rounds": 0}, "number of rounds"),
        ({"n_rounds": None}, "number of rounds"),
        ({"n_rounds": True}, "number of rounds"),
        ({"n_features": 3}, "do not fit together"),
        ({"link": "logistic"}, "do not fit together"),
        ({"model": "cubic"}, "does not describe the arrays"),
    ],
)
def test_hostile_linear_models_are_refused(entry, message):
    header, arrays = read_parts(dump_model(LINEAR, ABOUT), LINEAR_FORMAT)
    with pytest.raises(ModelFileError, match=message):
        parse_model(join_parts({**header, **entry}, arrays, LINEAR_FORMAT))


@pytest.mark.parametrize("name", ["coefficient", "intercept", "base_score"])
def test_linear_models_that_are_not_finite_are_refused(name):
    header, arrays = read_parts(dump_model(LINEAR, ABOUT), LINEAR_FORMAT)
    arrays[name][0] = np.nan
    with pytest.raises(ModelFileError, match="is not a number"):
        parse_model(join_parts(header, arrays, LINEAR_FORMAT))
