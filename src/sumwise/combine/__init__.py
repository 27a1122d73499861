"""Combining the predictions of several members: arithmetic on arrays, NumPy only.

Arrays of predictions have the members first: (n_members, n_rows) for numbers and class indices,
(n_members, n_rows, n_classes) for probabilities.
"""
