import numpy as np
import pytest

from sumwise.cli.comparing.datasets import load_dataset
from sumwise.cli.comparing.rentals import FEATURES, make_rentals


@pytest.fixture(scope="module")
def rentals():
    return make_rentals()


def column(X, name):
    return X[:, FEATURES.index(name)].tolist()


def test_columns_are_what_their_names_say(rentals):
    X, y = rentals
    data = load_dataset("rentals")
    assert [FEATURES[f] for f in data.find_categories()] == [
        "city", "station", "weekday", "weather", "membership",
    ]  # fmt: skip
    assert len(set(column(X, "city"))) == 30
    assert 255 < len(set(column(X, "station"))) <= 300
    assert len(set(column(X, "weekday"))) == 7
    assert all(
        s.startswith(c) for c, s in zip(column(X, "city"), column(X, "station"), strict=True)
    )
    assert (y >= 0).all()
    assert (y == y.round()).all()


def test_weather_and_temperature_are_sometimes_missing(rentals):
    X, _ = rentals
    assert 0.07 < np.mean([value is None for value in column(X, "weather")]) < 0.13
    assert 0.06 < np.isnan(np.array(column(X, "temperature"))).mean() < 0.10
    for name in set(FEATURES) - {"weather", "temperature"}:
        assert all(value == value and value is not None for value in column(X, name))


def test_fewer_ride_in_the_rain(rentals):
    X, y = rentals
    weather = np.array(column(X, "weather"), dtype=object)
    assert y[weather == "rain"].mean() < 0.6 * y[weather == "sunny"].mean()


def test_rentals_repeat_with_their_seed():
    X, y = make_rentals(50, seed=3)
    X_again, y_again = make_rentals(50, seed=3)
    assert X.astype(str).tolist() == X_again.astype(str).tolist()
    np.testing.assert_array_equal(y, y_again)
    assert (make_rentals(50, seed=4)[1] != y).any()
