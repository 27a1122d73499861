"""Serving: predictions of one row at a time."""
