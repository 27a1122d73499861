"""One boosting model that predicts as the ensemble does."""

import io

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import sumwise
from sumwise import GradientBoostingClassifier, GradientBoostingRegressor
from sumwise.estimators.auto.distilling import distill_classes, distill_numbers
from tests.estimators.auto.samples import make_frame

FRAME, _ = make_frame(400)
POSITIVE = np.where(FRAME["a"] > 0, 0.8, 0.3)
SHARES = np.column_stack([1 - POSITIVE, POSITIVE])
LABELS = np.array(["no", "yes"])


def test_probabilities_are_learned():
    model = distill_classes(FRAME, SHARES, LABELS, None, {"random_state": 0})
    assert type(model) is GradientBoostingClassifier
    assert model.classes_.tolist() == ["no", "yes"]
    assert np.abs(model.predict_proba(FRAME) - SHARES).mean() < 0.03
    assert model.feature_names_in_.tolist() == list(FRAME)


def test_the_copies_of_a_row_are_held_out_together(seen_rows):
    distill_classes(FRAME, SHARES, LABELS, None, {"random_state": 0})
    (rows,) = seen_rows
    copies = np.repeat(np.arange(400), 2)
    assert rows.valid.size > 0
    assert not np.isin(copies[rows.valid], copies[rows.train]).any()


def test_numbers_are_learned():
    model = distill_numbers(FRAME, POSITIVE, None, {"random_state": 0})
    assert type(model) is GradientBoostingRegressor
    assert np.abs(model.predict(FRAME) - POSITIVE).mean() < 0.03


def test_impossible_classes_and_weights():
    shares = np.column_stack([np.ones(400), np.zeros(400)])
    shares[:200] = [0.0, 1.0]
    weight = np.repeat([1e-6, 1.0], 200)
    model = distill_classes(FRAME[["b"]], shares, LABELS, weight, {"random_state": 0})
    assert (model.predict(FRAME[["b"]]) == "no").all()


@pytest.mark.parametrize("n_rows", [2, 5, 60])
def test_few_rows(n_rows):
    few = FRAME[:n_rows]
    assert distill_classes(few, SHARES[:n_rows], LABELS, None, {}).predict(few).size == n_rows
    assert distill_numbers(few, POSITIVE[:n_rows], None, {}).predict(few).size == n_rows


def test_parameters_and_files():
    X = csr_matrix(FRAME[["a", "b"]].fillna(0.0).to_numpy())
    params = {"n_estimators": 7, "early_stopping": False}
    model = distill_numbers(X, POSITIVE, None, params)
    assert model.best_iteration_ == 7
    file = io.BytesIO()
    model.save(file)
    again = sumwise.load(file.getvalue())
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
