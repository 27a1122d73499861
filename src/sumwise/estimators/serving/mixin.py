"""CompilesMixin: the method ``compile`` of fitted models."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sumwise.estimators.serving.row_predictor import RowPredictor


class CompilesMixin:
    """Adds ``compile`` to estimators that can describe themselves."""

    def compile(self, output: str = "predict", *, absent: str = "error") -> "RowPredictor":
        """Return a function that predicts one row at a time, in microseconds.

        It takes a list, tuple, dict by feature name or 1-D array, and may be pickled and called by
        several threads. Later changes of the model do not change it. See
        ``docs/guide/serving.md``.

        Parameters
        ----------
        output : {"predict", "proba", "proba_dict", "raw"}, default="predict"
            What it returns: "predict", a label or a number, with several targets a list of them;
            "proba", the list of class probabilities in the order of ``classes_``; "proba_dict", a
            dict from labels to probabilities; "raw", what the link function of a boosting model is
            applied to, as ``decision_function`` returns it.
        absent : {"error", "missing"}, default="error"
            What features are that a dict lacks: an error, or missing values.

        Returns
        -------
        RowPredictor
        """
        # Import here: most models are never compiled.
        from sumwise.estimators.serving.row_predictor import compile_model

        return compile_model(self, output, absent)
