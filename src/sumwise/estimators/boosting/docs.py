"""The parts of docstrings that the classifier and the regressor share."""

from sumwise.docstrings import fill_docstring

_PARAMETERS = """n_estimators : int or "auto", default="auto"
    Rounds of boosting. A round adds one tree, or one per class for more than two classes. "auto",
    here and for ``learning_rate``, ``growth`` and ``min_samples_leaf``: if all four are "auto",
    ``fit`` grows symmetric trees and measures how many the data need, see
    ``docs/guide/defaults.md``; otherwise they are 100, 0.1, "leaf" and 20. ``resolved_params_`` has
    the values.
learning_rate : float, callable, sequence of float or "auto", default="auto"
    Factor on the values of each tree. A function of the round number, counted from 0, or a
    sequence of at least ``n_estimators`` rates makes it a schedule.
base_score : float, array-like of shape (n_classes,) or None, default=None
    Prediction before the first round: a mean, the probability of the second of two classes, or
    one probability per class. None for the best constant. With a link of your own it is a raw
    score.
growth : {"auto", "leaf", "depth", "symmetric"}, default="auto"
    How trees grow: split the leaf with the largest gain next; split level by level; or use the
    same split for a whole level.
max_leaves : int or None, default=None
    Maximum number of leaves of a tree. None: 31 for leaf-wise growth, no limit otherwise.
max_depth : int or None, default=None
    Maximum number of splits from the root to a leaf. None: no limit for leaf-wise growth;
    otherwise 6, or no limit if ``max_leaves`` is given. Symmetric trees have at most 16 levels.
min_samples_leaf : int or "auto", default="auto"
    Minimum number of rows of a leaf. In symmetric trees, a node that its level's split would
    leave with fewer contributes no gain, and both children keep its value.
min_child_weight : float, default=1e-3
    Minimum sum of hessians of a leaf.
min_gain : float, default=0.0
    A split must gain more than this (half the difference of scores, as in the XGBoost paper).
max_bins : int, array-like of int or dict, default=255
    Maximum number of bins of a feature, 2 to 65,535; missing values have an additional bin.
    More than 255 take several times as long. An array has one number for each feature, a dict
    gives them by feature name, 255 for all others.
splits : {"histogram", "approx", "exact"}, default="histogram"
    Candidate splits: "histogram" between bins that are the same for all trees; "approx" between
    bins of each tree, quantiles weighted by its hessians; "exact" between any two values, for
    small data.
extra_trees : bool, default=False
    Whether a node considers one random split of each feature instead of all.
l1, l2 : float, default=0.0 and 1.0
    Penalties on leaf values. For losses whose leaves are medians or quantiles they only affect
    the choice of splits.
max_delta_step : float, default=0.0
    Largest leaf value before the learning rate; 0 means no limit.
path_smooth : float, default=0.0
    Shrinks the value of a node toward that of its parent, halfway if it has this many rows; 0
    means not at all. For losses whose leaves are medians or quantiles it only affects the
    choice of splits.
leaves : {"constant", "linear"} or LinearLeaves, default="constant"
    What leaves hold: a value, or a linear model of the numeric features above them.
    :class:`LinearLeaves` has a parameter.
booster : {"plain", "ordered", "dart", "forest", "linear"} or a part, default="plain"
    What a round does: "plain" adds a tree to the model so far; "ordered" grows it on residuals
    of models that have not seen the row; "dart" drops some of the earlier trees; "forest"
    averages trees that do not build on each other; "linear" fits a linear model instead of
    trees. The parts :class:`Plain`, :class:`Ordered`, :class:`Dart`, :class:`Forest` and
    :class:`Linear` have parameters.
sampler : str, a part or None, default=None
    Rows that the trees of a round are grown on; None for all. :class:`Subsample`,
    :class:`Goss`, :class:`Mvs`, :class:`BayesianBootstrap`, :class:`ClassSubsample`,
    :class:`GroupSubsample`, or the name of one in lower case.
columns : Columns or None, default=None
    Features that each tree, level or node may split on; None for all.
categorical_features : "auto", list or None, default="auto"
    Features whose values are categories: "auto" for strings and categorical types, a list of
    names, indices or booleans, or None for none.
categorical_encoding : str, Native or TargetStatistics, default="auto"
    How trees use categories: "native" splits by sets of them, "onehot" by one of them;
    "ordered", "greedy", "holdout" and "leave_one_out" replace them by numbers, see
    :class:`TargetStatistics`. "auto": "ordered" if a feature has more than 50 categories, or more
    than 2 where ``fit`` chooses ``n_estimators`` and there are two classes; else "native".
unknown_category : {"missing", "error"}, default="missing"
    What to do with a category that was not in the training data: treat it as a missing value
    (as the prior, if statistics encode it), or raise an error.
extra_columns : {"error", "ignore"}, default="error"
    Whether to refuse or ignore columns of a frame that were not there in ``fit``.
sparse_zeros : {"value", "missing"}, default="value"
    Whether entries that a sparse X does not store are zeros or missing values.
bundling : "auto", Bundling or None, default="auto"
    How sparse features share columns. "auto" is ``Bundling()``, which changes no model; None
    gives every feature its own column.
monotonic_cst : array-like of int, dict or None, default=None
    For each feature 1 if predictions must not decrease with it, -1 if they must not increase,
    otherwise 0. A dict gives it by feature name, 0 for all others. For a classifier it is about
    the probability of the second of two classes. Missing values have no order.
interaction_cst : list of groups, "pairwise", "no_interactions" or None, default=None
    Features that may interact: all features on the path to a leaf belong to one group of
    feature indices or names. Features in no group form one more. "pairwise": any two;
    "no_interactions": none.
early_stopping : "auto", "oob" or bool, default="auto"
    Stop when the predictions of validation rows no longer improve, and keep the best round.
    "auto": if ``X_val`` is passed to ``fit``. True: rows are held out if it is not passed.
    "oob": when rounds no longer improve on the rows that their ``sampler`` leaves out.
validation_fraction : float, default=0.1
    Share of the rows held out for early stopping.
validation_rows : {"random", "last"}, default="random"
    Which rows are held out: random ones, stratified by class (whole groups if ``groups`` are
    passed to ``fit``), or the last ones, for rows in chronological order.
scoring : str, callable, list or dict of these, default="loss"
    Metrics of validation rows in addition to the loss: "loss" for none, a scikit-learn scorer
    by name, a function of (estimator, X, y), or a metric, a function of (y_true, y_pred).
    Higher is better, unless the name of a metric ends in ``_loss``, ``_error`` or
    ``_deviance``. With several, early stopping watches the last.
n_iter_no_change : int, default=10
    Rounds without improvement after which early stopping stops.
tol : float, default=0.0
    An improvement must be larger than this.
track_training_loss : bool, default=False
    Whether ``history_`` has the "training_loss" after each round, which takes time.
conformal : bool, default=False
    Whether to learn prediction intervals (of a classifier: sets) from ``calibration_rows``, for
    ``predict_interval`` and ``predict_set``. See ``docs/guide/intervals.md``.
calibration_rows : {"auto", "cv", "holdout"} or int, default="auto"
    Rows unseen by the trees, which ``conformal`` and ``calibrate`` learn from. "auto" and "cv":
    all rows, predicted in five-fold cross-validation (a number: with so many folds); the model
    itself learns from all rows, too. "holdout": rows that only serve this purpose, which are
    ``X_val`` with ``early_stopping=False``, otherwise ``validation_fraction`` of the rows.
callbacks : list of callables or None, default=None
    Called after each round with a :class:`RoundState`; training stops if one returns True.
warm_start : bool, default=False
    Whether ``fit`` continues from the rounds of the last ``fit``; ``n_estimators`` is the
    total.
device : str, default="cpu"
    Where trees are grown, and rows predicted and explained: "cpu"; "cuda" or "cuda:1" for an
    NVIDIA GPU; "cuda:0,1" for several, which divide the rows. The model is the same, bit for bit.
    A GPU refuses "ordered" and "linear" boosters, :class:`Mvs`, linear leaves, other splits than
    "histogram", trees for several targets, and more than 255 bins. See ``docs/guide/gpu.md``.
n_jobs : int or None, default=None
    Threads; None or -1 for all CPUs. The model is the same, bit for bit, for any number. With a
    GPU, they read and bin the table.
random_state : int, RandomState or None, default=None
    Seed of sampling, of permutations (ordered statistics and ordered boosting) and of the
    held-out rows. Without a number they differ from fit to fit; only a fit that continues a
    model holds out the same rows as before. Where ``fit`` chooses ``n_estimators``, and the user
    asks for no sampling and no held-out rows, None means 0.
verbose : bool, default=False
    Show rounds, scores and time left on standard error: a progress bar if the package rich is
    installed."""

_ATTRIBUTES = """resolved_params_ : dict
    The parameters that ``fit`` may choose, with the values that it used. A model file has these.
n_trees_ : int
    Number of trees; a tree for several targets counts as one per target.
best_iteration_ : int
    Rounds in the model; with early stopping, the best number of rounds.
n_estimators_, n_iter_ : int
    The same, under scikit-learn's names.
best_score_ : float
    Its validation loss, or validation score with ``scoring``, if there were validation rows.
feature_importances_ : ndarray of shape (n_features,)
    Shares of the total gain.
oob_improvement_ : ndarray of shape (n_rounds,)
    With a ``sampler`` that leaves rows out at random, the decrease of the loss of these rows in
    each round, including rounds that early stopping has removed.
coef_, intercept_ : ndarray and float
    Of a model with ``booster="linear"``; by class or target, if there are several outputs.
history_ : dict of ndarray
    What was measured after each round, including rounds that early stopping has removed:
    "validation_loss" and "validation_score" (with ``scoring``; "validation_" and its name, if
    it has several metrics) if there were validation rows, "valid_0_loss" and so on of an
    ``eval_set``, "oob_improvement" as above, "training_loss" with ``track_training_loss``, if
    verbose or with callbacks. The loss of several targets is the mean of theirs. A model file
    does not hold the training loss.
conformal_ : ConformalIntervals or ConformalSets
    With ``conformal``: the scores of ``calibration_rows``.
ensemble_ : TreeEnsemble or LinearEnsemble
    The trees, or the linear model.
n_features_in_ : int
    Features seen in ``fit``.
feature_names_in_ : ndarray
    Their names, if X had any.
schema_ : FeatureSchema
    Their kinds, and the values of those that are categories."""

document = fill_docstring(parameters=_PARAMETERS, attributes=_ATTRIBUTES)
