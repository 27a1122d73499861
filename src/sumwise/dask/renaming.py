"""Delayed values computed once more, by tasks of other names.

Dask takes tasks of the same name for the same work. A worker that waits for the result of a task
from a worker that does not answer would go on waiting, if the task were submitted again.
"""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from dask._task_spec import convert_legacy_graph
from distributed import Future


def rename_tasks(values: Sequence[Any]) -> tuple[Mapping[Any, Any], list[Any]]:
    """Return a graph whose tasks have new names, and the name of each of the delayed ``values``.

    Futures in the graph, which stand for results on workers, stay as they are.
    """
    graph: dict[Any, Any] = {}
    for value in values:
        graph |= value.__dask_graph__()
    inputs = {name: task for name, task in graph.items() if isinstance(task, Future)}
    tasks = {name: task for name, task in graph.items() if name not in inputs}
    nodes = convert_legacy_graph(tasks, all_keys=set(graph))
    again = uuid.uuid4().hex
    names = {name: f"again-{again}-{number}" for number, name in enumerate(nodes)}
    renamed = {names[name]: node.substitute(names, key=names[name]) for name, node in nodes.items()}
    return {**renamed, **inputs}, [names[value.key] for value in values]
