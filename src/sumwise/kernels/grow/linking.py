"""Put together the jobs of a fit: arrays, and the verbs that its table needs."""

import numpy as np

from sumwise.kernels.grow import isotonic
from sumwise.kernels.grow.layout import (
    SYMMETRIC,
    Constraints,
    Gradients,
    GrowthOptions,
    Job,
    Workspace,
)
from sumwise.kernels.grow.storage import bundled, categorical, dense, presorted
from sumwise.kernels.grow.verbs import (
    LEVEL_VERBS,
    N_STORAGES,
    NAMES,
    NODE_VERBS,
    OF_TREE,
)
from sumwise.kernels.runtime.arguments import TupleMemory
from sumwise.kernels.runtime.threads import SYNC_LENGTH
from sumwise.kernels.table.layout import BUNDLED, CATEGORICAL, DENSE, PRESORTED, Table

_MODULES = {DENSE: dense, BUNDLED: bundled, CATEGORICAL: categorical, PRESORTED: presorted}


def list_storages(table: Table) -> np.ndarray:
    """Return the kinds of storage of a table, in the order they work in.

    Tiles are those of dense features, whatever lies in them; and what bundles leave unscored is
    scored as dense features are.
    """
    found = set(np.unique(table.storage).tolist())
    if BUNDLED in found or table.tile_start.size > 0:
        found.add(DENSE)
    order = (PRESORTED, BUNDLED, DENSE, CATEGORICAL)
    return np.array([kind for kind in order if kind in found], dtype=np.int64)


def bind_jobs(
    storages: np.ndarray,
    table: Table,
    payload: Gradients,
    constraints: Constraints,
    options: GrowthOptions,
    work: Workspace,
    nodes: np.ndarray,
    n_threads: int,
) -> TupleMemory:
    """Return the jobs of all threads; compile the verbs that no fit has needed so far.

    ``storages`` are those of the table with all features; the tables of single trees may hold
    fewer.
    """
    verbs = np.zeros((N_STORAGES + 1, len(NAMES)), dtype=np.int64)
    sync, key = np.zeros(SYNC_LENGTH, dtype=np.int64), np.uint64(0)
    parts = (table, payload, constraints, options, work, nodes, False, False, key, storages, verbs)
    jobs = TupleMemory(Job(0, n_threads, sync, *parts), n_threads)
    is_symmetric = options.growth == SYMMETRIC
    unused = NODE_VERBS if is_symmetric else LEVEL_VERBS
    for storage in storages:
        for number, name in enumerate(NAMES):
            verb = getattr(_MODULES[int(storage)], name, None)
            if verb is not None and name not in unused:
                verbs[storage, number] = verb.find_address(jobs.reference)
    if is_symmetric and constraints.any_direction:
        project = NAMES.index("project_leaves")
        verbs[OF_TREE, project] = isotonic.project_leaves.find_address(jobs.reference)
    return jobs
