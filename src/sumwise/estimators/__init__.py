"""scikit-learn estimators: validate, train, store."""

from sumwise.lazy import defer_import

# scikit-learn imports scipy.stats for a function that no estimator here calls. That takes as long
# as all the rest of it together.
with defer_import("scipy.stats"):
    import sklearn.utils  # noqa: F401
