"""Shapley values of finished trees."""
