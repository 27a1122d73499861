"""The state of a boosting fit: settings, rows, table, scores, and how a tree is grown."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.data.matrix import Matrix
from sumwise.data.quantiles import QuantileData
from sumwise.errors import ParameterError, TrainingError
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.sampling.by_gradient import multiply_rows
from sumwise.lazy import lazy
from sumwise.losses import Loss
from sumwise.losses.base import take_target
from sumwise.peers import ALONE, Peers, Shards, add_up
from sumwise.sampling import Columns, DrawnRows, RowSampler, RowSource
from sumwise.sampling.rows import no_factors
from sumwise.training.callbacks import Callback, RoundState, call_all
from sumwise.training.rounds import BoostingResult, replay_rounds
from sumwise.training.stopping import OOB, EarlyStopping
from sumwise.tree import (
    Ensemble,
    GrowthSettings,
    LeafModeler,
    LinearLeaves,
    Tree,
    TreeEnsemble,
    TreeGrower,
)
from sumwise.tree.growers import make_grower
from sumwise.tree.parallel import DATA, Parallel

if TYPE_CHECKING:
    from sumwise.data.device_table import DeviceTable
    from sumwise.training.boosters.base import Booster
    from sumwise.tree import LeafRefitter, LeafSolver, VectorGrower

# Most left-out rows that are measured if early stopping does not depend on them: the loss of all
# would take a tenth of the time of a round.
MOST_LEFT_OUT = 1 << 14

# Takes the raw scores of the validation rows (n_rows, n_outputs), and a function that makes the
# ensemble so far, to be called only if needed.
ValidationScorer = Callable[[np.ndarray, Callable[[], Ensemble]], float]


@dataclass(frozen=True)
class EvaluatedRows:
    """Rows that are measured after each round by the loss and by scorers.

    In the history, a score has this ``name`` followed by that of the scorer: ``valid_0_loss``.
    """

    name: str
    rows: np.ndarray
    scorers: Mapping[str, ValidationScorer] = field(default_factory=dict)


@dataclass(frozen=True)
class BoostingSettings:
    """What a fit does, apart from the data.

    ``rates`` has one learning rate per round; None for the constant rate of ``growth``. ``booster``
    defines a round; None for plain boosting. ``leaves`` asks for linear models in leaves; None for
    constant values. ``base_score`` has the raw scores to start from; None for the best constant.
    ``evaluated`` are sets of validation rows that are measured separately; None for one set of all.
    ``make_model`` makes the model that callbacks see. ``parallel`` tells how several processes
    share the work of growing a tree.
    """

    loss: Loss
    growth: GrowthSettings
    n_rounds: int = 100
    rates: np.ndarray | None = None
    booster: "Booster | None" = None
    sampler: RowSampler | None = None
    columns: Columns | None = None
    leaves: LinearLeaves | None = None
    stopping: EarlyStopping | None = None
    seed: int = 0
    track_training_loss: bool = False
    base_score: np.ndarray | None = None
    evaluated: Sequence[EvaluatedRows] | None = None
    callbacks: Sequence[Callback] = ()
    make_model: Callable[[BoostingResult], Any] = lambda result: result
    parallel: Parallel = DATA


@dataclass(frozen=True)
class TrainingRows:
    """Targets, weights and roles of all rows of the table.

    ``target`` has shape (n_rows,) or (n_rows, n_targets), in column order; on a device, several
    targets are a tuple of arrays. ``weight`` is empty if
    all weights are one. ``train`` and ``valid`` are row numbers; rows in neither are not used.
    ``init_score`` has shape (n_outputs, n_rows). ``groups`` has the groups of the first rows of the
    table, at least up to the last training row, and ``classes`` the class labels. ``shards`` tells
    where the rows are among those of other processes; None if there are none.
    """

    target: np.ndarray
    weight: np.ndarray
    train: np.ndarray
    valid: np.ndarray
    init_score: np.ndarray | None = None
    groups: np.ndarray | None = None
    classes: np.ndarray | None = None
    shards: Shards | None = None

    @property
    def peers(self) -> Peers:
        """The processes that have the other rows."""
        return ALONE if self.shards is None else self.shards.peers

    @property
    def n_train(self) -> int:
        """The number of training rows of all processes."""
        return self._totals[0]

    @property
    def n_valid(self) -> int:
        """The number of validation rows of all processes."""
        return self._totals[1]

    @lazy
    def _totals(self) -> list[int]:
        # All processes must ask for them at the same time, but only once.
        return add_up(self.peers, self.train.size, self.valid.size)

    @property
    def n_rows(self) -> int:
        return len(self.target[0] if isinstance(self.target, tuple) else self.target)

    @property
    def n_targets(self) -> int:
        if isinstance(self.target, tuple):
            return len(self.target)
        return 1 if self.target.ndim == 1 else self.target.shape[1]


@dataclass(frozen=True)
class TrainingTable:
    """The features of all rows, as a booster reads them.

    Attributes
    ----------
    matrices : sequence of Matrix
        The rows before binning, in one or more matrices.
    data : BinnedData or None
        The binned rows; None for a booster without trees.
    mapper : BinMapper or None
        Their bins.
    variants : sequence of BinnedData
        The same rows and bins, with categories encoded by other permutations.
    on_devices : sequence of DeviceTable
        The binned rows, divided among devices; ``data`` is None then. Empty for the CPU.
    """

    matrices: Sequence[Matrix]
    data: BinnedData | None = None
    mapper: BinMapper | None = None
    variants: Sequence[Any] = ()
    on_devices: Sequence["DeviceTable"] = ()

    @property
    def binned(self) -> tuple[BinnedData, BinMapper]:
        """The binned rows and their bins, for boosters that grow trees."""
        assert self.data is not None
        assert self.mapper is not None
        return self.data, self.mapper

    @property
    def all_tables(self) -> list[Any]:
        """The binned rows of all permutations, as growers turn from one to the other."""
        return [self.data if self.data is not None else self.on_devices, *self.variants]

    @property
    def n_features(self) -> int:
        tables = [self.data] if self.data is not None else self.on_devices
        return tables[0].n_features if tables else self.matrices[0].shape[1]


@dataclass(frozen=True)
class Sample:
    """The rows of a draw.

    Trees grow on the rows ``seen``; ``unseen`` are all other rows, ``left_out`` the training rows
    among them. ``factor`` has the factors on the gradients of ``seen``, empty if all are one.
    """

    seen: np.ndarray
    unseen: np.ndarray
    left_out: np.ndarray
    factor: np.ndarray = field(default_factory=no_factors)


class Session:
    """One fit: its scores, gradients and growers, which boosters use.

    Attributes
    ----------
    raw : ndarray of shape (n_outputs, n_rows)
        Scores of all rows of the table by the model so far.
    gradient, hessian : ndarray of the same shape
        Filled by :meth:`take_gradient`.
    base_score : ndarray of shape (n_outputs,)
    """

    def __init__(
        self,
        table: TrainingTable,
        rows: TrainingRows,
        settings: BoostingSettings,
        team: Team,
        past: BoostingResult | None,
    ) -> None:
        self.table, self.rows, self.settings, self.team = table, rows, settings, team
        self.past = past
        self.base_score = (
            find_base_score(settings, rows, team) if past is None else past.ensemble.base_score
        )
        self.raw = self._start_scores()
        self.gradient, self.hessian = self.empty_scores(), self.empty_scores()
        self._loss_left_out = np.nan
        self._sampler_buffers: dict[str, Any] = {}

    def _start_scores(self) -> np.ndarray:
        """Return the scores before the first round."""
        raw = np.empty((self.base_score.size, self.rows.n_rows))
        raw[:] = self.base_score[:, None]
        if self.rows.init_score is not None:
            raw += self.rows.init_score
        return raw

    @property
    def n_outputs(self) -> int:
        return self.settings.loss.n_outputs

    # --- scores ---

    def empty_scores(self) -> np.ndarray:
        """Return a new array of the shape of ``raw``, with any contents."""
        return np.empty_like(self.raw)

    def zero_scores(self) -> np.ndarray:
        """Return zeros of the shape of ``raw``."""
        return np.zeros_like(self.raw)

    def has_finite_scores(self) -> bool:
        """Whether all scores are finite."""
        # If all are, so are the extremes; an array of flags would add to the peak of memory.
        return bool(np.isfinite([self.raw.min(), self.raw.max()]).all())

    def take_scores(self, rows: np.ndarray) -> np.ndarray:
        """Return the scores of rows as (n_rows, n_outputs)."""
        return np.ascontiguousarray(self.raw[:, rows].T)

    def measure_loss(self, rows: np.ndarray) -> float:
        """Return the mean loss of rows."""
        return self._find_loss(self.raw, rows)

    def _find_loss(self, raw: np.ndarray, rows: np.ndarray) -> float:
        own = self.rows
        return self.settings.loss.value(own.target, raw, own.weight, rows)

    def replay(self, ensemble: Ensemble) -> Iterator[int]:
        """Add the rounds of an ensemble to the scores one by one; yield their numbers."""
        yield from replay_rounds(ensemble, self.table.matrices, self.raw, self.team)

    @lazy
    def used_rows(self) -> np.ndarray:
        """The training rows, then the validation rows."""
        return np.concatenate([self.rows.train, self.rows.valid])

    # --- trees ---

    @lazy
    def grower(self) -> TreeGrower:
        settings, (data, mapper) = self.settings, self.table.binned
        return make_grower(
            data,
            mapper,
            settings.growth,
            settings.columns or Columns(),
            self.rows.train.size,
            self.team,
            self.rows.peers,
            settings.parallel,
        )

    def make_solver(self) -> "LeafSolver":
        """Return what sets leaves to Newton steps of other gradients."""
        from sumwise.tree import LeafSolver  # few boosters need it

        return LeafSolver(self.grower, self.rows.train.size, self.team)

    def get_refitter(self, output: int) -> "LeafRefitter":
        """Return the refitter of an output, for losses that refit leaves to locations."""
        return self._refitters[output % len(self._refitters)]

    @lazy
    def _refitters(self) -> list["LeafRefitter"]:
        rows, sampler = self.rows, self.settings.sampler
        refitters = []
        for output, weight in enumerate(self._location_weights):
            if sampler is not None and sampler.has_factors and not weight.size:
                weight = np.ones(rows.n_rows)
            target = take_target(rows.target, output)
            refitters.append(self._make_refitter(target, weight))
        return refitters

    def _make_refitter(self, target: np.ndarray, weight: np.ndarray) -> "LeafRefitter":
        from sumwise.tree import LeafRefitter  # few losses need it

        return LeafRefitter(self._own_grower, target, weight, self.rows.train, self.team)

    @lazy
    def _location_weights(self) -> list[np.ndarray]:
        """The weights of rows in medians and other locations, for each target."""
        loss, rows = self.settings.loss, self.rows
        return [
            loss.at_output(k).location_weight(take_target(rows.target, k), rows.weight)
            for k in range(rows.n_targets)
        ]

    @lazy
    def vector_grower(self) -> "VectorGrower":
        """The grower of trees that serve all outputs."""
        from sumwise.tree import VectorGrower  # only needed here

        settings, columns = self.settings, self.settings.columns or Columns()
        sizes = (self.rows.train.size, self.n_outputs, self._count_hessians())
        return VectorGrower(*self.table.binned, settings.growth, columns, *sizes, self.team)

    def _count_hessians(self) -> int:
        """Return the number of hessians of a row that may differ; 0 if all are 1."""
        loss, sampler = self.settings.loss, self.settings.sampler
        if not loss.hessian_is_weight:
            return loss.n_outputs
        has_factors = sampler is not None and sampler.has_factors
        return 1 if self.rows.weight.size or has_factors else 0

    @property
    def _own_grower(self) -> "TreeGrower | VectorGrower":
        booster = self.settings.booster
        shares_splits = booster is not None and booster.shares_splits
        return self.vector_grower if shares_splits else self.grower

    def begin_round(self, round_idx: int) -> None:
        """Set the learning rate of a round if there is a schedule."""
        if self.settings.rates is None:
            return
        rate = float(self.settings.rates[round_idx])
        growth = replace(self.settings.growth, learning_rate=rate)
        self.settings = replace(self.settings, growth=growth)
        if self.table.mapper is not None:
            self._own_grower.set_learning_rate(rate)

    @lazy
    def modeler(self) -> LeafModeler | None:
        """Fits linear models in leaves; None if leaves are constant."""
        part = self.settings.leaves
        if part is None:
            return None
        return LeafModeler(self.grower, part, self.table.matrices, self.team)

    def take_gradient(self, raw: np.ndarray) -> Loss:
        """Fill gradient and hessian at these scores; return the loss of this round."""
        loss = self._adapt_loss(raw)
        self._fill_gradient(loss, raw)
        return loss

    def _fill_gradient(self, loss: Loss, raw: np.ndarray) -> None:
        rows = self.rows
        loss.gradient(self.team, rows.target, raw, rows.weight, self.gradient, self.hessian)

    def _adapt_loss(self, raw: np.ndarray) -> Loss:
        """Return the loss of a round that begins with these scores."""
        rows = self.rows
        return self.settings.loss.at_round(rows.target, raw, rows.weight, rows.train)

    def draw_rows(self, number: int) -> Sample:
        """Draw rows, and multiply their gradients and hessians by the factors of the draw."""
        rows, sampler = self.rows, self.settings.sampler
        if sampler is None:
            return Sample(rows.train, rows.valid, rows.train[:0])
        source = RowSource(
            rows=rows.train,
            seed=self.settings.seed,
            number=number,
            gradient=self.gradient,
            hessian=self.hessian,
            target=rows.target,
            team=self.team,
            groups=rows.groups,
            classes=rows.classes,
            shards=rows.shards,
            buffers=self._sampler_buffers,
        )
        drawn = sampler.draw(source)
        self._apply_factors(drawn)
        left_out = drawn.left_out
        if left_out is None:
            is_seen = np.zeros(rows.n_rows, dtype=np.bool_)
            is_seen[drawn.rows] = True
            left_out = rows.train[~is_seen[rows.train]]
        unseen = np.concatenate([left_out, rows.valid])
        return Sample(drawn.rows, unseen, left_out, drawn.factor)

    def _apply_factors(self, drawn: DrawnRows) -> None:
        if drawn.factor.size:
            for values in (self.gradient, self.hessian):
                self.team.run(multiply_rows, drawn.rows, drawn.factor, values)
        if self.settings.loss.location is not None and self._has_factors(drawn):
            for refitter, weight in zip(self._refitters, self._location_weights, strict=True):
                refitter.weigh(drawn.rows, weight, drawn.factor)

    def _has_factors(self, drawn: DrawnRows) -> bool:
        """Whether a draw has factors other than one."""
        return drawn.factor.size > 0

    def grow_tree(
        self, loss: Loss, output: int, number: int, sample: Sample, scores: np.ndarray
    ) -> Tree:
        """Grow a tree on the gradient of an output, and add its values to the scores of all rows.

        Parameters
        ----------
        loss : Loss
            From :meth:`take_gradient`.
        output : int
        number : int
            Number of the tree, which seeds its random numbers.
        sample : Sample
            From :meth:`draw_rows`.
        scores : ndarray of shape (n_rows,)
            Scores of the output, at which the gradients were taken.
        """
        grower, location = self.grower, loss.at_output(output).location
        key = random.make_key(self.settings.seed, random.TREES, number)
        values_follow = location is not None or self.modeler is not None
        added_to = np.empty(0) if values_follow else scores
        gradient, hessian = self.gradient[output], self.hessian[output]
        tree = grower.grow_on_gradients(gradient, hessian, sample.seen, key, added_to)
        if self.modeler is not None:
            tree = self.modeler.fit(tree, sample.seen, gradient, hessian)
            self.modeler.add_values(tree, sample.seen, scores)
            if sample.unseen.size:
                grower.find_leaves(tree, sample.unseen)
                self.modeler.add_values(tree, sample.unseen, scores)
            return tree
        if location is not None:
            tree = self.get_refitter(output).refit(tree, sample.seen, scores, location)
        if sample.unseen.size:
            grower.add_to_scores(tree, sample.unseen, scores)
        return tree

    def grow_tree_at(
        self,
        start: np.ndarray,
        loss: Loss,
        output: int,
        number: int,
        sample: Sample,
        scores: np.ndarray,
    ) -> Tree:
        """Grow a tree on the gradient at ``start``, and add its values to other ``scores``."""
        if loss.location is None:
            return self.grow_tree(loss, output, number, sample, scores)
        # Leaves are refitted to the scores at which the gradient was taken.
        tree = self.grow_tree(loss, output, number, sample, start.copy())
        rows = np.concatenate([sample.seen, sample.unseen])
        self.grower.add_to_scores(tree, rows, scores)
        return tree

    def grow_vector_tree(
        self, loss: Loss, number: int, sample: Sample, raw: np.ndarray
    ) -> list[Tree]:
        """Grow one tree for all outputs, and add its values to their scores.

        Parameters are as in :meth:`grow_tree`; ``raw`` has the scores of all outputs. Return one
        tree per output.
        """
        grower = self.vector_grower
        key = random.make_key(self.settings.seed, random.TREES, number)
        trees = grower.grow(self.gradient, self.hessian, sample.seen, key)
        for output, scores in enumerate(raw):
            location = loss.at_output(output).location
            if location is None:
                grower.add_leaf_values(trees[output], sample.seen, scores)
            else:
                own = (trees[output], sample.seen, scores, location)
                trees[output] = self.get_refitter(output).refit(*own)
            if sample.unseen.size:
                grower.add_to_scores(trees[output], sample.unseen, scores)
        return trees

    def add_old_tree(self, tree: Tree, rows: np.ndarray, scores: np.ndarray) -> None:
        """Add the values of a tree of any round to the scores of rows."""
        if not isinstance(self.table.data, QuantileData):
            self.grower.add_to_scores(tree, rows, scores)
            return
        # The bins of each tree differ, so its thresholds are used.
        link, n_features = self.settings.loss.link, self.table.n_features
        alone = TreeEnsemble.from_trees([tree], np.zeros(1), link, n_features)
        found = [alone.predict_raw(X, self.team)[:, 0] for X in self.table.matrices]
        scores[rows] += np.concatenate(found)[rows]

    # --- rows that a round leaves out ---

    @property
    def measures_left_out(self) -> bool:
        """Whether the loss of the rows that a round leaves out is measured."""
        sampler, booster = self.settings.sampler, self.settings.booster
        alike = sampler is not None and sampler.leaves_out_alike
        has_value = self.settings.loss.has_value or self._stops_by_left_out
        return alike and has_value and (booster is None or booster.measures_left_out)

    @property
    def _stops_by_left_out(self) -> bool:
        stopping = self.settings.stopping
        return stopping is not None and stopping.watched == OOB

    def begin_left_out(self, sample: Sample, raw: np.ndarray) -> None:
        """Measure the loss of the left-out rows before the round changes their scores."""
        if self.measures_left_out:
            self._n_left_out = self._count(sample.left_out)
            n = max(1, self._n_left_out)
            step = 1 if self._stops_by_left_out else -(-n // MOST_LEFT_OUT)
            self._left_out = self._choose_left_out(sample.left_out, step)
            self._loss_left_out = self._find_loss_left_out(raw)

    def find_improvement(self, raw: np.ndarray) -> float:
        """Return the decrease of the loss of the left-out rows since the round began."""
        return self._loss_left_out - self._find_loss_left_out(raw)

    def _find_loss_left_out(self, raw: np.ndarray) -> float:
        if not self._n_left_out:
            if self._stops_by_left_out:
                raise ParameterError(
                    f"early_stopping='oob', but sampler={self.settings.sampler!r} leaves none of "
                    f"the {self.rows.n_train} rows out; lower its rate"
                )
            return np.nan
        return self._find_loss(raw, self._left_out)

    def _count(self, rows: np.ndarray) -> int:
        """Return the number of rows."""
        return int(rows.size)

    def _choose_left_out(self, left_out: np.ndarray, step: int) -> np.ndarray:
        """Return every ``step``-th of the rows that are left out."""
        return np.ascontiguousarray(left_out[::step])

    # --- callbacks ---

    def tell_callbacks(self, state: RoundState) -> bool:
        """Call all callbacks after a round; return whether one of them asks to stop."""
        return call_all(self.settings.callbacks, state)


def find_base_score(
    settings: BoostingSettings, rows: TrainingRows, team: Team | None = None
) -> np.ndarray:
    """Return the constant to start from: the user's, or the best for the loss."""
    loss, peers = settings.loss, rows.peers
    if settings.base_score is not None:
        return settings.base_score
    if rows.init_score is not None:
        score = loss.initial_shift(rows.target, rows.weight, rows.train, rows.init_score, peers)
    else:
        score = loss.initial_score(rows.target, rows.weight, rows.train, team, peers)
    if not np.isfinite(score).all():
        raise TrainingError(
            "the mean of the targets is not finite: targets or weights are too large in "
            "magnitude; scale them down"
        )
    return score
