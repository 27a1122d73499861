"""``predict_log_proba`` for classifiers whose ``predict_proba`` returns one array."""

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from sumwise.combine.classes import log_probabilities
from sumwise.docstrings import document_rows


def _has_probabilities(classifier: "LogProbabilitiesMixin") -> bool:
    try:
        return callable(classifier.predict_proba)
    except AttributeError as error:
        raise error.__cause__ or error from None  # the reason why predict_proba is missing


class LogProbabilitiesMixin:
    """Adds ``predict_log_proba``, available if ``predict_proba`` is."""

    predict_proba: Any

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    @document_rows
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the class probabilities, minus infinity for 0.

        {rows}
        ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        return log_probabilities(self.predict_proba(X))
