"""A generated table of bike rentals with categories, missing values and a station id."""

import numpy as np

FEATURES = (
    "city",
    "station",
    "weekday",
    "hour",
    "weather",
    "temperature",
    "wind",
    "membership",
)

# fmt: off
_CITIES = (
    "Aarau", "Basel", "Bern", "Biel", "Bologna", "Bordeaux", "Brno", "Bruges", "Cork", "Dijon",
    "Esbjerg", "Freiburg", "Galway", "Ghent", "Graz", "Grenoble", "Leiden", "Leipzig", "Leuven",
    "Lyon", "Malmö", "Nantes", "Oulu", "Porto", "Rennes", "Split", "Tartu", "Turku", "Utrecht",
    "Zadar",
)
# fmt: on
_STATIONS_PER_CITY = 10
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_WEATHER = {"sunny": 1.2, "cloudy": 1.0, "fog": 0.8, "rain": 0.45, "snow": 0.2}
_WEATHER_SHARES = (0.35, 0.35, 0.08, 0.18, 0.04)
_MEMBERSHIPS = ("annual", "day pass", "single ride")


def make_rentals(n_rows: int = 5_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw the bikes rented at a station in an hour, as a matrix of objects and a target.

    The columns are ``FEATURES``: strings are categories, None and NaN are missing values. Rentals
    are Poisson counts. Their mean is a product of effects of city, station, weather, temperature
    and time of day; annual members ride to work, others at the weekend.
    """
    rng = np.random.default_rng(seed)
    n_stations = len(_CITIES) * _STATIONS_PER_CITY
    city_effect = rng.normal(scale=0.4, size=len(_CITIES))
    station_effect = rng.normal(scale=0.5, size=n_stations)
    popularity = rng.gamma(2.0, size=n_stations)

    station = rng.choice(n_stations, size=n_rows, p=popularity / popularity.sum())
    city = station // _STATIONS_PER_CITY
    weekday = rng.integers(7, size=n_rows)
    hour = rng.integers(6, 23, size=n_rows)
    weather = rng.choice(len(_WEATHER), size=n_rows, p=_WEATHER_SHARES)
    temperature = rng.normal(14.0, 8.0, size=n_rows) - 10.0 * (weather == 4)
    wind = rng.gamma(2.0, 6.0, size=n_rows)
    membership = rng.choice(len(_MEMBERSHIPS), size=n_rows, p=(0.5, 0.3, 0.2))

    is_weekend = weekday >= 5
    commutes = (membership == 0) & ~is_weekend
    rush = np.exp(-(((hour - 8) / 1.5) ** 2)) + np.exp(-(((hour - 17) / 2.0) ** 2))
    afternoon = np.exp(-(((hour - 15) / 4.0) ** 2))
    mean = 12.0 * np.exp(city_effect[city] + station_effect[station])
    mean *= np.where(commutes, 0.4 + 1.6 * rush, 0.3 + afternoon * (1.0 + is_weekend))
    mean *= np.array(list(_WEATHER.values()))[weather]
    mean *= np.exp(-(((temperature - 22.0) / 18.0) ** 2)) * np.where(wind > 25.0, 0.7, 1.0)

    X = np.empty((n_rows, len(FEATURES)), dtype=object)
    X[:, 0] = np.array(_CITIES, dtype=object)[city]
    X[:, 1] = [
        f"{_CITIES[c]} {s % _STATIONS_PER_CITY + 1}" for c, s in zip(city, station, strict=True)
    ]
    X[:, 2] = np.array(_WEEKDAYS, dtype=object)[weekday]
    X[:, 3] = hour
    X[:, 4] = np.array(list(_WEATHER), dtype=object)[weather]
    X[:, 5] = temperature.round(1)
    X[:, 6] = wind.round()
    X[:, 7] = np.array(_MEMBERSHIPS, dtype=object)[membership]
    X[rng.random(n_rows) < 0.1, 4] = None
    X[rng.random(n_rows) < 0.08, 5] = np.nan
    return X, rng.poisson(mean).astype(np.float64)
