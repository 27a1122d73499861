"""Locations of the values of several processes against those of a single one that has all."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sumwise.kernels.leaves import location as location_kernels
from sumwise.kernels.leaves.peer_location import Groups
from sumwise.kernels.losses.influence import CLIPPED, FAIR, TANH
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import Location, peer_locations
from sumwise.losses.peer_locations import add_totals, find_locations
from sumwise.losses.robust import find_location
from tests.threaded_peers import run_together

NO_WEIGHT = np.empty(0)
NO_UNITS = np.empty(0, dtype=np.int64)
SPECIAL = [0.0, -0.0, 5e-324, -5e-324, 1e-300, 1e300, -1e300, 1.0, np.nextafter(1.0, 2.0), -2.5]
VALUES = st.floats(-1e6, 1e6) | st.sampled_from(SPECIAL)
WEIGHTS = st.sampled_from([1.0, 2.0, 0.5, 3.0, 1e-9, 1e30]) | st.floats(1e-3, 1e3)
LOCATIONS = st.builds(
    Location,
    st.sampled_from([0.5, 0.1, 0.25, 0.9, 1 / 3, 1e-9, 1 - 1e-9]),
    st.sampled_from([np.inf, 0.7, 100.0]),
    st.sampled_from([CLIPPED, FAIR, TANH]),
)
EXAMPLES = settings(max_examples=150, deadline=None, derandomize=True)


def few_are(n_keys):
    """So many candidates of a group are sent: with fewer, more digits are counted."""
    return patch.multiple(peer_locations, _FEW_KEYS=n_keys, _MOST_KEYS=n_keys)


def take(values, mask):
    return values[mask] if values.size else values


def share_out(n_peers, owners, work):
    """Return what ``work(peers, mask)`` returns for each peer, and compare their bytes."""
    results = run_together(n_peers, lambda peers: work(peers, owners == peers.rank))
    assert len({np.float64(found).tobytes() for found in results}) == 1
    return results[0]


@EXAMPLES
@given(
    rows=st.lists(st.tuples(VALUES, WEIGHTS, st.integers(0, 3)), min_size=1, max_size=60),
    n_peers=st.integers(2, 4),
    weighted=st.booleans(),
    repeats=st.sampled_from([1, 1, 7]),
    few=st.sampled_from([0, 1, 8, 1 << 16]),
    location=LOCATIONS,
)
@example([(0.0, 1.0, 0)] * 5, 3, False, 1, 0, Location(0.5, 0.7))
@example([(1.0, 1.0, 0), (2.0, 1.0, 3)], 4, False, 1, 0, Location(0.5))  # halfway, in two processes
def test_locations_have_the_bits_of_one_process(rows, n_peers, weighted, repeats, few, location):
    values, weight, owners = np.repeat(np.array(rows), repeats, axis=0).T.copy()
    weight, owners = weight if weighted else NO_WEIGHT, owners % n_peers
    expected = find_location(values, weight, location)

    def work(peers, mask):
        return find_location(values[mask], take(weight, mask), location, peers)

    with few_are(few):
        found = share_out(n_peers, owners, work)
    assert np.float64(found).tobytes() == np.float64(expected).tobytes()


@EXAMPLES
@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(1, 80),
    n_groups=st.integers(1, 9),
    weighted=st.booleans(),
    few=st.sampled_from([0, 3, 1 << 16]),
    most_groups=st.sampled_from([1, 2, 512]),
    n_threads=st.sampled_from([1, 2]),
    location=LOCATIONS,
)
def test_groups_may_overlap_and_be_empty(
    seed, n_rows, n_groups, weighted, few, most_groups, n_threads, location
):
    """Each group is found as if it were alone, but for the weights of all rows."""
    rng = np.random.default_rng(seed)
    values = (rng.normal(size=n_rows) * 10.0 ** rng.integers(-2, 3)).round(1)
    units = rng.integers(1, 2**40, n_rows) if weighted else NO_UNITS
    owners = rng.integers(0, 3, n_rows)
    bounds = np.sort(rng.integers(0, n_rows + 1, (n_groups, 2)), axis=1)

    def work(peers, mask):
        own = np.flatnonzero(mask)
        begin, end = (np.searchsorted(own, edge) for edge in bounds.T)
        groups = Groups(values[own], take(units, own), begin, end - begin)
        with Team(n_threads) as team:
            shared = add_totals(groups, weighted, peers, team)
            return find_locations(shared, location, peers, team)

    with few_are(few), patch.object(peer_locations, "_MOST_GROUPS", most_groups):
        found = share_out(3, owners, work)
    for center, (begin, end) in zip(found, bounds, strict=True):
        if begin == end:
            assert np.isnan(center)
            continue
        own = values[begin:end], take(units, slice(begin, end))
        assert center == find_in_units(*own, location)


def find_in_units(values, units, location):
    """Return the location of one process, for weights that are integers already."""
    scratch = np.empty(values.size, dtype=np.uint64), units.copy()
    counters = np.empty(location_kernels.N_DIGIT_VALUES, dtype=np.int64)
    return location_kernels.find_location(values, units, *location, *scratch, counters)


@pytest.mark.parametrize("n_rows", [0, 1, 5, 1000])
def test_units_are_those_of_one_process(n_rows):
    rng = np.random.default_rng(n_rows)
    weight = rng.random(n_rows) * 2.0 ** rng.integers(-80, 3, n_rows)
    owners = rng.integers(0, 2, n_rows) * 2
    expected = np.empty(n_rows, dtype=np.int64)
    location_kernels.weigh_in_units(weight, expected)

    def work(peers):
        own = weight[owners == peers.rank]
        return peer_locations.weigh_in_units(own, own.size, peers)

    found = run_together(3, work)
    for rank, units in enumerate(found):
        assert (units.n_rows, units.is_weighted) == (n_rows, n_rows > 0)
        assert units.own.tolist() == expected[owners == rank].tolist()


def test_a_process_without_weights_has_weights_of_one():
    values, weight = np.array([3.0, 1.0, 2.0, 4.0]), np.array([0.5, 0.25, 1.0, 1.0])
    expected = find_location(values, weight, Location(0.5))

    def work(peers):
        own = slice(0, 2) if peers.rank == 0 else slice(2, 4)
        given = weight[own] if peers.rank == 0 else NO_WEIGHT
        return find_location(values[own], given, Location(0.5), peers)

    assert run_together(2, work) == [expected] * 2


def test_there_is_no_location_without_values():
    def work(peers):
        return find_location(np.empty(0), NO_WEIGHT, Location(0.5, 1.0), peers)

    assert np.isnan(run_together(2, work)).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_many_values_take_few_messages(weighted):
    """Numbers and scale, weights, two digits, candidates, and a robust step."""
    rng = np.random.default_rng(0)
    values = rng.normal(3.0, size=20_000)
    weight = rng.random(20_000) if weighted else NO_WEIGHT
    expected = find_location(values, weight, Location(0.5, 1.0))

    def work(peers):
        own = slice(peers.rank, None, 2)
        found = find_location(values[own], take(weight, own), Location(0.5, 1.0), peers)
        return found, peers.n_messages

    with few_are(500):
        assert run_together(2, work) == [(expected, 6 if weighted else 5)] * 2


def test_equal_values_take_no_candidates():
    """Zeros of many rows, as the errors of rows that are fitted well."""
    sent = []

    def work(peers):
        gather = peers.gather

        def count(array):
            sent.append(array.size)
            return gather(array)

        peers.gather = count
        return find_location(np.zeros(3000), NO_WEIGHT, Location(0.5), peers)

    with few_are(500):
        assert run_together(2, work) == [0.0, 0.0]
    assert max(sent) == 3
