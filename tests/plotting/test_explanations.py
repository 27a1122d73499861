"""Pictures of explanations show the numbers that they are given."""

import io
from itertools import pairwise

import numpy as np
import pytest

from sumwise.errors import ParameterError
from sumwise.inspection import Explanation
from sumwise.plotting import plot_beeswarm, plot_dependence, plot_global_bars, plot_waterfall

RNG = np.random.default_rng(0)
N_ROWS = 50


def make(n_features=4, n_outputs=0):
    outputs = (n_outputs,) if n_outputs else ()
    data = np.empty((N_ROWS, n_features), dtype=object)
    data[:] = RNG.normal(size=data.shape)
    data[:, 1] = RNG.choice(["Bern", "Chur", "Thun"], N_ROWS)
    data[::5, 2] = np.nan
    scale = np.arange(1, n_features + 1).reshape(1, -1, *[1] * len(outputs))
    names = ["age", "city", "size", *(f"x{k}" for k in range(3, n_features))]
    return Explanation(
        scale * RNG.normal(size=(N_ROWS, n_features, *outputs)),
        np.full((N_ROWS, *outputs), 2.0),
        data,
        tuple(names),
        tuple("abcdefghij"[:n_outputs]) or None,
        None,
        "log odds",
    )


def get_labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def save(ax):
    ax.figure.savefig(io.BytesIO(), dpi=20)
    return ax


# --- waterfall ---


def test_a_waterfall_goes_from_the_base_value_to_the_score():
    explanation = make()
    ax = save(plot_waterfall(explanation, 7))
    bars = ax.patches
    widths = [bar.get_width() for bar in bars]
    order = np.argsort(-np.abs(explanation.values[7]))
    np.testing.assert_allclose(widths, explanation.values[7][order])
    assert bars[-1].get_x() == 2.0
    assert bars[0].get_x() + bars[0].get_width() == pytest.approx(explanation.outputs[7])
    for bar, below in pairwise(bars):
        assert bar.get_x() == pytest.approx(below.get_x() + below.get_width())
    colors = {bool(bar.get_width() > 0): bar.get_facecolor() for bar in bars}
    assert colors[True] != colors[False]
    assert ax.get_xlabel() == "log odds"
    assert f"city = {explanation.data[7, 1]}" in get_labels(ax)
    low, high = ax.get_xlim()
    assert low < min(b.get_x() + min(b.get_width(), 0) for b in bars)
    assert high > max(b.get_x() + max(b.get_width(), 0) for b in bars)


def test_other_features_are_one_bar():
    explanation = make(20)
    ax = plot_waterfall(explanation, max_features=3)
    assert len(ax.patches) == 4
    assert get_labels(ax)[-1] == "17 other features"
    total = sum(bar.get_width() for bar in ax.patches)
    assert total == pytest.approx(explanation.values[0].sum())
    assert len(plot_waterfall(explanation, max_features=19).patches) == 20  # one is not "others"


def test_a_waterfall_of_a_selected_row_and_output():
    explanation = make(n_outputs=3)
    ax = plot_waterfall(explanation[4][:, "b"])
    other = plot_waterfall(explanation, 4, output="b")
    widths = [[bar.get_width() for bar in each.patches] for each in (ax, other)]
    assert widths[0] == widths[1]
    assert ax.get_xlabel() == "log odds of 'b'"
    assert plot_waterfall(explanation, 4, output=1).get_xlabel() == "log odds of 'b'"


def test_numbers_are_written_in_full():
    values = np.array([[1042.4, -0.012345, -1e12]])
    data = np.zeros((1, 3))
    ax = plot_waterfall(Explanation(values, np.zeros(1), data, ("a", "b", "c")))
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["-1e+12", "+1,042", "-0.0123"]


def test_contributions_of_zero():
    empty = Explanation(np.zeros((1, 2)), np.zeros(1), np.zeros((1, 2)), ("a", "b"))
    save(plot_waterfall(empty))
    save(plot_beeswarm(empty))
    save(plot_dependence(empty, "a"))
    save(plot_global_bars(empty))


# --- beeswarm ---


def test_a_beeswarm_has_a_point_for_each_row():
    explanation = make()
    ax = save(plot_beeswarm(explanation))
    assert get_labels(ax)[0] == "x3"
    points = np.concatenate([np.asarray(c.get_offsets()) for c in ax.collections])
    assert len(points) == 4 * N_ROWS
    rows = np.round(points[:, 1]).astype(int)
    place = get_labels(ax).index("city")
    np.testing.assert_allclose(np.sort(points[rows == place, 0]), np.sort(explanation.values[:, 1]))
    assert np.abs(points[:, 1] - rows).max() <= 0.42


def test_missing_values_and_categories_are_gray():
    ax = plot_beeswarm(make())
    gray = [c for c in ax.collections if c.get_array() is None and len(c.get_offsets())]
    counts = sorted(len(c.get_offsets()) for c in gray)
    assert counts == [N_ROWS // 5, N_ROWS]


def test_other_features_are_one_swarm():
    explanation = make(20)
    ax = plot_beeswarm(explanation, max_features=5)
    assert get_labels(ax)[-1] == "15 other features"
    last = np.asarray(ax.collections[-1].get_offsets())[:, 0]
    chosen = np.argsort(-explanation.importances)[5:]
    np.testing.assert_allclose(np.sort(last), np.sort(explanation.values[:, chosen].sum(axis=1)))


def test_a_picture_without_colors_has_no_color_bar():
    explanation = make()[:, ["city", "city"]]
    assert len(save(plot_beeswarm(explanation)).figure.axes) == 1
    assert len(plot_beeswarm(make()).figure.axes) == 2


# --- dependence ---


def test_dependence_on_a_number():
    explanation = make()
    ax = save(plot_dependence(explanation, "age", color_by="x3"))
    (points,) = [c for c in ax.collections if len(c.get_offsets())]
    offsets = np.asarray(points.get_offsets())
    np.testing.assert_allclose(offsets[:, 0], explanation.data[:, 0].astype(float))
    np.testing.assert_allclose(offsets[:, 1], explanation.values[:, 0])
    assert ax.figure.axes[1].get_ylabel() == "x3"


def test_dependence_on_a_number_that_may_be_missing():
    explanation = make()
    ax = save(plot_dependence(explanation, "size", color_by=None))
    assert "missing" in [text.get_text() for text in ax.texts]
    offsets = np.asarray(ax.collections[0].get_offsets())
    is_missing = np.arange(N_ROWS) % 5 == 0
    assert offsets[is_missing, 0].max() < offsets[~is_missing, 0].min()
    assert min(ax.get_xticks()) > offsets[is_missing, 0].max()


def test_dependence_on_a_category():
    explanation = make()
    ax = save(plot_dependence(explanation, "city", color_by="age"))
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert labels == ["Bern", "Chur", "Thun"]
    offsets = np.asarray(ax.collections[-1].get_offsets())
    np.testing.assert_array_equal(
        np.array(labels)[np.round(offsets[:, 0]).astype(int)], explanation.data[:, 1]
    )


def test_colors_by_category_have_a_legend():
    ax = save(plot_dependence(make(), "age", color_by="city"))
    legend = ax.get_legend()
    assert legend.get_title().get_text() == "city"
    assert [text.get_text() for text in legend.get_texts()] == ["Bern", "Chur", "Thun"]
    explanation = make()
    explanation.data[:, 1] = [f"city {k % 12}" for k in range(N_ROWS)]
    legend = plot_dependence(explanation, "age", color_by="city").get_legend()
    assert [text.get_text() for text in legend.get_texts()][-1] == "other"
    assert len(legend.get_texts()) == 7


def test_many_categories_have_some_names():
    explanation = make()
    explanation.data[:, 1] = [f"a long name of city {k}" for k in range(N_ROWS)]
    ax = save(plot_dependence(explanation, "city"))
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert len(labels) == 25
    assert max(map(len, labels)) == 16


def test_dependence_on_dates_and_infinite_numbers():
    explanation = make()
    explanation.data[:, 0] = list(np.datetime64("2020-01-01", "s") + np.arange(N_ROWS) * 86400)
    ax = save(plot_dependence(explanation, "age", color_by=None))
    offsets = np.asarray(ax.collections[0].get_offsets())
    assert np.ptp(offsets[:, 0]) == N_ROWS - 1
    explanation.data[:3, 3] = np.inf, -np.inf, np.inf
    offsets = np.asarray(
        save(plot_dependence(explanation, "x3", color_by="age")).collections[-1].get_offsets()
    )
    assert np.isfinite(offsets).all()
    save(plot_dependence(explanation, "age", color_by="x3"))
    save(plot_beeswarm(explanation))


# --- bars ---


def test_dates_color_points_as_dates_and_booleans_lie_side_by_side():
    explanation = make()
    days = np.datetime64("2020-01-01") + np.arange(N_ROWS)
    explanation.data[:, 2] = list(days.astype("datetime64[us]"))
    explanation.data[::7, 2] = np.datetime64("NaT")
    explanation.data[:, 3] = list(np.arange(N_ROWS) % 2 == 0)
    ax = save(plot_dependence(explanation, "x3", color_by="size"))
    assert [label.get_text() for label in ax.get_xticklabels()] == ["False", "True"]
    shown = [label.get_text() for label in ax.figure.axes[-1].get_yticklabels()]
    assert any("Feb" in text for text in shown)
    ax = save(plot_dependence(explanation, "size"))
    first = (days[1] - np.datetime64(0, "D")).astype(float)
    assert min(ax.get_xticks()) > first - 5  # none where missing values are


def test_durations_are_drawn_in_seconds():
    explanation = make()
    explanation.data[:, 2] = list(np.arange(N_ROWS).astype("timedelta64[m]"))
    ax = save(plot_dependence(explanation, "size", color_by=None))
    assert ax.get_xlabel() == "size (seconds)"
    assert ax.collections[0].get_offsets()[-1, 0] == 60 * (N_ROWS - 1)


def test_many_outputs_are_named_beside_the_bars():
    few, many = (save(plot_global_bars(make(n_outputs=n))) for n in (3, 9))
    ends = []
    for ax in (few, many):
        legend = ax.get_legend().get_window_extent()
        ends.append(legend.x0 >= ax.get_window_extent().x1)
    assert ends == [False, True]


def test_bars_of_one_output():
    explanation = make()
    ax = save(plot_global_bars(explanation))
    order = np.argsort(-explanation.importances)
    np.testing.assert_allclose([b.get_width() for b in ax.patches], explanation.importances[order])
    assert get_labels(ax) == [explanation.feature_names[k] for k in order]
    assert ax.get_legend() is None


def test_bars_of_several_outputs_are_stacked():
    explanation = make(12, 3)
    ax = save(plot_global_bars(explanation, max_features=4))
    assert get_labels(ax)[-1] == "8 other features"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    ends = np.array([b.get_x() + b.get_width() for b in ax.patches]).reshape(3, 5)[-1]
    totals = explanation.importances.sum(axis=1)
    assert ends[:4] == pytest.approx(np.sort(totals)[::-1][:4])
    assert ends[4] == pytest.approx(np.sort(totals)[:8].sum())


# --- all ---


def test_long_names_are_cut():
    explanation = make()
    long = Explanation(
        explanation.values, explanation.base_values, explanation.data, ["n" * 80, "b", "c", "d"]
    )
    for ax in (plot_waterfall(long), plot_beeswarm(long), plot_global_bars(long)):
        assert max(len(label.split(" = ")[0]) for label in get_labels(save(ax))) == 34


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plot_waterfall("text"), "expected Explanation"),
        (lambda: plot_beeswarm(make(n_outputs=2)), "choose an output of 'a', 'b'"),
        (lambda: plot_beeswarm(make(n_outputs=2), output="z"), "must be one of 'a', 'b'"),
        (lambda: plot_waterfall(make(), output="z"), "has one output"),
        (lambda: plot_beeswarm(make()[0]), "several rows"),
        (lambda: plot_dependence(make(), "tall"), "name of a feature"),
        (lambda: plot_dependence(make(), 9), "up to 3"),
        (lambda: plot_global_bars(make(), max_features=0), "at least 1"),
    ],
)
def test_wrong_arguments(draw, message):
    with pytest.raises(ParameterError, match=message):
        draw()


def test_they_draw_where_they_are_told_to():
    from matplotlib import pyplot

    axes = pyplot.subplots(2, 2)[1].ravel()
    explanation = make()
    assert plot_waterfall(explanation, ax=axes[0]) is axes[0]
    assert plot_beeswarm(explanation, ax=axes[1]) is axes[1]
    assert plot_dependence(explanation, 0, ax=axes[2]) is axes[2]
    assert plot_global_bars(explanation, ax=axes[3]) is axes[3]
