"""Calibrated probabilities, prediction intervals and sets: learned from rows unseen by trees."""
