"""Estimators that train on a cluster of Dask."""
