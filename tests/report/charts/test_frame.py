"""Frames: axes, labels and room for them."""

import pytest

from sumwise.report.charts.frame import WIDTH, Frame, measure_labels, write_legend
from tests.report.charts.pictures import find, parse


def test_axes_have_titles_ticks_and_lines():
    svg = Frame((0.0, 1.0), (0.0, 10.0), "share", "<rows>").finish("alternative")
    assert parse(svg).get("role") == "img"
    assert [text.text for text in find(svg, "text", "title")] == ["share", "<rows>"]
    assert len(find(svg, "line", "grid")) == len(find(svg, "text", "tick"))


def test_long_tick_labels_get_more_room():
    short = Frame((0.0, 1.0), (0.0, 1.0))
    long = Frame((0.0, 1.0), (0.0, 2e5))
    assert long.x.start > short.x.start
    assert long.x.end == short.x.end < WIDTH


def test_values_are_placed_between_the_axes():
    frame = Frame((0.0, 4.0), (0.0, 2.0), left=20.0, right=0.0, top=0.0, height=122.0)
    assert frame.x(2.0) == 20.0 + (WIDTH - 20.0) / 2
    assert frame.y(0.0) == 100.0
    assert frame.y(2.0) == 0.0


def test_labels_are_measured_up_to_their_limit():
    assert measure_labels(["a", "abc"], 10) == measure_labels(["xyz"], 10)
    assert measure_labels(["a" * 99], 10) == measure_labels(["a" * 10], 10)
    assert measure_labels([], 10) == pytest.approx(12.0)


def test_legends_escape_names():
    assert "&lt;b&gt;</li>" in write_legend(["<b>"], ["dot s0"])
