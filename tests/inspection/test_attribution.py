"""Attributions: sums, outputs and features of models."""

import numpy as np

from sumwise.inspection.attribution import Attribution, add_attributions

RNG = np.random.default_rng(0)


def make(n_features=3, n_outputs=2):
    pairs = RNG.normal(size=(4, n_features, n_features, n_outputs))
    return Attribution(pairs.sum(axis=2), RNG.normal(size=n_outputs), pairs)


def outputs(attribution):
    return attribution.base + attribution.values.sum(axis=1)


def test_linear_functions_of_outputs():
    attribution, slopes = make(), RNG.normal(size=(2, 3))
    mixed = attribution.mix_outputs(slopes, np.arange(3.0))
    np.testing.assert_allclose(outputs(mixed), outputs(attribution) @ slopes + np.arange(3.0))
    np.testing.assert_allclose(mixed.interactions.sum(axis=2), mixed.values)
    scaled = attribution.scale(-2.0)
    np.testing.assert_allclose(outputs(scaled), -2.0 * outputs(attribution))


def test_sums_leave_their_parts_alone():
    parts = [make(), make(), make()]
    before = [part.values.copy() for part in parts]
    total = add_attributions(parts)
    np.testing.assert_allclose(outputs(total), sum(map(outputs, parts)))
    np.testing.assert_allclose(total.interactions.sum(axis=2), total.values)
    for part, values in zip(parts, before, strict=True):
        np.testing.assert_array_equal(part.values, values)


def test_features_among_others():
    attribution = make()
    placed = attribution.place_features(np.array([4, 1, 4]), 5)
    np.testing.assert_array_equal(placed.values[:, [0, 2, 3]], 0)
    np.testing.assert_array_equal(placed.values[:, 1], attribution.values[:, 1])
    np.testing.assert_allclose(placed.values[:, 4], attribution.values[:, [0, 2]].sum(axis=1))
    np.testing.assert_allclose(placed.interactions.sum(axis=2), placed.values)
    np.testing.assert_allclose(outputs(placed), outputs(attribution))
