"""Gradient boosting: the estimators, and how their parameters become parts."""
