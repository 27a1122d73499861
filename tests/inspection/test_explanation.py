"""Explanation: shapes, selections, sums, names, other forms."""

import numpy as np
import pandas as pd
import pytest
import shap

from sumwise.errors import DataError, ParameterError
from sumwise.inspection import Explanation
from sumwise.inspection.explanation import read_numbers, show_value

RNG = np.random.default_rng(0)
NAMES = ("age", "size", "city")


def make(n_rows=6, n_outputs=0, interactions=False, scale="prediction"):
    outputs = (n_outputs,) if n_outputs else ()
    pairs = RNG.normal(size=(n_rows, 3, 3, *outputs)) if interactions else None
    data = np.empty((n_rows, 3), dtype=object)
    data[:, :2] = RNG.normal(size=(n_rows, 2)).round(3)
    data[:, 2] = RNG.choice(["Bern", "Chur"], n_rows)
    return Explanation(
        RNG.normal(size=(n_rows, 3, *outputs)) if pairs is None else pairs.sum(axis=2),
        np.full((n_rows, *outputs), 0.5),
        data,
        NAMES,
        tuple(f"class {k}" for k in range(n_outputs)) or None,
        pairs,
        scale,
    )


def test_the_outputs_are_sums():
    one, many = make(), make(n_outputs=4)
    np.testing.assert_allclose(one.outputs, 0.5 + one.values.sum(axis=1))
    np.testing.assert_allclose(many.outputs, 0.5 + many.values.sum(axis=1))
    np.testing.assert_allclose(many[2].outputs, many.outputs[2])
    np.testing.assert_allclose(one[:, "age"].outputs, 0.5 + one.values[:, 0])
    np.testing.assert_allclose(one.importances, np.abs(one.values).mean(axis=0))
    np.testing.assert_allclose(one[1].importances, np.abs(one.values[1]))


@pytest.mark.parametrize(
    "key",
    [
        0,
        -1,
        slice(1, 4),
        [0, 2],
        np.array([True, False, True, True, False, False]),
        (slice(None), 1),
        (slice(None), [0, 2]),
        (Ellipsis, 1),
        (2, Ellipsis, 0),
        (slice(None), slice(0, 2), 3),
        (1, 2, 3),
    ],
    ids=str,
)
def test_selections_are_those_of_shap(key):
    explanation = make(n_outputs=4)
    ours, theirs = explanation[key], explanation.to_shap()[key]
    np.testing.assert_array_equal(ours.values, theirs.values)
    np.testing.assert_array_equal(ours.base_values, theirs.base_values)
    np.testing.assert_array_equal(ours.data, theirs.display_data)


def test_selections_keep_what_belongs_together():
    explanation = make(n_outputs=2, interactions=True)
    part = explanation[[4, 1], ["city", "age"]]
    np.testing.assert_array_equal(part.values, explanation.values[[4, 1]][:, [2, 0]])
    np.testing.assert_array_equal(part.data, explanation.data[[4, 1]][:, [2, 0]])
    np.testing.assert_array_equal(
        part.interactions, explanation.interactions[[4, 1]][:, [2, 0]][:, :, [2, 0]]
    )
    assert part.feature_names == ("city", "age")
    assert part.output_names == ("class 0", "class 1")
    one = explanation[..., "class 1"]
    assert one.output_names == "class 1"
    np.testing.assert_array_equal(one.values, explanation.values[:, :, 1])
    np.testing.assert_array_equal(one.interactions, explanation.interactions[..., 1])
    np.testing.assert_array_equal(one[3].values, explanation[3][:, "class 1"].values)
    city = explanation[:, "city"]
    assert city.feature_names == "city"
    assert city.interactions is None
    assert city.scale == explanation.scale


@pytest.mark.parametrize(
    ("key", "error"),
    [("tall", KeyError), ((0, "tall"), KeyError), ((0, 0, 0), IndexError), (9, IndexError)],
)
def test_wrong_selections(key, error):
    with pytest.raises(error):
        make()[key]


def test_sums_and_products():
    a, b = make(interactions=True), make(interactions=True)
    mean = 0.25 * a + b * 0.75
    np.testing.assert_allclose(mean.outputs, 0.25 * a.outputs + 0.75 * b.outputs)
    np.testing.assert_allclose(mean.interactions.sum(axis=2), mean.values)
    np.testing.assert_allclose((a - b).values, a.values - b.values)
    np.testing.assert_allclose((-a / 2).base_values, -a.base_values / 2)
    np.testing.assert_allclose(sum([a, b]).values, a.values + b.values)
    weights = np.array([0.25, 0.75])
    np.testing.assert_array_equal((weights[0] * a + weights[1] * b).values, mean.values)
    assert (a + make()).interactions is None
    assert (a + b).scale == "prediction"
    assert (a + make(scale="log odds")).scale == ""
    with pytest.raises(TypeError):
        a * b
    with pytest.raises(TypeError):
        a + 1
    with pytest.raises(ParameterError, match="cannot be added"):
        a + make(n_rows=2)
    with pytest.raises(ParameterError, match="cannot be added"):
        a + make(n_outputs=3)


def test_shapes_must_fit():
    with pytest.raises(DataError, match="do not fit"):
        Explanation(np.zeros((2, 3)), np.zeros(2), np.zeros((2, 2)), ("a", "b"))
    with pytest.raises(DataError, match="do not fit"):
        Explanation(np.zeros((2, 2, 3)), np.zeros(2), np.zeros((2, 2)), ("a", "b"))


def test_the_summary_names_the_largest_contributions():
    values = np.array([[1.0, -2.0, 0.5]] * 2)
    data = np.array([[30.0, np.nan, "Bern"]] * 2, dtype=object)
    explanation = Explanation(values, np.ones(2), data, NAMES, "yes", None, "log odds")
    text = repr(explanation).splitlines()
    assert text[0] == "<Explanation of the log odds: 2 rows, 3 features>"
    assert text[2] == "  size: 2"
    row = repr(explanation[0])
    assert "base value: +1" in row
    assert "size = missing: -2" in row
    assert "city = Bern: +0.5" in row
    many = Explanation(np.zeros((1, 9)), np.zeros(1), np.zeros((1, 9)), tuple("abcdefghi"))
    assert repr(many).endswith("and 4 more")
    assert "3 outputs" in repr(make(n_outputs=3))
    assert "one feature" in repr(make()[:, "age"])


def test_frames_and_dicts():
    explanation = make()
    frame = explanation.to_frame()
    assert list(frame.columns) == ["base value", *NAMES]
    np.testing.assert_array_equal(frame["city"], explanation.values[:, 2])
    many = make(n_outputs=2)
    frame = many.to_frame()
    np.testing.assert_array_equal(frame["class 1", "age"], many.values[:, 0, 1])
    assert explanation[0].to_dict()["size"] == explanation.values[0, 1]
    assert explanation[:, "size"].to_dict()["size"].shape == (6,)
    assert explanation[0].to_frame().shape == (1, 4)


def test_numbers_of_what_people_see():
    days = pd.to_datetime(["1970-01-02", "1970-01-01", None]).to_numpy()
    np.testing.assert_array_equal(read_numbers(days), [86400, 0, np.nan])
    np.testing.assert_array_equal(
        read_numbers(np.array(list(days), dtype=object)), [86400, 0, np.nan]
    )
    np.testing.assert_array_equal(read_numbers(days - days[1]), [86400, 0, np.nan])
    strings = np.array(["b", None, "a", "b"], dtype=object)
    np.testing.assert_array_equal(read_numbers(strings), [1, np.nan, 0, 1])
    np.testing.assert_array_equal(read_numbers(np.array([True, 2.5], dtype=object)), [1, 2.5])
    np.testing.assert_array_equal(read_numbers(np.array([None, None])), [np.nan, np.nan])
    assert make().to_numbers().shape == (6, 3)
    assert make()[0].to_numbers().shape == (3,)
    assert make()[:, "city"].to_numbers().shape == (6,)
    assert make()[0, "city"].to_numbers().shape == ()


def test_values_as_text():
    assert show_value(1.23456) == "1.235"
    assert show_value(7) == "7"
    assert [show_value(x) for x in (-117.05, 2019.0, 123456.7)] == ["-117.05", "2019", "123456.7"]
    assert [show_value(x) for x in (1e20, np.inf, -0.0)] == ["1e+20", "inf", "-0"]
    assert show_value("Bern") == "Bern"
    assert show_value(pd.NA) == show_value(np.nan) == show_value(np.datetime64("NaT")) == "missing"
    assert show_value(np.datetime64("2020-03-01T00:00:00", "ns")) == "2020-03-01"
    assert show_value(np.timedelta64(26 * 60 + 30, "m")) == "1 day, 2:30:00"


def test_large_contributions_are_written_in_full():
    shown = repr((make() * 1e5)[0])
    assert "e+0" not in shown
    assert "," in shown
    assert "1 row," in repr(make()[:1])
    assert repr(make()[:0]).count("\n") == 0


def test_a_summary_names_some_outputs():
    assert repr(make(n_outputs=2)).endswith("outputs: class 0, class 1")
    assert repr(make(n_outputs=9)).endswith("class 3, class 4, ...")


def test_an_array_of_it_has_the_values():
    explanation = make()
    np.testing.assert_array_equal(np.asarray(explanation), explanation.values)
    copied = np.array(explanation, dtype=np.float32)
    assert copied.dtype == np.float32
    assert copied.shape == explanation.shape


def test_a_frame_may_have_the_index_of_the_rows():
    labels = list("abcdef")
    assert make().to_frame(labels).index.tolist() == labels
    assert make(n_outputs=2).to_frame(index=labels).index.tolist() == labels


def test_no_feature_hides_the_base_values():
    clash = Explanation(np.ones((1, 1)), np.ones(1), np.ones((1, 1)), ("base value",))
    with pytest.raises(DataError, match="rename it"):
        clash.to_frame()


# --- shap ---


def test_an_object_of_shap():
    explanation = make(n_outputs=2)
    theirs = explanation.to_shap()
    np.testing.assert_array_equal(theirs.values, explanation.values)
    np.testing.assert_array_equal(theirs.base_values, explanation.base_values)
    assert list(theirs.feature_names) == list(NAMES)
    assert list(theirs.output_names) == ["class 0", "class 1"]
    assert theirs.data.dtype == np.float64
    assert theirs.display_data[0, 2] in ("Bern", "Chur")


PLOTS = ["waterfall", "waterfall of theirs", "beeswarm", "bar", "scatter", "force"]


@pytest.mark.parametrize("plot", PLOTS)
def test_plots_of_shap_draw_explanations(plot):
    import matplotlib
    from matplotlib import pyplot

    matplotlib.use("Agg")
    whole = make(n_rows=30)
    drawn = {
        "waterfall": whole[0],
        "waterfall of theirs": whole,
        "beeswarm": whole,
        "bar": whole,
        "scatter": whole[:, "city"],
        "force": whole[0],
    }[plot].to_shap()
    options = {"matplotlib": True} if plot == "force" else {}
    if plot == "waterfall of theirs":
        plot, drawn = "waterfall", drawn[0]
    getattr(shap.plots, plot)(drawn, show=False, **options)
    assert pyplot.gcf().axes
    pyplot.close("all")
