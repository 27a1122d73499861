"""Links on a device have the bits of the CPU's."""

import numpy as np
import pytest

from sumwise.cuda.losses.links import apply_link, find_classes
from sumwise.losses.links import LINKS

ODD = [0.0, -0.0, 1e-320, -1e-310, 800, -800, 1e308, -1e308, 1e-9, -1e-9, 36, -36, 709, -708, 0.1]


@pytest.mark.parametrize("link", sorted(LINKS))
@pytest.mark.parametrize("n_outputs", [1, 2, 5])
def test_means_are_those_of_the_host(device, link, n_outputs):
    if link in ("logistic", "half_logistic") and n_outputs > 1:
        n_outputs = 1
    rng = np.random.default_rng(n_outputs)
    raw = np.concatenate(
        [rng.normal(scale=5, size=(200, n_outputs)), rng.choice(ODD, (100, n_outputs))]
    )
    found = apply_link(link, device.upload(raw)).to_host()
    expected = LINKS[link](raw)
    assert np.array_equal(found.reshape(expected.shape), expected)


@pytest.mark.parametrize("n_outputs", [1, 2, 5])
def test_classes_are_those_of_the_host(device, n_outputs):
    rng = np.random.default_rng(n_outputs)
    raw = rng.choice([-1.0, 0.0, -0.0, 2.0, 3.0, np.inf, np.nan], (300, n_outputs))
    expected = (raw[:, 0] > 0).astype(np.int64) if n_outputs == 1 else raw.argmax(axis=1)
    assert np.array_equal(find_classes(device.upload(raw)).to_host(), expected)
