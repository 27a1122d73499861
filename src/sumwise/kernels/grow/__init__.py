"""Grow one tree of boosting in one compiled call."""
