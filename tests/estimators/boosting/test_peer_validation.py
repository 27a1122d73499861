"""Rows held out among peers: those that one process with all rows holds out."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise import GradientBoostingClassifier
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.rows import LabeledRows
from sumwise.estimators.boosting.validation import hold_out_rows, number_groups, split_rows
from tests.partitions import SCATTERED, Partition, partitions
from tests.threaded_peers import run_together

examples = settings(derandomize=True, deadline=None, max_examples=60)
N_ROWS = SCATTERED.n_rows
RNG = np.random.default_rng(0)


def take(values, own):
    return None if values is None else values[own]


def hold_out_together(partition, rows, fraction, which="random", groups=None, labels=None, seed=0):
    """Return what all peers hold out together, by the numbers of rows in the whole data."""

    def work(shards, own):
        local = partition.find_local(shards.peers.rank, rows)
        of_rows = np.searchsorted(rows, own[local])
        own_groups, own_labels = take(groups, of_rows), take(labels, of_rows)
        what = (local, fraction, which, own_groups, own_labels, seed)
        found = hold_out_rows(*what, shards=shards)
        assert all(part.dtype == np.uint32 for part in found)
        assert all(np.all(np.diff(part.astype(int)) > 0) for part in found)
        return [own[part] for part in found], shards.peers.n_messages

    every, sent = zip(*partition.run(work), strict=True)
    assert len(set(sent)) == 1
    return [sorted(np.concatenate(parts).tolist()) for parts in zip(*every, strict=True)]


def outcome(work):
    """Return what ``work`` returns, or its error."""
    try:
        return [part if isinstance(part, list) else part.tolist() for part in work()]
    except DataError as error:
        return str(error)


@examples
@given(
    partition=partitions(),
    kind=st.sampled_from(["random", "last", "groups", "classes", "rare classes", "one class"]),
    fraction=st.floats(0.01, 0.99),
    rate=st.sampled_from([0.0, 0.5, 1.0]),
    seed=st.integers(0, 999),
)
def test_peers_hold_out_the_rows_of_one_process(partition, kind, fraction, rate, seed):
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(rng.random(partition.n_rows) < rate).astype(np.uint32)
    n_classes = {"rare classes": 40, "one class": 1}.get(kind, 3)
    options = {
        "which": "last" if kind == "last" else "random",
        "groups": rng.integers(0, rng.integers(1, 12), rows.size) if kind == "groups" else None,
        "labels": rng.integers(0, n_classes, rows.size).astype(float) if "class" in kind else None,
        "seed": seed,
    }
    found = outcome(lambda: hold_out_together(partition, rows, fraction, **options))
    assert found == outcome(lambda: hold_out_rows(rows, fraction, **options))


def test_a_class_or_group_may_be_in_one_partition_only():
    rows = np.arange(N_ROWS, dtype=np.uint32)
    parted = np.repeat([2.0, 0.0, 1.0], [40, 70, 90])
    for name in ("groups", "labels"):
        expected = hold_out_rows(
            rows, 0.3, "random", **{"groups": None, "labels": None, name: parted}, seed=0
        )
        found = hold_out_together(SCATTERED, rows, 0.3, **{name: parted})
        assert found == [part.tolist() for part in expected]


# Groups

GROUPS = {
    "integers": RNG.integers(-5, 5, N_ROWS),
    "numbers": np.where(RNG.random(N_ROWS) < 0.1, np.nan, RNG.integers(0, 9, N_ROWS) / 2),
    "flags": RNG.random(N_ROWS) < 0.5,
    "strings": RNG.choice(["a", "bb", "ccc", ""], N_ROWS),
    "objects": RNG.choice(["a", "bb", "ccc", ""], N_ROWS).astype(object),
    "dates": RNG.integers(0, 5, N_ROWS).astype("datetime64[D]"),
    "numbers as objects": RNG.integers(0, 9, N_ROWS).astype(object),
}


def number_together(partition, groups, convert=lambda own, rank: own):
    def work(shards, own):
        given = convert(groups[own], shards.peers.rank)
        return own, number_groups(given, own.size, shards.peers)

    found = np.full(partition.n_rows, -1)
    for own, numbers in partition.run(work):
        found[own] = numbers
    return found.tolist()


@pytest.mark.parametrize("name", GROUPS)
def test_groups_have_the_same_numbers_on_all_peers(name):
    groups = GROUPS[name]
    assert number_together(SCATTERED, groups) == number_groups(groups, N_ROWS).tolist()


def test_groups_of_several_types():
    strings, numbers = GROUPS["strings"], GROUPS["integers"]

    def convert(own, rank):
        return own.astype(object) if rank == 0 else own.tolist()

    expected = number_groups(strings, N_ROWS).tolist()
    assert number_together(SCATTERED, strings, convert) == expected

    def widen(own, rank):
        return own.astype([np.float64, object, np.int16][rank])

    assert number_together(SCATTERED, numbers, widen) == number_groups(numbers, N_ROWS).tolist()


def test_groups_without_any_rows():
    assert number_together(Partition([0, 0], [[0], [1]]), np.empty(0)) == []


def as_objects(items):
    """Return an array of the items, even if these are tuples."""
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


BAD_GROUPS = {
    "kinds": lambda rank: np.arange(10) if rank else np.array(list("abcdefghij")),
    "kinds of objects": lambda rank: as_objects([1] * 10 if rank else ["1"] * 10),
    "other kinds": lambda rank: np.array([b"a"] * 10 if rank else ["a"] * 10),
    "one process": lambda rank: as_objects([1, "a"] * 5 if rank == 1 else [1] * 10),
    "dates": lambda rank: np.arange(10).astype("M8[D]" if rank else float),
    "incomparable": lambda rank: as_objects([None if rank else (k,) for k in range(10)]),
}


def collect_errors(work, n_peers=3):
    """Return the errors of all peers."""

    def run(peers):
        with pytest.raises((DataError, ParameterError)) as caught:
            work(peers)
        return f"{caught.type.__name__}: {caught.value}"

    return run_together(n_peers, run)


@pytest.mark.parametrize("name", BAD_GROUPS)
def test_groups_must_be_of_one_kind_over_all_peers(name):
    errors = collect_errors(lambda peers: number_groups(BAD_GROUPS[name](peers.rank), 10, peers))
    assert set(errors) == {"DataError: groups must be of one kind: all numbers or all strings"}


def test_a_wrong_shape_on_one_peer_is_an_error_of_all():
    errors = collect_errors(lambda peers: number_groups(np.zeros(4 + peers.rank), 5, peers))
    assert set(errors) == {"DataError: groups has shape (4,), expected (5,), one per row"}


# From the parameters of an estimator


def split(rows, groups=None, **params):
    model = GradientBoostingClassifier(validation_fraction=0.25, **params)
    return split_rows(model, rows, True, groups, 5)


def label_rows(own, weight, shards=None):
    y = np.arange(N_ROWS)[own] % 3 == 0
    target, matrix = y.astype(np.uint8), SimpleNamespace(shape=(own.size, 2))
    return LabeledRows(None, matrix, y, target, take(weight, own), None, shards=shards)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["random", "last", "groups"])
def test_rows_of_weight_zero_are_on_neither_side(kind, weighted):
    weight = np.arange(N_ROWS) % 4.0 if weighted else None
    groups = GROUPS["strings"] if kind == "groups" else None
    params = {"validation_rows": "last"} if kind == "last" else {}
    expected = split(label_rows(np.arange(N_ROWS), weight), groups, **params)

    def work(shards, own):
        found = split(label_rows(own, weight, shards), take(groups, own), **params)
        assert found.shards is shards
        assert (found.n_train, found.n_valid) == (expected.train.size, expected.valid.size)
        return own[found.train], own[found.valid]

    train, valid = zip(*SCATTERED.run(work), strict=True)
    assert sorted(np.concatenate(train).tolist()) == expected.train.tolist()
    assert sorted(np.concatenate(valid).tolist()) == expected.valid.tolist()
    assert expected.train.size + expected.valid.size == (150 if weighted else 200)


def test_too_few_rows_are_an_error_of_all_peers():
    def work(peers):
        shards = Partition([1, 0, 2], [[0], [1], [2]]).make_shards(peers)
        rows = np.arange([1, 0, 2][peers.rank], dtype=np.uint32)
        return hold_out_rows(rows, 0.9, "random", None, None, 0, shards)

    (message,) = set(collect_errors(work))
    assert "hold out 3 of 3 rows" in message


def test_groups_and_the_last_rows_exclude_each_other():
    def work(peers):
        own, shards = SCATTERED.list_own(peers.rank), SCATTERED.make_shards(peers)
        split(label_rows(own, None, shards), GROUPS["flags"][own], validation_rows="last")

    (message,) = set(collect_errors(work))
    assert "pass only one of them" in message
