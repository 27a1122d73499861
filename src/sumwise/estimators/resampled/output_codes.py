"""Error-correcting output codes: many classes by two-class learners."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from sumwise.combine.output_codes import (
    LOSSES,
    count_columns,
    couple_probabilities,
    make_exhaustive_code,
    make_random_code,
    make_tree_code,
    measure_hamming,
    measure_loss,
)
from sumwise.data.frames.selection import take_rows
from sumwise.docstrings import document_rows, fill_docstring
from sumwise.errors import DataError, ExportError, ParameterError
from sumwise.estimators.combined.out_of_fold import count_rows, take_if_by_row
from sumwise.estimators.describing.members import describe_members
from sumwise.estimators.fitted_state import fit_as_a_whole
from sumwise.estimators.input.parameters import check_choice, check_number
from sumwise.estimators.input.targets import check_sample_weight, encode_labels, read_target
from sumwise.estimators.log_probabilities import LogProbabilitiesMixin
from sumwise.estimators.members import fit_member
from sumwise.estimators.resampled.learner import LearnerEnsemble
from sumwise.estimators.resampled.parameters import OUTPUT_CODES
from sumwise.export.portable import Affine, PortableModel, Share

_N_FOLDS = 3
# Bounds of probabilities, so that log odds stay finite.
_SMALLEST_PROBABILITY = 1e-15


def _gives_probabilities(ensemble: "OutputCodeClassifier") -> bool:
    """Whether members give probabilities, and do not just vote for a side."""
    if ensemble.decoding == "hamming":
        return False
    members = getattr(ensemble, "estimators_", None) or [ensemble.estimator]
    return all(hasattr(member, "predict_proba") for member in members)


@fill_docstring(**OUTPUT_CODES)
class OutputCodeClassifier(LogProbabilitiesMixin, ClassifierMixin, LearnerEnsemble):
    """Classes encoded as words of an error-correcting code; each member learns one letter.

    Parameters
    ----------
    estimator : estimator
        A classifier of two classes; clones of it are fitted.
    code : {"random", "exhaustive", "data"} or array-like, default="random"
        "random": random columns, the best of many draws. "exhaustive": all ways to divide the
        classes into two sets, for at most 11 classes. "data": a tree of classes that first
        separates those that are confused least, as measured by out-of-fold predictions of one
        class against the others. An array is a code book of shape (n_classes, n_columns) with
        values 1, -1 and 0 (class not used).
    code_size : float, default=1.5
        Number of columns of a random code per class; at most the number of ways to divide the
        classes.
    decoding : {"loss", "hamming"}, default="loss"
        How the members' answers become a class. "loss": the class with the lowest sum of losses,
        which uses their margins. "hamming": the class that the fewest members contradict; gives no
        probabilities.
    loss : {"logistic", "exponential", "hinge", "squared", "linear"}, default="logistic"
        Loss of the margins, with ``decoding="loss"``.
    n_jobs : int or None, default=None
        Number of members that joblib fits at the same time; None for 1, -1 for all CPUs.
    random_state : int, RandomState or None, default=None
        Seed of the random code.
    verbose : int, default=0
        Whether joblib shows, on standard error, the number of fitted members.

    Attributes
    ----------
    {classes}
    code_book_ : ndarray of int8, shape (n_classes, n_columns)
        The code of each class.
    estimators_ : list of estimators
        The fitted members, one per column; none if y has only one class.
    {features}

    Notes
    -----
    A margin is the value of ``decision_function``. For learners with probabilities only, it is the
    log odds for the logistic loss, half the log odds for the exponential loss, and 2 p - 1
    otherwise. With the logistic loss and probabilities, decoding finds the most likely class under
    the assumption that members err independently. Ties go to the first class.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sumwise import OutputCodeClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = OutputCodeClassifier(
    ...     LogisticRegression(max_iter=1000), code_size=3, random_state=0
    ... ).fit(X[:500] / 16, y[:500])
    >>> model.code_book_.shape
    (10, 30)
    >>> model.score(X[500:] / 16, y[500:]) > 0.85
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        code: Any = "random",
        code_size: float = 1.5,
        decoding: str = "loss",
        loss: str = "logistic",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.code = code
        self.code_size = code_size
        self.decoding = decoding
        self.loss = loss
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_as_a_whole
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Make a code, and fit a member for each of its columns.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
            Passed to the members unchanged.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Passed to the members, which must accept weights.
        **fit_params : dict
            With metadata routing, metadata that the base learner requests.

        Returns
        -------
        self
        """
        self._check_parameters()
        X = self._open_rows(X, y)
        y = read_target(y, is_number=False)
        check_classification_targets(y)
        check_consistent_length(X, y)
        params = self._route(fit_params, check_sample_weight(sample_weight, len(y)))
        self.classes_ = np.unique(y)
        class_idx = encode_labels("y", y, self.classes_)
        self.code_book_ = self._make_code(X, class_idx, params)
        self.estimators_ = self._fit_columns(self.code_book_, X, class_idx, params)
        return self

    def _check_parameters(self) -> None:
        learner, own = self.estimator, type(self).__name__
        has_answers = hasattr(learner, "decision_function") or hasattr(learner, "predict_proba")
        if isinstance(learner, type) or not hasattr(learner, "fit") or not has_answers:
            raise ParameterError(
                f"{own}: estimator={learner!r}; must be a classifier with decision_function or "
                "predict_proba"
            )
        if isinstance(self.code, str):
            check_choice(self, "code", ("random", "exhaustive", "data"))
        check_number(self, "code_size", 0.0, open_low=True)
        check_choice(self, "decoding", ("loss", "hamming"))
        check_choice(self, "loss", LOSSES)

    def _route(self, fit_params: Mapping[str, Any], weight: np.ndarray | None) -> dict[str, Any]:
        if _routing_enabled():
            given = dict(fit_params) if weight is None else {**fit_params, "sample_weight": weight}
            return dict(process_routing(self, "fit", **given)["estimator"]["fit"]) if given else {}
        _raise_for_params(fit_params, self, "fit")
        return {} if weight is None else {"sample_weight": weight}

    # --- codes ---

    def _make_code(self, X: Any, y: np.ndarray, params: Mapping[str, Any]) -> np.ndarray:
        n_classes = self.classes_.size
        if n_classes == 1:  # nothing to decide
            return np.empty((1, 0), dtype=np.int8)
        if not isinstance(self.code, str):
            return self._read_code(n_classes)
        if self.code == "exhaustive":
            return make_exhaustive_code(n_classes)
        if self.code == "data":
            if n_classes == 2:
                return np.array([[1], [-1]], dtype=np.int8)
            return make_tree_code(self._measure_confusion(X, y, params))
        n_columns = min(int(self.code_size * n_classes), count_columns(n_classes))
        fewest = int(np.ceil(np.log2(n_classes)))
        if n_columns < fewest:
            raise ParameterError(
                f"{type(self).__name__}: code_size={self.code_size} gives {n_columns} columns for "
                f"{n_classes} classes, which need at least {fewest} to differ; use at least "
                f"{fewest / n_classes:.3g}"
            )
        return make_random_code(n_classes, n_columns, check_random_state(self.random_state))

    def _read_code(self, n_classes: int) -> np.ndarray:
        own = type(self).__name__
        code = np.asarray(self.code)
        if code.ndim != 2 or code.shape[0] != n_classes or not np.isin(code, (-1, 0, 1)).all():
            raise ParameterError(
                f"{own}: code of shape {code.shape}; must be of shape (n_classes, n_columns), with "
                f"{n_classes} classes and values 1, -1 and 0"
            )
        one_sided = np.flatnonzero(~((code == 1).any(axis=0) & (code == -1).any(axis=0)))
        if one_sided.size:
            raise ParameterError(
                f"{own}: column {one_sided[0]} of code has one side only; it must have both 1 and "
                "-1"
            )
        if np.unique(code, axis=0).shape[0] < n_classes:
            raise ParameterError(f"{own}: two classes have the same code")
        return code.astype(np.int8)

    def _measure_confusion(self, X: Any, y: np.ndarray, params: Mapping[str, Any]) -> np.ndarray:
        """Return how often two classes are confused, out of fold."""
        from sklearn.model_selection import StratifiedKFold

        n_classes = self.classes_.size
        fewest = int(np.bincount(y).min())
        if fewest < 2:
            label = self.classes_.tolist()[int(np.bincount(y).argmin())]
            raise DataError(
                "code='data' measures which classes are confused, for which each needs two rows; "
                f"{label!r} has one: use a random code"
            )
        against_others = 2 * np.eye(n_classes, dtype=np.int8) - 1
        counts = np.zeros((n_classes, n_classes))
        folds = StratifiedKFold(min(_N_FOLDS, fewest), shuffle=True, random_state=0)
        for train, test in folds.split(np.zeros(len(y)), y):
            n_rows = count_rows(X)
            part = {k: take_if_by_row(v, train, n_rows) for k, v in params.items()}
            members = self._fit_columns(against_others, take_rows(X, train), y[train], part)
            margins = self._find_margins(members, take_rows(X, test))
            guessed = measure_loss(against_others, margins, self.loss).argmin(axis=1)
            np.add.at(counts, (y[test], guessed), 1.0)
        shares = counts / counts.sum(axis=1, keepdims=True)
        return shares + shares.T

    # --- members ---

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        check_is_fitted(self)
        return int(self.classes_.size)

    def _fit_columns(
        self, code: np.ndarray, X: Any, y: np.ndarray, params: Mapping[str, Any]
    ) -> list[Any]:
        return list(
            Parallel(n_jobs=self.n_jobs, verbose=self.verbose)(
                delayed(_fit_column)(f"member {k}", clone(self.estimator), column[y], X, params)
                for k, column in enumerate(code.T)
            )
        )

    def _find_margins(self, members: list[Any], X: Any) -> np.ndarray:
        margins = [_find_margin(member, X, self.loss) for member in members]
        return np.column_stack(margins) if margins else np.empty((count_rows(X), 0))

    @document_rows
    def predict_distances(self, X: Any) -> np.ndarray:
        """Return how much each class disagrees with the members' answers.

        {rows}
        ndarray of shape (n_rows, n_classes)
            Sums of losses, or Hamming distances.
        """
        X = self._check_rows(X)
        margins = self._find_margins(self.estimators_, X)
        if self.decoding == "hamming":
            return measure_hamming(self.code_book_, margins)
        return measure_loss(self.code_book_, margins, self.loss)

    @document_rows
    def predict(self, X: Any) -> np.ndarray:
        """Return the class whose code agrees best with the members' answers.

        {rows}
        ndarray of shape (n_rows,)
        """
        distances = self.predict_distances(X)
        return self.classes_[distances.argmin(axis=1)]

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    @document_rows
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the class probabilities that agree best with those of the members.

        They are the maximum likelihood estimate, given the members' probabilities of their sides
        (Huang, Weng and Lin 2006), and are correct if those are. ``predict`` decodes in another
        way, so for some rows its class is not the most probable one.

        {rows}
        ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        X = self._check_rows(X)
        sides = [np.asarray(member.predict_proba(X))[:, 1] for member in self.estimators_]
        said = np.column_stack(sides) if sides else np.empty((count_rows(X), 0))
        return couple_probabilities(self.code_book_, said)

    def _describe(self) -> PortableModel:
        """Return the model in plain terms, for export: shares of the members that agree."""
        check_is_fitted(self)
        name, n_classes = type(self).__name__, self.classes_.size
        if self.decoding != "hamming":
            raise ExportError(
                "decoding='loss' of output codes cannot be exported; set_params(decoding="
                "'hamming') decodes by votes, which can"
            )
        labels = [f"member {k}" for k in range(len(self.estimators_))]
        methods = ["predict"] * len(labels)
        members = describe_members(self, labels, self.estimators_, methods)
        # A member that leaves a class out agrees with it by one half.
        agrees = [(1.0 + np.outer(code, [-1.0, 1.0])) / 2.0 for code in self.code_book_.T]
        slopes = np.hstack([np.zeros((n_classes, 0)), *agrees])
        votes = Affine(tuple(members.nodes), slopes, np.zeros(n_classes))
        return PortableModel(name, members.inputs, Share(votes), (self.classes_,))

    # --- scikit-learn ---

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata of ``fit`` is routed: to the base learner."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")


def _fit_column(
    label: str, member: Any, sides: np.ndarray, X: Any, params: Mapping[str, Any]
) -> Any:
    """Fit a member on the rows whose class has a side; side -1 is class 0."""
    params = dict(params)
    if not sides.all():
        rows = np.flatnonzero(sides)
        n_rows = count_rows(X)
        params = {k: take_if_by_row(v, rows, n_rows) for k, v in params.items()}
        X, sides = take_rows(X, rows), sides[rows]
    return fit_member(label, member, X, (sides > 0).astype(np.intp), params)


def _find_margin(member: Any, X: Any, loss: str) -> np.ndarray:
    """Return the margins of a member for side 1."""
    if hasattr(member, "decision_function"):
        return np.asarray(member.decision_function(X), dtype=np.float64).ravel()
    p = np.asarray(member.predict_proba(X))[:, 1]
    if loss not in ("logistic", "exponential"):
        return 2.0 * p - 1.0
    p = np.clip(p, _SMALLEST_PROBABILITY, 1.0 - _SMALLEST_PROBABILITY)
    odds = np.log(p) - np.log1p(-p)
    return odds if loss == "logistic" else 0.5 * odds
