"""The report of one fitted model."""

from typing import Any

import numpy as np

from sumwise.data.batches.sources import is_source
from sumwise.data.frames.reading import collect_lazy, read_list
from sumwise.errors import DataError, ParameterError
from sumwise.report.blocks import Section
from sumwise.report.charts.scales import format_number
from sumwise.report.data_summary import describe_data, describe_target
from sumwise.report.document import Report
from sumwise.report.features import describe_features
from sumwise.report.learning import describe_learning
from sumwise.report.members import describe_members
from sumwise.report.outcomes import describe_outcomes, describe_probabilities
from sumwise.report.predictions import Predictions, name_features, predict_rows
from sumwise.report.reproduction import describe_reproduction
from sumwise.report.scores import describe_scores, list_metrics, name_metric, score_rows
from sumwise.report.tried import describe_tried


def report_model(
    model: Any,
    X: Any,
    y: Any,
    *,
    X_train: Any = None,
    y_train: Any = None,
    title: str | None = None,
) -> Report:
    """Describe a fitted model in one self-contained page.

    It is ``model.report``, and takes models of scikit-learn, too.

    Parameters
    ----------
    model : fitted classifier or regressor
    X : frame, array-like or sparse matrix of shape (n_rows, n_features)
        Rows that the model has not seen; scores on rows of its training are too good.
    y : array-like of shape (n_rows,)
        Their targets.
    X_train, y_train : array-like, default=None
        Training rows and targets. With them, the report looks for drift, for rows that are in both,
        and compares scores.
    title : str, default=None
        Title of the page; None for the name of the model's class.

    Returns
    -------
    Report

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import RandomForestRegressor
    >>> from sumwise.report import report_model
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = RandomForestRegressor(20, random_state=0).fit(X[::2], y[::2])
    >>> page = report_model(model, X[1::2], y[1::2], X_train=X[::2], y_train=y[::2])
    >>> page.sections[1].title
    'Gain over the members'
    """
    X, X_train = _read(X), _read(X_train)
    if y_train is not None and X_train is None:
        raise ParameterError("y_train needs X_train")
    known = predict_rows(model, X, y)
    if known.y.size < 2:
        raise DataError(f"a report needs at least 2 rows, got {known.y.size}")
    trained = None
    if y_train is not None:
        trained = predict_rows(model, X_train, y_train)
    names = name_features(model, X)
    sections = [
        describe_scores(model, known, trained),
        describe_tried(model),
        describe_members(model, X, known),
        describe_learning(model, X, known),
        describe_features(model, X, known),
        describe_outcomes(known),
        describe_probabilities(known),
        describe_data(X, known.y, names, known.is_classification, X_train, y_train),
        describe_reproduction(model, code=_write_code(model, X_train is not None)),
    ]
    return Report(
        type(model).__name__ if title is None else title,
        [section for section in sections if isinstance(section, Section)],
        _list_facts(model, known, len(names)),
        f"{'Classifier' if known.is_classification else 'Regressor'}, scored on {known.y.size:,} "
        "rows.",
    )


def _read(X: Any) -> Any:
    """Return X as a table whose rows can be counted."""
    if is_source(X):
        raise DataError(
            f"a report looks at rows in memory, got {type(X).__name__}; read some of the rows into "
            "a frame"
        )
    X = collect_lazy(X)
    return read_list(X) if isinstance(X, (list, tuple)) else X


def _list_facts(model: Any, known: Predictions, n_features: int) -> list[tuple[str, str]]:
    metric = list_metrics(model, known)[0]
    score, low, high = score_rows(metric, known)
    half = max(high - score, score - low)
    around = f" ± {format_number(half, 2)}" if np.isfinite(half) else ""
    facts = [
        (name_metric(metric), f"{format_number(score)}{around}"),
        ("Data", f"{known.y.size:,} rows, {n_features:,} features"),
    ]
    if known.classes is not None:
        facts.insert(1, ("accuracy", f"{float((known.predicted == known.y).mean()):.1%}"))
        facts.append(("Classes", f"{known.classes.size:,}"))
    else:
        facts.append(("Target", describe_target(known.y)))
    members = getattr(model, "estimators_", None)
    rounds = getattr(model, "best_iteration_", None)
    if rounds is not None:
        facts.append(("Rounds", f"{int(rounds):,}"))
    elif members is not None:
        facts.append(("Members", f"{len(members):,}"))
    return facts


def _write_code(model: Any, has_train: bool) -> str:
    train = ", X_train=X_train, y_train=y_train" if has_train else ""
    return f'{model!r}\nmodel.report(X, y{train}).save("report.html")'
