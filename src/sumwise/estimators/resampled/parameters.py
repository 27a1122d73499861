"""Documentation that ensembles of one base learner share.

The texts are pieces of docstrings, for :func:`sumwise.docstrings.fill_docstring`.
"""

_FEATURE_ATTRIBUTES = """n_features_in_ : int
    Number of features seen in ``fit``.
feature_names_in_ : ndarray
    Their names, if X had any."""

_CLASS_ATTRIBUTES = """classes_ : ndarray
    Class labels, sorted.
n_classes_ : int
    Number of classes."""

# --- bagging and output noise ---

_LEARNER = """estimator : estimator or None, default=None
    The base learner, of any type: clones of it are fitted. None for a decision tree of sumwise."""

_VOTES = """votes : {"auto", "soft", "hard"}, default="auto"
    "soft": the mean of the members' probabilities decides. "hard": members vote with labels.
    "auto": "soft" if the base learner has probabilities.
tie : {"random", "confidence"}, default="random"
    How ties of the vote are broken: at random, but the same way for a row in every call, or in
    favor of the class with the highest mean probability, which requires ``predict_proba``."""

_JOBS = """n_jobs : int or None, default=None
    Number of members that joblib fits, or lets predict, at the same time; None for 1, -1 for all
    CPUs. Results do not depend on it.
random_state : int, RandomState or None, default=None
    Seed of all random draws, and of the members' own seeds.
verbose : int, default=0
    Whether to show progress on standard error: the members that joblib has fitted (it receives
    this number), or the trees that have grown."""

_MEMBER_ATTRIBUTES = f"""estimator_ : estimator
    The unfitted base learner.
estimators_ : list of estimators
    The fitted members, also available as ``model[0]`` and so on.
{_FEATURE_ATTRIBUTES}"""

_VOTER_ATTRIBUTES = f"""{_CLASS_ATTRIBUTES}
votes_ : {{"hard", "soft"}}
    What members vote with.
{_MEMBER_ATTRIBUTES}"""

_BAGGING = """n_estimators : int, default=10
    Number of members.
max_samples : int, float or None, default=None
    Rows drawn for a member: a number, or a share of the rows in (0, 1]. None for as many as there
    are. Without replacement, at most all rows; with replacement, at most ten million or 100 times
    as many as there are. If ``sampling`` is a part, its ``rate`` is used instead.
max_features : int or float, default=1.0
    Features drawn for a member: a number, or a share in (0, 1]. With all rows
    (``bootstrap=False``) this is the random subspace method; with some of the rows, random patches.
bootstrap : bool or None, default=None
    Whether rows are drawn with replacement, as in scikit-learn. None for the choice of
    ``sampling``, or True without one.
bootstrap_features : bool, default=False
    Whether features are drawn with replacement.
sampling : {"bootstrap", "pasting", "poisson", "bayesian"}, part or None, default=None
    How rows are drawn: :class:`Bootstrap`, :class:`Pasting`, :class:`PoissonBootstrap` or
    :class:`BayesianBootstrap`. None for the choice of ``bootstrap``. ``bootstrap=False`` takes all
    rows unless ``max_samples`` is smaller, whereas "pasting" takes half of them.
perturb : dict or None, default=None
    Parameters of the base learner that are drawn for each member: a dict from names to lists of
    values, or to distributions with a method ``rvs``.
oob_score : bool, str or callable, default=False
    Whether and how to score the ensemble on out-of-bag rows: True for accuracy or R², the name of
    a scikit-learn scorer, a scorer, or a function of (y_true, y_pred), whose result is not changed.
conformal : bool, default=False
    Whether to learn prediction intervals (of a classifier: sets) from out-of-bag rows, for
    ``predict_interval`` and ``predict_set``. See ``docs/guide/intervals.md``.
early_stopping : {"oob"}, OobStopping or None, default=None
    Whether base learners with ``partial_fit`` are trained epoch by epoch until their out-of-bag
    loss stops improving.
warm_start : bool, default=False
    Whether ``fit`` keeps the existing members and adds more, on the same rows."""

_BAGGING_ATTRIBUTES = """estimators_samples_ : list of ndarray
    Rows that each member saw; a row drawn twice occurs twice.
estimators_features_ : list of ndarray
    Features that each member saw.
estimators_parameters_ : list of dict
    Parameters that ``perturb`` drew for each member.
oob_score_ : float
    With ``oob_score``, like the attributes below: the score of out-of-bag predictions, weighted by
    sample weights if the metric takes them. NaN if no row has a prediction.
oob_score_is_optimistic_ : bool
    Whether the scored rows also stopped members early.
conformal_ : ConformalIntervals or ConformalSets
    With ``conformal``: the scores of out-of-bag rows.
oob_losses_ : list of list of float
    With ``early_stopping``: each member's out-of-bag loss after each epoch."""

_TABLE_NOTE = """Decision trees of sumwise share one table: X is read and binned once, from all
rows, and members grow side by side. ``n_jobs`` is then the number of threads, None for all CPUs.
``estimators_`` are created on access."""

_SHARED_BAGS = f"""{_TABLE_NOTE}
This does not apply with ``perturb`` or ``bootstrap_features``, or to subclasses. Within
``joblib.parallel_config("dask")`` the table is sent to the workers of the cluster, and the members
grow there, except with ``n_jobs=1``."""

_CALIBRATE = """calibrate : {"isotonic", "logistic"} or None, default=None
    How probabilities are calibrated, on out-of-bag rows: by nondecreasing curves, or by logistic
    functions. The labels of ``predict`` follow. See ``docs/guide/calibration.md``."""

_CALIBRATION = """calibration_ : Calibration
    With ``calibrate``: the functions that were learned."""

BAGGING_REGRESSOR = {
    "parameters": f"{_LEARNER}\n{_BAGGING}\n{_JOBS}",
    "attributes": f"{_MEMBER_ATTRIBUTES}\n{_BAGGING_ATTRIBUTES}",
    "table": _SHARED_BAGS,
}
BAGGING_CLASSIFIER = {
    "parameters": f"{_LEARNER}\n{_BAGGING}\n{_VOTES}\n{_CALIBRATE}\n{_JOBS}",
    "attributes": f"{_VOTER_ATTRIBUTES}\n{_BAGGING_ATTRIBUTES}\n{_CALIBRATION}",
    "table": _SHARED_BAGS,
}
OUTPUT_NOISE = {
    "learner": f"""{_LEARNER}
n_estimators : int, default=100
    Number of members; averaging out the noise takes many.""",
    "votes": _VOTES,
    "jobs": _JOBS,
    "voter_attributes": _VOTER_ATTRIBUTES,
    "attributes": _MEMBER_ATTRIBUTES,
    "table": _TABLE_NOTE,
}

# --- AdaBoost ---

_ADABOOST = """estimator : estimator or None, default=None
    The base learner, any {kind}: clones of it are fitted. None for {default}.
    These are grown on one binned table and are much faster than others. If X has categories,
    decision trees of depth {depth} are used, which split them by sets.
n_estimators : int, default=50
    Maximum number of rounds. Training ends earlier if a learner is perfect, or if none is better
    than chance.
learning_rate : float, default=1.0
    Factor on the weight of every learner.
method : {{"auto", "reweight", "resample"}}, default="auto"
    How the base learner takes the weights of rows into account. "reweight" passes them as
    ``sample_weight``; "resample" draws as many rows as there are, with replacement and by weight.
    {auto}
max_restarts : int, default=10
    How often, in a round that draws rows, a learner that is no better than chance is discarded and
    another sample is drawn from the same weights. With "reweight" a learner would not change, so
    training ends at once.
n_jobs : int or None, default=None
    Number of threads of the default base learner and of decision trees of sumwise; None and -1 for
    all CPUs. Results do not depend on it. Other base learners have their own ``n_jobs``.
random_state : int, RandomState or None, default=None
    Seed of the rows drawn, and of base learners that have a ``random_state``.
verbose : int, default=0
    Whether to show the rounds on standard error, with the error of each."""

_ADABOOST_ATTRIBUTES = f"""estimator_ : estimator
    The base learner that was used.
estimators_ : list of estimators
    The fitted learners, also available as ``model[0]`` and so on. Decision trees of sumwise are
    created on access.
estimator_errors_ : ndarray
    Error of each learner over all rows, with the weights of its round.
method_ : {{"reweight", "resample"}}
    How the weights of rows were taken into account.
stop_reason_ : {{"n_estimators", "perfect", "too_weak"}}
    Why training ended: all rounds are done, a learner makes no error, or none is better than
    chance.
n_restarts_ : int
    Number of learners that were discarded and replaced.
feature_importances_ : ndarray of shape (n_features,)
    Weighted mean of the learners' importances, if they have any.
{_FEATURE_ATTRIBUTES}"""

ADABOOST_CLASSIFIER = {
    "parameters": _ADABOOST.format(
        kind="classifier",
        default="decision stumps",
        depth="one",
        auto='"auto" passes them if ``fit`` accepts them; otherwise it draws rows, with a warning.',
    ),
    "classes": _CLASS_ATTRIBUTES,
    "attributes": _ADABOOST_ATTRIBUTES,
}
ADABOOST_REGRESSOR = {
    "parameters": _ADABOOST.format(
        kind="regressor",
        default="trees of three levels",
        depth="three",
        auto='"auto" draws rows, as in Drucker\'s article.',
    ),
    "attributes": _ADABOOST_ATTRIBUTES,
}

OUTPUT_CODES = {"classes": _CLASS_ATTRIBUTES, "features": _FEATURE_ATTRIBUTES}
