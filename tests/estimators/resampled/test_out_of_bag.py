"""Permutation importances on out-of-bag rows."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.ensemble
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from sumwise import (
    BaggingClassifier,
    BaggingRegressor,
    BayesianBootstrap,
    oob_permutation_importance,
)
from sumwise.errors import DataError, ParameterError
from tests.naive import out_of_bag as naive


@pytest.fixture(scope="module")
def informative():
    rows, y = make_classification(
        300, 5, n_informative=2, n_redundant=0, shuffle=False, class_sep=1.5, random_state=0
    )
    return rows, y


@pytest.mark.parametrize(
    "model",
    [
        BaggingClassifier(n_estimators=20, random_state=0),
        BaggingClassifier(n_estimators=30, max_features=3, random_state=0),
        BaggingRegressor(n_estimators=20, random_state=0),
        sklearn.ensemble.BaggingClassifier(n_estimators=20, random_state=0),
        sklearn.ensemble.RandomForestClassifier(n_estimators=20, random_state=0),
    ],
    ids=lambda model: f"{type(model).__module__.split('.')[0]} {type(model).__name__}",
)
def test_importances_find_the_informative_features(model, informative):
    rows, y = informative
    result = oob_permutation_importance(model.fit(rows, y), rows, y, random_state=0)
    assert result.importances.shape == (5, len(model.estimators_))
    assert set(result.importances_mean.argsort()[-2:]) == {0, 1}
    assert result.importances_mean[:2].min() > 5 * abs(result.importances_mean[2:]).max()


def test_importances_by_definition(informative):
    rows, y = informative
    model = BaggingClassifier(n_estimators=3, random_state=0).fit(rows, y)
    result = model.oob_permutation_importance(rows, y, n_repeats=2, random_state=5)
    seeds = np.random.RandomState(5).randint(np.iinfo(np.int32).max, size=3)
    for number, (member, bag) in enumerate(
        zip(model.estimators_, naive.find_bags(model, 300), strict=True)
    ):
        draws, out = np.random.RandomState(seeds[number]), rows[~bag]
        right = (member.predict(out) == y[~bag]).mean()
        for feature in range(5):
            drops = []
            for _ in range(2):
                shuffled = out.copy()
                shuffled[:, feature] = out[draws.permutation(len(out)), feature]
                drops.append(right - (member.predict(shuffled) == y[~bag]).mean())
            assert result.importances[feature, number] == pytest.approx(np.mean(drops))


@pytest.mark.parametrize("kind", ["pandas", "polars", "sparse", "list"])
def test_importances_of_all_kinds_of_tables(kind, informative):
    rows, y = informative
    names = list("abcde")
    table = {
        "pandas": lambda: pd.DataFrame(rows, columns=names, index=np.arange(300)[::-1]),
        "polars": lambda: pl.DataFrame(rows, schema=names),
        "sparse": lambda: sparse.csr_matrix(rows),
        "list": rows.tolist,
    }[kind]()
    tree = DecisionTreeClassifier() if kind == "sparse" else None
    model = BaggingClassifier(tree, n_estimators=3, max_features=4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = oob_permutation_importance(model.fit(table, y), table, y, random_state=0)
        expected = oob_permutation_importance(model.fit(rows, y), rows, y, random_state=0)
    np.testing.assert_allclose(found.importances, expected.importances)


def test_importances_do_not_depend_on_jobs(informative):
    rows, y = informative
    model = BaggingClassifier(n_estimators=4, random_state=0).fit(rows, y)
    one, two = (
        oob_permutation_importance(model, rows, y, n_jobs=n_jobs, random_state=0)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.importances, two.importances)


def test_importances_need_rows_out_of_bags(informative):
    rows, y = informative
    model = BaggingClassifier(n_estimators=2, sampling=BayesianBootstrap()).fit(rows, y)
    with pytest.raises(DataError, match="no member of BaggingClassifier has out-of-bag rows"):
        oob_permutation_importance(model, rows, y)
    with pytest.raises(DataError, match="does not tell which rows"):
        oob_permutation_importance(LogisticRegression().fit(rows, y), rows, y)
    with pytest.raises(ParameterError, match="n_repeats=0"):
        oob_permutation_importance(model, rows, y, n_repeats=0)
