"""ReportMixin: ``report`` and the HTML representation of fitted models.

Both are made by ``sumwise.report``, a layer above this one that reads models by their public
attributes. It is named here and imported when somebody asks for it.
"""

from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sumwise.lazy import late_function

_report_model = late_function("sumwise.report.model", "report_model")
_summarize_model = late_function("sumwise.report.notebook", "summarize_model")


class ReportMixin:
    """Adds ``report``, and a summary below the diagram that notebooks show of a fitted model."""

    def report(
        self, X: Any, y: Any, *, X_train: Any = None, y_train: Any = None, title: str | None = None
    ) -> Any:
        """Describe the fitted model in one HTML page that needs nothing else.

        Scores with intervals, the gain over its members, learning curves, importances and SHAP
        values, confusion or residuals, calibration, rejection, checks of the data, and how to make
        it again. See ``docs/guide/report.md``.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
            Rows that the model has not seen; scores on rows of its training are too good.
        y : array-like of shape (n_rows,)
            Their targets.
        X_train, y_train : array-like, default=None
            Training rows and targets. With them, the report looks for drift and for rows that are
            in both, and compares scores.
        title : str, default=None
            Title of the page; None for the name of the class.

        Returns
        -------
        sumwise.report.Report
            With ``save(path)``, ``to_html()`` and ``to_dict()``; notebooks show it.
        """
        check_is_fitted(self)
        return _report_model(self, X, y, X_train=X_train, y_train=y_train, title=title)

    # --- notebooks: scikit-learn decides whether HTML is shown, and draws the diagram ---

    def _repr_html_inner(self) -> str:
        """Return the diagram of scikit-learn and, of a fitted model, a summary."""
        return super()._repr_html_inner() + self._summarize()  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """Return what Jupyter shows: text, and HTML unless scikit-learn is set to text."""
        bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._summarize()
        return bundle

    def _summarize(self) -> str:
        """Return members, scores and importances as HTML; nothing before the fit."""
        try:
            check_is_fitted(self)
        except NotFittedError:
            return ""
        return _summarize_model(self)
