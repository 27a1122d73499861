import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask import delayed
from distributed import wait

from sumwise.dask.renaming import rename_tasks


def count(rows):
    return len(rows)


def test_renamed_tasks_compute_the_same(client):
    frame = dd.from_pandas(pd.DataFrame({"a": range(10), "b": list("xyxyxyxyxy")}), npartitions=3)
    array = da.ones((10, 4), chunks=(3, 2)).rechunk({1: -1})
    held, held_array = frame.persist(), array.persist()
    wait([held, held_array])
    for collection in (frame, frame[["a"]] + 1, array, held, held[["b"]], held_array, -held_array):
        whole = np.ravel(collection.to_delayed(optimize_graph=False))
        values = [delayed(count)(own) for own in whole]
        graph, names = rename_tasks(values)
        futures = client.get(graph, names, sync=False)
        lengths = [future.result() for future in futures]
        assert lengths == client.gather(client.compute(values))
        assert sum(lengths) == 10
        assert not {value.key for value in values}.intersection(names)


def test_values_in_memory_are_kept(client):
    value = delayed(np.add)(np.arange(3), 1)
    graph, [name] = rename_tasks([value])
    np.testing.assert_array_equal(client.get(graph, name), [1, 2, 3])
