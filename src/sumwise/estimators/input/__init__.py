"""Checks of the input of estimators: X, y, weights and parameters."""
