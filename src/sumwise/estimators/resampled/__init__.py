"""Ensembles of one base learner: bagging, AdaBoost, output codes, output noise."""
