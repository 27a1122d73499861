"""Sampling per class and per group."""

import numpy as np
import pytest

from sumwise import ClassSubsample, GroupSubsample
from sumwise.errors import DataError, ParameterError
from sumwise.kernels.runtime import random
from tests.naive import random as naive
from tests.sampling.sources import assert_sound, make_source, mean_sums

CLASSES = np.array(["a", "b", "c"])


def count_classes(source, rows):
    return np.bincount(source.target[rows].astype(int), minlength=3)


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ({"a": 0.1}, [0.1, 1, 1]),
        ({"c": 0.5, "b": 0.2}, [1, 0.2, 0.5]),
        ([0.3, 0.6, 0.9], [0.3, 0.6, 0.9]),
        ((1, 1, 0.5), [1, 1, 0.5]),
    ],
)
def test_each_class_has_its_share(rates, expected):
    sampler = ClassSubsample(rates)
    sampler.check()
    source = make_source(classes=CLASSES)
    drawn = sampler.draw(source)
    assert_sound(source, drawn)
    counts = count_classes(source, source.rows)
    wanted = [round(rate * n) for rate, n in zip(expected, counts, strict=True)]
    assert count_classes(source, drawn.rows).tolist() == wanted
    assert drawn.factor.size == 0


@pytest.mark.parametrize("n_threads", [1, 2])
def test_each_class_gives_its_rows_with_the_lowest_hashes(n_threads):
    source = make_source(classes=CLASSES, seed=2, number=5, n_threads=n_threads)
    drawn = ClassSubsample([0.3, 0.6, 0.9]).draw(source)
    key = int(random.make_key(2, random.ROWS, 5))
    classes = source.target[source.rows].astype(int)
    n_drawn = np.round([0.3, 0.6, 0.9] * np.bincount(classes)).astype(int).tolist()
    expected = naive.draw_strata(key, source.rows.tolist(), classes.tolist(), n_drawn)
    assert drawn.rows.tolist() == expected
    assert drawn.left_out.tolist() == np.setdiff1d(source.rows, drawn.rows).tolist()


def test_balanced_classes_are_as_small_as_the_smallest():
    target = np.repeat([0.0, 1.0, 2.0], [300, 80, 20])
    source = make_source(400, classes=CLASSES, target=target)
    smallest = count_classes(source, source.rows).min()
    found = count_classes(source, ClassSubsample().draw(source).rows)
    assert found.tolist() == [smallest] * 3


def test_reweighing_keeps_sums():
    sampler = ClassSubsample([0.2, 0.5, 1.0], reweigh=True)
    found, expected, error = mean_sums(sampler, 300, {"n_rows": 600, "classes": CLASSES})
    assert np.all(np.abs(found - expected) < 4 * error)


def test_a_class_without_rows_is_no_trouble():
    source = make_source(classes=np.array(["a", "b", "c", "d"]))
    assert_sound(source, ClassSubsample().draw(source))


@pytest.mark.parametrize("rates", ["equal", 0.5, None, {"a": 0}, [0.5, 2], [True], {"a": "b"}])
def test_rates_that_cannot_be(rates):
    with pytest.raises(ParameterError, match=r"ClassSubsample\(rates="):
        ClassSubsample(rates).check()


def test_rates_that_do_not_fit_the_classes():
    with pytest.raises(DataError, match="rates has 'z', which is not a class of y"):
        ClassSubsample({"z": 0.5}).draw(make_source(classes=CLASSES))
    with pytest.raises(DataError, match="2 rates for 3 classes"):
        ClassSubsample([0.5, 0.5]).draw(make_source(classes=CLASSES))
    with pytest.raises(ParameterError, match="reweigh"):
        ClassSubsample(reweigh=1).check()


@pytest.mark.parametrize(("rate", "n_groups"), [(0.5, 10), (0.1, 2), (1.0, 20), (0.001, 1)])
def test_groups_are_drawn_as_a_whole(rate, n_groups):
    groups = np.random.default_rng(0).integers(0, 20, 400)
    sampler = GroupSubsample(rate)
    sampler.check()
    drawn_groups = []
    for number in range(3):
        source = make_source(groups=groups, number=number)
        drawn = sampler.draw(source)
        assert_sound(source, drawn)
        found = set(groups[drawn.rows].tolist())
        assert len(found) == n_groups
        assert drawn.left_out.tolist() == np.setdiff1d(source.rows, drawn.rows).tolist()
        assert found.isdisjoint(groups[drawn.left_out].tolist())
        key = int(random.make_key(source.seed, random.ROWS, number))
        assert found == set(naive.draw_lowest(key, range(20), n_groups))
        drawn_groups.append(found)
    assert rate in (1.0, 0.001) or drawn_groups[0] != drawn_groups[1]
