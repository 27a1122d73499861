"""Compiling every kernel, so that no later fit waits for the compiler.

The kinds of table, target and X determine which kernels are compiled. Each step is a few tiny fits;
steps can run in several processes, which share the kernel cache on disk.
"""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache, partial
from itertools import product
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

from sumwise import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingRegressor,
    BayesianBootstrap,
    ClassSubsample,
    Columns,
    Goss,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    Subsample,
    from_sklearn,
)
from sumwise.cli.usage import UsageError
from sumwise.cuda.programs import compile_all, find_gpu_architectures
from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.data.matrix import read_chunks
from sumwise.data.paged import Page, PagedData
from sumwise.errors import DeviceError
from sumwise.inspection.shap import shap_interactions, shap_values
from sumwise.kernels.runtime.cache import announce_nothing
from sumwise.kernels.runtime.sums import sum_exactly
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.sampling.by_gradient import multiply_rows
from sumwise.kernels.table.copying import copy_items
from sumwise.losses import REGRESSION_LOSSES, Location
from sumwise.losses.peer_locations import find_location
from sumwise.losses.peer_sums import add_products, add_weights
from sumwise.peers import ALONE, Shards
from sumwise.sampling import RowSource
from sumwise.sampling.bootstrap import BootstrapRows
from sumwise.tree import FeatureGrower, GrowthSettings, PagedGrower, VotingGrower
from sumwise.tree.peer_refit import PeerLocationFinder

_TYPES = (np.float32, np.float64)
# Level-wise trees use the same grower as leaf-wise trees.
_GROWTHS = ("leaf", "symmetric")
_DRAWN: dict[str, Any] = {"sampler": Subsample(), "early_stopping": True, "n_estimators": 2}


class _Data(NamedTuple):
    """A tiny table in every form that trees read, and targets."""

    X: np.ndarray
    codes: np.ndarray
    gaps: Any
    total: np.ndarray
    classes: np.ndarray


@cache
def _make_data(kind: type = np.float64) -> _Data:
    X = np.random.default_rng(0).random((600, 3))
    X[:, 0] = X[:, 0].round(1)  # few distinct values; the other columns need quantiles
    total = X.sum(axis=1)
    gaps = csr_matrix(np.where(X < 0.3, X, 0).astype(kind))
    classes = np.digitize(total, (1.2, 1.8))
    return _Data(X.astype(kind), np.floor(9 * X).astype(kind), gaps, total, classes)


def _boost_numbers() -> None:
    for kind in _TYPES:
        X, _, _, total, classes = _make_data(kind)
        for model, y in (
            (GradientBoostingRegressor(**_DRAWN), total),
            (GradientBoostingClassifier(**_DRAWN), classes > 0),
            (GradientBoostingClassifier(**_DRAWN, loss="exponential"), classes > 0),
            (GradientBoostingClassifier(**_DRAWN), classes),
        ):
            model.fit(X, y)
            model.apply(X)
            for rows in (X, X[:1]):  # many rows and few use different kernels
                getattr(model, "predict_proba", model.predict)(rows)
            model.compile()
        GradientBoostingRegressor(**_DRAWN, growth="symmetric").fit(X, total)
        # Columns with quantiles get new bins for each tree.
        GradientBoostingClassifier(**_DRAWN, splits="approx", booster="dart").fit(X, classes > 0)
    with Team(2) as team:  # such small fits use a single thread, which calls no other
        team.run(multiply_rows, np.arange(1, dtype=np.uint32), np.ones(1), np.ones((1, 1)))
        for values in (np.ones(1, dtype=np.uint8), np.ones(1)):
            sum_exactly(values, np.ones(1), team)
            add_products([(values, np.ones(1))], ALONE, team)
        for name in ("uint8", "int64", "float64"):
            add_weights(1, np.zeros(1, dtype=name), np.ones(1))
        for kind in _TYPES:  # only predictions and fits on a GPU copy rows
            for _, part in read_chunks(np.ones((1, 1), dtype=kind)):
                team.run(copy_items, part.values, 1, 1, 1, 0, 1, np.empty(1, dtype=kind))


# Kinds of tables. Each has its own kernels.
_TABLES: dict[str, dict[str, Any]] = {
    "numbers": {},
    "categories": {"categorical_features": [0, 1]},
    "sparse features": {"max_bins": 32},
    "exact splits": {"splits": "exact"},
    "exact splits, categories": {"splits": "exact", "categorical_features": [0, 1]},
}


def _grow(table: str) -> None:
    """Fit and predict on a kind of table, also with leaves that are refitted or constrained."""
    losses, directions = ("squared_error", "absolute_error"), (None, [0, 0, 1])
    for growth, kind, loss, direction in product(_GROWTHS, _TYPES, losses, directions):
        data = _make_data(kind)
        X = {"numbers": data.X, "sparse features": data.gaps}.get(table, data.codes)
        settings = {"growth": growth, "monotonic_cst": direction, **_TABLES[table]}
        model = GradientBoostingRegressor(**_DRAWN, loss=loss, **settings).fit(X, data.total)
        model.apply(X)
        for n_rows in (X.shape[0], 1):
            model.predict(X[:n_rows])


class _Echo:
    """Peers for a process that is alone: another one has the same rows."""

    rank, size = 0, 2

    def add(self, *arrays: np.ndarray) -> None:
        for array in arrays:
            array *= 2

    def largest(self, values: np.ndarray) -> np.ndarray:
        return values

    def gather(self, array: np.ndarray) -> list[np.ndarray]:
        return [array, array]


def _grow_pages() -> None:
    """Grow trees on two pages of rows, as processes do, and refit their leaves as among peers.

    With so few rows, histograms sum exact values.
    """
    X, _, _, total, _ = _make_data()
    bins, n_value_bins = np.floor(9 * X.T).astype(np.uint8) + 1, np.full(3, 9)
    usable, rows = np.ones(3, dtype=np.uint8), np.arange(100, dtype=np.uint32)
    mapper = BinMapper([np.arange(0.1, 0.9, 0.1)] * 3)
    with Team(1) as team:
        pages = [
            Page(first, BinnedData.from_columns(own, n_value_bins, team, usable=usable))
            for first, own in ((0, bins[:, :100].copy()), (100, bins[:, 100:200].copy()))
        ]
        data = PagedData(pages, n_value_bins, usable)
        whole = BinnedData.from_columns(bins[:, :200].copy(), n_value_bins, team)
        for growth in _GROWTHS:
            shared = (data, mapper, GrowthSettings(growth), Columns(), 200, team)
            gradients = total[:200] - total[:200].mean(), np.ones(200)
            peers = _Echo()
            for grower in (
                PagedGrower(*shared, peers=peers),
                VotingGrower(*shared, peers=peers, top_k=1),
                FeatureGrower(whole, *shared[1:], peers=ALONE),
            ):
                tree = grower.grow_on_gradients(*gradients, rows, np.uint64(0), np.zeros(200))
                # Among peers, leaves are refitted in steps; so many equal values need counters.
                finder = PeerLocationFinder(total, total, rows, tree.n_nodes, team, ALONE)
                leaf, anchor = grower.get_leaves(tree)
                nodes = leaf, tree.left, anchor, tree.weight
                finder.find(grower.settings, rows, *nodes, total, Location(0.5, 1.0))
    find_location(np.zeros(1 << 17), np.empty(0), Location(0.5), ALONE)


def _draw_among_peers() -> None:
    """Draw rows as among peers, here of a single process."""
    n_rows = 64
    with Team(1) as team:
        source = RowSource(
            rows=np.arange(n_rows, dtype=np.uint32),
            seed=0,
            number=0,
            gradient=np.ones((1, n_rows)),
            hessian=np.ones((1, n_rows)),
            target=np.zeros(n_rows),
            team=team,
            classes=np.arange(2),
            shards=Shards.of_sizes(ALONE, [0], [n_rows]),
        )
        samplers = (Subsample(), ClassSubsample(), Goss(), BayesianBootstrap(), BootstrapRows())
        for sampler in samplers:
            sampler.draw(source)


def _boost_with_losses() -> None:
    X, _, _, total, _ = _make_data()
    y = np.minimum(total / 3.0, 1.0)
    for loss, weight in product(REGRESSION_LOSSES, (None, total)):
        GradientBoostingRegressor(**_DRAWN, loss=loss).fit(X, y, weight).predict(X)


def _boost_several_targets() -> None:
    X, _, _, total, _ = _make_data()
    model = GradientBoostingRegressor(**_DRAWN, multi_strategy="multi_output_tree")
    model.fit(X, np.column_stack([total, X[:, 0]]))


def _boost_in_other_ways() -> None:
    for kind in _TYPES:
        X, _, gaps, total, _ = _make_data(kind)
        for booster in ("dart", "forest", "linear", "ordered"):
            model = GradientBoostingRegressor(n_estimators=2, booster=booster).fit(X, total)
            model.predict(X)
        GradientBoostingRegressor(n_estimators=2, booster="linear").fit(gaps, total).predict(gaps)
        GradientBoostingRegressor(n_estimators=2, leaves="linear").fit(X, total).predict(X)
    for sampler in ("goss", "mvs", "bayesianbootstrap"):
        GradientBoostingRegressor(n_estimators=2, sampler=sampler).fit(X, total)
    many = np.floor(99 * X)
    for growth in _GROWTHS:
        model = GradientBoostingRegressor(n_estimators=2, growth=growth)
        model.set_params(categorical_features=[0, 1], categorical_encoding="ordered")
        model.fit(many, total).predict(many)
    for loss in ("squared_error", "absolute_error"):
        model = GradientBoostingRegressor(n_estimators=2, loss=loss, path_smooth=1.0)
        model.fit(X, total).refit(X, total)


def _grow_forests() -> None:
    """Grow forests for each type of target: classes, one number, several numbers."""
    for kind in _TYPES:
        X, _, gaps, total, classes = _make_data(kind)
        RandomForestRegressor(2).fit(gaps, total).predict(gaps)
        # Of so few values, trees of classes grow from the stored entries.
        rare = csr_matrix(np.where(X < 0.08, X, 0))
        for y in (classes > 0, classes, np.column_stack([classes, classes])):
            RandomForestClassifier(2).fit(rare, y).predict(rare)
    X, _, _, total, classes = _make_data()
    for forest, y in (
        (RandomForestClassifier(2), classes),
        (RandomForestClassifier(2), np.column_stack([classes, classes])),
        (RandomForestRegressor(2), total),
        (RandomForestRegressor(2), np.column_stack([total, total])),
    ):
        forest.set_params(prune="oob", leaf_posterior="oob", ccp_alpha=1e-4, random_state=0)
        forest.fit(X, y)
        for importance in ("permutation", "unbiased"):
            forest.oob_importances(X, y, kind=importance)
        forest.predict(X), forest.apply(X), forest[0].tree_
    many = np.column_stack([np.arange(len(X)) // 3, X])
    RandomForestRegressor(2, categorical_features=[0], categorical_encoding="statistics").fit(
        many, total
    ).predict(many)
    BaggingRegressor(n_estimators=2, sampling="bayesian", max_features=2).fit(X, total)


def _reweigh() -> None:
    for kind in _TYPES:
        _, _, gaps, total, _ = _make_data(kind)
        AdaBoostRegressor(n_estimators=2).fit(gaps, total).predict(gaps)
    X, _, _, total, classes = _make_data()
    for booster, y in ((AdaBoostRegressor(), total), (AdaBoostClassifier(), classes)):
        booster.set_params(n_estimators=2, method="resample").fit(X, y).predict(X)


def _explain() -> None:
    """Compute Shapley values; the kernels are the same for all rows and outputs."""
    X, _, _, total, _ = _make_data()
    # So small that the outcomes of their tests are tabulated.
    trees = GradientBoostingRegressor(n_estimators=2, max_leaves=3).fit(X, total).ensemble_
    with Team(1) as team:
        for background in (None, X[:2]):
            shap_interactions(trees, X, team, background)
            shap_values(trees, X, team, background)
        shap_values(RandomForestRegressor(2).fit(X, total).forest_, X, team)


def _import_forest() -> None:
    """Predict by imported trees, a small one and one with as many leaves as rows."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    for kind in _TYPES:
        X, _, _, total, classes = _make_data(kind)
        from_sklearn(DecisionTreeClassifier(max_depth=3).fit(X, classes)).predict(X)
        from_sklearn(DecisionTreeRegressor().fit(X, total)).predict(X)


def list_steps() -> list[dict[str, Callable[[], None]]]:
    """Return the steps by name, in two phases: the first compiles the kernels that others share.

    Steps of a phase have few kernels in common. Those that take longest come first.
    """
    return [
        {"boosting of numbers": _boost_numbers, "forests and bagging": _grow_forests},
        {
            "several targets": _boost_several_targets,
            "boosters, samplers, target statistics": _boost_in_other_ways,
            **{table: partial(_grow, table) for table in _TABLES},
            "tables in pages": _grow_pages,
            "draws among processes": _draw_among_peers,
            "losses": _boost_with_losses,
            "AdaBoost": _reweigh,
            "explanations": _explain,
            "imported forests": _import_forest,
        },
    ]


def _run_step(phase: int, name: str) -> None:
    announce_nothing()  # the progress lines report compilation
    list_steps()[phase][name]()


def _run_phases(phases: list[list[str]], n_jobs: int) -> Iterator[str]:
    """Run the phases one after the other, their steps in processes; yield the name of each step."""
    if n_jobs == 1:
        for phase, names in enumerate(phases):
            for name in names:
                _run_step(phase, name)
                yield name
        return
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_jobs, mp_context=spawn) as pool:
        for phase, names in enumerate(phases):
            running = {pool.submit(_run_step, phase, name): name for name in names}
            for done in as_completed(running):
                done.result()
                yield running[done]


def warm_up(n_jobs: int = 1, tell: Callable[[str], None] = lambda text: None) -> float:
    """Compile all kernels by tiny fits; return the seconds taken.

    Parameters
    ----------
    n_jobs : int
        Processes that compile side by side.
    tell : callable
        Called with one line per finished step.
    """
    start = perf_counter()
    phases = [list(steps) for steps in list_steps()]
    n_steps = sum(map(len, phases))
    for number, name in enumerate(_run_phases(phases, n_jobs), 1):
        tell(f"{number}/{n_steps} {name} ({perf_counter() - start:.0f} s)")
    return perf_counter() - start


def compile_all_kernels(
    n_jobs: int, gpus: Sequence[int] | None, tell: Callable[[str], None]
) -> float:
    """Compile the kernels of the CPU and of GPUs; return the seconds taken.

    Parameters
    ----------
    n_jobs : int
        Processes that compile side by side.
    gpus : sequence of int or None
        Compute capabilities, 90 for 9.0; None for those of the GPUs that are found.
    tell : callable
        Called with one line per finished step.
    """
    start = perf_counter()
    announce_nothing()  # the progress lines report compilation
    warm_up(n_jobs, tell)
    try:
        for line in compile_all(gpus or find_gpu_architectures()):
            tell(f"{line} ({perf_counter() - start:.0f} s)")
    except DeviceError as error:
        raise UsageError(str(error)) from None
    return perf_counter() - start
