"""Checks of what estimators are given: X, y, weights and parameters."""
