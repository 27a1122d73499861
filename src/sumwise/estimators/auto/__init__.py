"""Automatic ensembles: members are chosen, trained and combined within a given time.

A fit reads the data (``data``), makes folds (``folds``), trains the recipes of the portfolio and
random variants of boosting (``portfolio``, ``halving``, ``search``) on every fold (``fold_fits``),
within limits of time and memory (``budget``, ``memory``), and combines the out-of-fold predictions
(``combination``). What is finished is kept on disk if there is a ``checkpoint``.
"""
