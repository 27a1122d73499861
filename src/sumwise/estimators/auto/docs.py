"""The parts of docstrings that the classifier and the regressor share."""

TEXTS = {
    "parameters": """
time_limit : float or None, default=60
    Seconds that ``fit`` may take. It ends with the members that are finished by then; at least one
    is always trained. A member that would not be finished in time is not started. None for no
    limit: then all of the portfolio and all variants are trained.
preset : {"best", "fast"}, default="best"
    "best": the whole portfolio, then random variants of boosting. "fast": its first members, on
    fewer folds, and no variants.
members : list of str or None, default=None
    Names of the members to try, in this order, in place of those of the preset: "leaf_quick",
    "linear", "symmetric", "extra_trees", ... (see ``docs/guide/auto.md``).
n_variants : int or None, default=None
    Number of random variants of boosting that compete by successive halving; None for those of the
    preset, or 0 with ``members``.
n_folds, n_repeats : int or None, default=None
    Number of folds, and how often other folds are drawn; None to choose by the number of rows.
combination : {"auto", "greedy", "weights", "stacking", "best"}, default="auto"
    How members are combined: by greedy selection (Caruana et al., 2004); by the weights with the
    least squared error; by stacking, with non-negative coefficients that are pulled toward equal
    ones; or not at all. "auto": what predicts best in cross-validation. In any case the best single
    member is the model if the combination does not beat it.
refit_members : {"auto", "bag", "all"}, default="auto"
    What predicts new rows. "bag": the mean of a member's models of all folds. "all": one model per
    member, fitted on all rows, which is faster to predict with. "auto": "all" with
    ``time_order=True``, otherwise "bag".
memory_limit : int, str or None, default=None
    Memory that members may use, in bytes or as "4GB"; those that are estimated to need more are
    left out. None for what is free.
checkpoint : path or None, default=None
    A folder for finished fits. If ``fit`` is killed, the next one with the same data and parameters
    continues. The folder stays: delete it when it is not needed any more. Its files are pickles;
    use only folders that you trust.
categorical_features : "auto", list or None, default="auto"
    Features whose values are categories: "auto" for strings and categorical types, a list of
    names, indices or booleans, or None for none.
n_jobs : int or None, default=None
    Threads; None or -1 for all CPUs. The model is the same for any number.
random_state : int, RandomState or None, default=None
    Seed of folds, members and variants. With a number, the model is the same in every fit that the
    limits of time and memory do not cut short.
verbose : bool, default=False
    Show members, scores and time on standard error: a progress bar if the package rich is
    installed.""",
    "attributes": """
estimators_ : list
    The members of the ensemble; each predicts on its own.
weights_ : ndarray of shape (n_members,)
    Their shares in the ensemble.
combination_ : {"best", "greedy", "weights", "stacking"}
    How they are combined.
leaderboard_ : Leaderboard
    All members that were tried, with out-of-fold scores, standard errors and weights.
out_of_fold_ : ndarray of shape (n_rows,) or (n_rows, n_classes)
    Predictions of the ensemble for the rows of ``fit``, by models that had not seen them; NaN for
    rows that no fold predicts, and for rows of weight 0.
decomposition_ : Ambiguity
    The error of the average of the members, their mean error, and what their diversity gains.
feature_importances_ : ndarray of shape (n_features,)
    Shares of the features in the trees of the members, weighted as these.
n_features_in_ : int
    Number of features seen in ``fit``.
feature_names_in_ : ndarray
    Their names, if X had any.
schema_ : FeatureSchema
    Their kinds, and the values of those that are categories.""",
}
