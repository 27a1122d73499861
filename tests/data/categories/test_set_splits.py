"""The parameters of native splits."""

import pytest

from sumwise import Native
from sumwise.errors import ParameterError


def test_defaults_are_sound():
    Native().check()
    Native(smoothing=0, l2=0.0, max_categories=1, min_rows=0, onehot_limit=0).check()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("smoothing", -1.0),
        ("smoothing", "10"),
        ("smoothing", float("nan")),
        ("l2", float("inf")),
        ("l2", True),
        ("max_categories", 0),
        ("max_categories", 2.5),
        ("min_rows", -1),
        ("onehot_limit", None),
    ],
)
def test_bad_parameters_are_refused(name, value):
    with pytest.raises(ParameterError, match=rf"Native\({name}="):
        Native(**{name: value}).check()
