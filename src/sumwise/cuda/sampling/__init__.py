"""Rows drawn by gradient or at random, on a device."""
