"""Data and checks for the tests of samplers."""

import numpy as np

from sumwise.kernels.runtime.threads import Team
from sumwise.sampling import RowSource


def make_source(n_rows=400, n_outputs=1, decimals=None, seed=0, number=0, n_threads=1, **more):
    """Return a source with ``n_rows`` rows; samplers may draw from some of them."""
    rng = np.random.default_rng(seed)
    gradient = rng.normal(size=(n_outputs, n_rows)) * rng.random(n_rows)
    if decimals is not None:
        gradient = gradient.round(decimals)
    rows = np.arange(n_rows, dtype=np.uint32)
    fields = {
        "rows": rows[rng.random(n_rows) < 0.8],
        "seed": seed,
        "number": number,
        "gradient": gradient,
        "hessian": rng.random((n_outputs, n_rows)),
        "target": rng.integers(0, 3, n_rows).astype(float),
        "team": Team(n_threads),
        **more,
    }
    return RowSource(**fields)


def assert_sound(source, drawn):
    """Check that rows ascend and come from the source, with one factor per row or none."""
    assert drawn.rows.dtype == np.uint32
    assert drawn.rows.size > 0
    assert np.all(np.diff(drawn.rows.astype(int)) > 0)
    assert np.isin(drawn.rows, source.rows).all()
    assert drawn.factor.size in (0, drawn.rows.size)
    assert drawn.factor.dtype == np.float64


def mean_sums(sampler, n_draws, source_fields):
    """Sums of gradient and hessian over the drawn rows, times factors: means over draws, and what
    they should be.
    """
    totals = []
    for number in range(n_draws):
        source = make_source(**source_fields, number=number)
        drawn = sampler.draw(source)
        factor = drawn.factor if drawn.factor.size else np.ones(drawn.rows.size)
        parts = (source.gradient, source.hessian)
        totals.append([float(part[0, drawn.rows] @ factor) for part in parts])
    expected = [float(part[0, source.rows].sum()) for part in (source.gradient, source.hessian)]
    error = np.std(totals, axis=0) / np.sqrt(n_draws)
    return np.mean(totals, axis=0), expected, error
