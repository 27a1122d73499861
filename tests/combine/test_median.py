import numpy as np

from sumwise.combine.median import weighted_median


def test_half_of_the_weight_lies_at_or_below():
    rng = np.random.default_rng(0)
    predictions, weights = rng.normal(size=(7, 50)), rng.random(7)
    median = weighted_median(predictions, weights)
    for row in range(50):
        below = weights[predictions[:, row] < median[row]].sum()
        upto = weights[predictions[:, row] <= median[row]].sum()
        assert below < weights.sum() / 2 <= upto


def test_equal_weights_give_the_lower_median():
    predictions = np.array([[3.0, 1.0], [1.0, 1.0], [2.0, 5.0]])
    np.testing.assert_array_equal(weighted_median(predictions, np.ones(3)), [2.0, 1.0])
    np.testing.assert_array_equal(weighted_median(predictions[:2], np.ones(2)), [1.0, 1.0])


def test_a_heavy_member_decides():
    predictions = np.array([[3.0], [1.0], [2.0]])
    assert weighted_median(predictions, np.array([9.0, 1.0, 1.0])) == [3.0]
    assert weighted_median(predictions[:1], np.zeros(1)) == [3.0]
