"""Rows drawn by gradient, and bootstrap weights."""
