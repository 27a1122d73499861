"""Which tasks are submitted again when workers give no sign of life."""

from types import SimpleNamespace

import pytest

from sumwise.dask.growing import _is_stuck, _list_keys, _Progress, _Task

ALIVE, SILENT = {"a", "b"}, {"s"}


def ask(key="own", inputs=(), places=None, holders=None, place=None, stuck=()):
    task = _Task(SimpleNamespace(key=key), list(inputs), places)
    return _is_stuck(task, ALIVE, SILENT, holders or {}, place or {}, set(stuck))


@pytest.mark.parametrize(
    ("holders", "expected"),
    [(["a"], False), (["b", "a"], False), (["s"], True), (["a", "s"], True)],
)
def test_a_result_that_a_silent_worker_has(holders, expected):
    assert ask(holders={"own": holders}) == expected


@pytest.mark.parametrize(("place", "expected"), [("a", False), ("s", True), (None, False)])
def test_a_task_that_a_silent_worker_has(place, expected):
    assert ask(place={} if place is None else {"own": place}) == expected


@pytest.mark.parametrize(
    ("place", "holders", "expected"),
    [
        ("a", ["a", "s"], False),  # it has its own
        ("b", ["a", "s"], True),  # it may ask either
        ("b", ["a"], False),
        ("b", ["s"], True),
        (None, ["a", "s"], True),  # it may come to any worker
        (None, ["a", "b"], False),
    ],
)
def test_a_task_that_needs_what_a_silent_worker_has(place, holders, expected):
    places = {} if place is None else {"own": place}
    assert ask(inputs=["x"], holders={"x": holders}, place=places) == expected


def test_a_task_that_waits_for_others():
    assert not ask(inputs=["x"], place={"x": "a"})
    assert ask(inputs=["y", "x"], stuck=["x"])
    assert not ask(inputs=["x"], holders={"x": ["a"]}, stuck=["x"])


def test_a_task_that_no_worker_may_run_any_more():
    assert ask(places=["s", "gone"])
    assert not ask(places=["b", "gone"])
    assert not ask(places=["gone"], holders={"own": ["a"]})


def test_keys_of_futures_among_arguments(client):
    one, two = client.submit(int, 1), client.submit(int, 2)
    assert list(_list_keys((one, 3, [two, "x", [one]], range(2)))) == [one.key, two.key, one.key]


def test_every_tree_is_shown_once():
    seen = []
    progress = _Progress(range(3, 8), [seen.append])
    for n_grown in (0, 2, 2, 1, 5):  # fewer, where a worker was lost
        progress.show(n_grown)
    assert [state.round_number for state in seen] == [4, 5, 6, 7, 8]
    assert {state.n_rounds for state in seen} == {8}
