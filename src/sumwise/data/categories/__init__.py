"""Categorical features: dictionaries, bins, and numbers that stand for categories."""
