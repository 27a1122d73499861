import numpy as np
import pytest

from sumwise.cli.reading.values import read_texts


@pytest.mark.parametrize(
    ("texts", "kind", "expected"),
    [
        (["1", "-2", "007"], "i", [1, -2, 7]),
        (["1", "2.5", "-1e3", ".5", "inf"], "f", [1, 2.5, -1000, 0.5, np.inf]),
        (["true", "FALSE"], "b", [True, False]),
        (["1", "x"], "O", ["1", "x"]),
        (["1_000", "2"], "O", ["1_000", "2"]),
        (["0x10", "2"], "O", ["0x10", "2"]),
        (["99999999999999999999", "1"], "f", [1e20, 1]),
        (["2026-02-31"], "O", ["2026-02-31"]),
    ],
)
def test_the_narrowest_type_that_holds_all_texts(texts, kind, expected):
    found = read_texts(texts)
    assert found.dtype.kind == kind
    assert found.tolist() == expected


def test_gaps_make_floats_of_integers_and_objects_of_booleans():
    np.testing.assert_array_equal(read_texts(["1", None, "3"]), [1.0, np.nan, 3.0])
    assert read_texts(["true", None]).tolist() == [True, None]
    assert read_texts(["a", None]).tolist() == ["a", None]
    assert np.isnan(read_texts([None, None])).all()


def test_iso_dates_are_dates():
    found = read_texts(["2026-01-31", "2026-02-01T12:30Z", None, "2026-02-01 12:30:01.5"])
    assert found.dtype == "datetime64[us]"
    assert str(found[3]) == "2026-02-01T12:30:01.500000"
    assert np.isnat(found[2])


def test_text_stays_text_where_it_must():
    assert read_texts(["1", "2", None], as_text=True).tolist() == ["1", "2", None]
