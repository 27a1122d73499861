"""The example of a cluster, with fewer rows."""

import numpy as np

from examples import on_a_cluster


def test_the_cluster_gives_the_same_results(capfd):
    rows = on_a_cluster.main(n_rows=150)
    assert len(rows) == 4
    for row in rows.values():
        np.testing.assert_array_equal(row.here, row.there)
        assert row.here.size > 1
    shown = capfd.readouterr()
    assert len(shown.out.splitlines()) == 5
    assert shown.out.count("yes") == 4
    assert shown.err == ""
