"""Jobs of pages differ from those of threads in what is given."""

import numpy as np

from sumwise.data.paged import PagedData
from sumwise.kernels.grow.page_jobs import bind_page_jobs
from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.reference import item
from sumwise.kernels.runtime.threads import Team
from sumwise.sampling import Columns
from sumwise.tree import GrowthSettings, PagedGrower
from tests.tree.test_grower import make_mapper


@kernel
def _read(jobs, found):
    for page in range(found.shape[0]):
        job = item(jobs, page)
        found[page, 0], found[page, 1] = job.key, job.nodes.size
        found[page, 2] = job.work.leaf.size


def test_each_page_has_its_own():
    n_value_bins = np.array([3, 5])
    data = PagedData([], n_value_bins, np.ones(2, dtype=np.uint8))
    with Team(2) as team:
        mapper = make_mapper(n_value_bins)
        grower = PagedGrower(data, mapper, GrowthSettings(max_leaves=4), Columns(), 100, team)
        jobs, _, _ = grower._prepare_pages(np.zeros(0), np.zeros(0))
        leaves = [np.zeros(n, dtype=np.uint32) for n in (3, 0, 7)]
        own = [
            {"key": np.uint64(page), "work": grower._work._replace(leaf=leaf)}
            for page, leaf in enumerate(leaves)
        ]
        found = np.zeros((3, 3), dtype=np.int64)
        _read(bind_page_jobs(jobs, own), found)
    n_nodes = grower._nodes.size
    assert found.tolist() == [[0, n_nodes, 3], [1, n_nodes, 0], [2, n_nodes, 7]]
