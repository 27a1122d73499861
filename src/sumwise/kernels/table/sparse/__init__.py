"""Sparse matrices: stored values by column and by row, and their bins."""
