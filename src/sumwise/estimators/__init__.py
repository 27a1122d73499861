"""scikit-learn estimators: validate, train, store."""
