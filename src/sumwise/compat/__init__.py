"""Estimators with the names and parameters of other libraries, fitted by sumwise.

===============================  ===================================================
:mod:`sumwise.compat.lightgbm`   ``LGBMClassifier``, ``LGBMRegressor``
:mod:`sumwise.compat.xgboost`    ``XGBClassifier``, ``XGBRegressor`` and their forests
:mod:`sumwise.compat.catboost`   ``CatBoostClassifier``, ``CatBoostRegressor``
===============================  ===================================================

Parameters are translated by tables, and a parameter that cannot be translated is an error. The
other library need not be installed.
"""
