"""Linear models by coordinate descent."""
