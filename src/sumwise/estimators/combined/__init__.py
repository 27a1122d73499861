"""Ensembles of given members: voting, averaging, stacking, selection."""
