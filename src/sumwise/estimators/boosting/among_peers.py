"""Fits among peers: each process has some partitions of the rows, and all get the same model.

A launcher, such as :mod:`sumwise.dask`, starts the processes and connects them. The model has the
same bytes as if one process had all rows, in the order of their partitions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier

from sumwise.data.batches.agreement import do_alike
from sumwise.data.batches.learning import BatchedTable, LearnedTable, Roles, learn_table
from sumwise.data.batches.matrix import BatchedMatrix
from sumwise.data.batches.parts import PartsSource
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.base_score import check_base_score
from sumwise.estimators.boosting.boosters import resolve_sampler
from sumwise.estimators.boosting.continuing import Start, check_start, find_start
from sumwise.estimators.boosting.evaluation import resolve_metrics
from sumwise.estimators.boosting.out_of_core import Budget, list_unsupported, refuse_statistics
from sumwise.estimators.boosting.rows import LabeledRows, UnreadRows, as_array
from sumwise.estimators.boosting.tasks import Task
from sumwise.estimators.fitted_state import starting_anew
from sumwise.estimators.input.batches import learn_training_data
from sumwise.estimators.input.labels import unite_classes
from sumwise.estimators.input.parts import Labels, Part, read_labels
from sumwise.estimators.input.targets import check_classes, check_init_score, find_classes
from sumwise.peers import ALONE, Peers, Shards, gather_objects
from sumwise.tree.parallel import Parallel

if TYPE_CHECKING:
    from sumwise.estimators.boosting.base import BaseGradientBoosting

_WHERE, _SOLUTION = "among several processes", "fit on one machine: model.fit(X, y)"


class _Rows(NamedTuple):
    """The partitions of this process: their features, what belongs to them, and their place."""

    learned: LearnedTable
    labels: Labels
    shards: Shards


def check_peer_fit(model: "BaseGradientBoosting") -> None:
    """Refuse parameters that need all rows in one process, before any data is read."""
    model._check_parameters()
    unsupported = list(list_unsupported(model))
    sampler = resolve_sampler(model)
    if sampler is not None and not sampler.works_among_peers:
        unsupported.append("sampler")
    if any(metric is not None for metric in resolve_metrics(model).values()):
        unsupported.append("scoring")
    for name in unsupported:
        raise ParameterError(
            f"{type(model).__name__}: {name}={getattr(model, name)!r} is not available {_WHERE}; "
            f"choose another {name}, or {_SOLUTION}"
        )


def fit_among_peers(
    model: "BaseGradientBoosting",
    parts: Sequence[Part],
    peers: Peers,
    *,
    sets: Mapping[str, Sequence[Part]] | None = None,
    init_model: Any = None,
    memory_limit: int | str | None = None,
    cache_dir: Any = None,
    n_jobs: int | None = None,
    parallel: str = "data",
    top_k: int = 20,
) -> "BaseGradientBoosting":
    """Fit a model on the rows of all peers, each of which makes this call.

    Parameters
    ----------
    model : GradientBoostingClassifier or GradientBoostingRegressor
        Has the same parameters on all peers.
    parts : sequence of Part
        The partitions of this process; it may have none.
    peers : Peers
    sets : mapping from str to sequence of Part, default=None
        Validation sets by name, alike on all peers; "validation" is what ``fit`` knows as X_val.
    init_model : fitted estimator or path, default=None
        Model to continue, the same on all peers.
    memory_limit, cache_dir
        As for ``fit`` on rows that are read in batches, for this process.
    n_jobs : int, default=None
        The number of threads of this process, in place of the parameter of the model.
    parallel : {"data", "voting", "feature"}, default="data"
        How processes share the work of growing a tree; see :class:`sumwise.tree.parallel.Parallel`.
        With "feature", all peers receive all partitions.
    top_k : int, default=20
        Features that a process votes for, with "voting".

    Returns
    -------
    model
        The fitted ``model``, alike on all peers.

    Raises
    ------
    PeersError
        If a peer is lost. Its attribute ``fitted`` is a model of the rounds so far, or None; other
        peers that continue it as ``init_model`` get the model of a fit without a loss.
    """
    check_peer_fit(model)
    shared = Parallel(parallel, top_k)
    if parallel == "feature":
        parts, sets = _gather_parts(parts, sets, peers)
        shared, peers = replace(shared, peers=peers), ALONE
    found = find_start(model, init_model)
    start = Start() if found is None else found._make_start()
    budget = Budget.read(memory_limit, cache_dir)
    with starting_anew(model):
        growth = model._check_parameters()
        read = partial(_read_rows, model, peers)
        rows = read(parts, partial(learn_training_data, model, limit=budget.limit), start)
        model.schema_ = rows.learned.schema
        refuse_statistics(model, model.schema_, start, _WHERE, _SOLUTION)
        classes = start.classes
        if classes is None and is_classifier(model):
            classes = _learn_classes(rows.labels.y, peers)
        own_y = rows.labels.y
        task, target = do_alike(peers, lambda: model._learn_task(own_y, classes))
        train = _label(model, task, rows, target)
        check_base_score(model, train.init_score is not None)
        check_start(model, start, task.loss, train.init_score is not None)
        labeled = []
        for name, own in (sets or {}).items():
            set_rows = read(own, partial(_learn_set, model), start, suffix="_val")
            encode = partial(task.encode, set_rows.labels.y, "y_val")
            labeled.append(_label(model, task, set_rows, do_alike(peers, encode), name))
        groups = rows.labels.groups
        options: dict[str, Any] = {"n_jobs": n_jobs, "budget": budget, "parallel": shared}
        model._train(train, labeled, task, growth, start, None, groups, (), **options)
    return model


def _gather_parts(
    parts: Sequence[Part], sets: Mapping[str, Sequence[Part]] | None, peers: Peers
) -> tuple[list[Part], dict[str, list[Part]]]:
    """Return the partitions of all peers."""
    every = gather_objects(peers, (list(parts), dict(sets or {})))
    names = dict.fromkeys(name for _, own in every for name in own)
    of_sets = {name: [part for _, own in every for part in own.get(name, ())] for name in names}
    return [part for own, _ in every for part in own], of_sets


def _read_rows(
    model: "BaseGradientBoosting",
    peers: Peers,
    parts: Sequence[Part],
    learn: Any,
    start: Start,
    suffix: str = "",
) -> _Rows:
    """Read the partitions of a set: their schema, and all that is not a feature."""
    parts = sorted(parts, key=lambda part: part.number)
    source = PartsSource.open([(part.number, part.X) for part in parts], peers)
    learned = learn(source, roles=Roles(), known=start.schema, peers=peers)
    labels = read_labels(parts, source.sizes, not is_classifier(model), peers, suffix)
    return _Rows(learned, labels, Shards.of_sizes(peers, source.numbers, source.sizes))


def _learn_set(
    model: "BaseGradientBoosting", source: PartsSource, roles: Roles, known: Any, peers: Peers
) -> LearnedTable:
    """Read the features of a validation set: those of the training rows."""
    names = getattr(model, "feature_names_in_", None)
    table = BatchedTable.open(source, roles, None if names is None else list(names))
    if len(table.names) != model.n_features_in_:
        raise DataError(f"X_val has {len(table.names)} features, but X has {model.n_features_in_}")
    return learn_table(table, known=model.schema_, peers=peers)


def _learn_classes(y: np.ndarray, peers: Peers) -> np.ndarray:
    """Return the classes of all peers' rows."""
    own = do_alike(peers, lambda: find_classes(y, at_least=0)[0])
    classes = unite_classes(own, peers)
    check_classes(classes, at_least=1)
    return classes


def _label(
    model: "BaseGradientBoosting", task: Task, rows: _Rows, target: np.ndarray, name: str = ""
) -> LabeledRows:
    """Return the rows of a set as training takes them."""
    peers, labels = rows.shards.peers, rows.labels
    weight = task.weigh(target, labels.sample_weight, peers)
    task.loss.check_target(target, as_array(weight), peers)
    matrix: Any = BatchedMatrix(rows.learned, model.unknown_category)
    suffix = "_val" if name else ""
    sizes = (len(target), task.loss.n_outputs, f"init_score{suffix}")
    scores = do_alike(peers, lambda: check_init_score(labels.init_score, *sizes))
    own = (UnreadRows(*matrix.shape), matrix, labels.y, target, weight, scores)
    # A single process has all rows, as in any other fit.
    return LabeledRows(*own, name=name, shards=rows.shards if peers.size > 1 else None)
