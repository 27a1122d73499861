"""Compiled kernels: arrays in, arrays out, no policy. The only package that imports Numba."""
