"""What ``import sumwise`` brings, and what it waits with."""

import subprocess
import sys

import pytest

import sumwise

CODE = """
import sys, sumwise
late = ("sumwise.estimators.combined.base", "sumwise.combine", "sklearn.model_selection")
assert not [name for name in late if name in sys.modules]
assert "VotingClassifier" in dir(sumwise)
from sumwise import *
assert VotingClassifier is sumwise.VotingClassifier
"""


# What a fit on an array needs neither to import nor to run, and what takes long to import.
FIT = """
import sys
import numpy as np
from sumwise import GradientBoostingClassifier
X = np.arange(40.0).reshape(-1, 1)
GradientBoostingClassifier(n_estimators=1, n_jobs=1).fit(X, X[:, 0] > 20).predict(X)
late = {
    "matplotlib", "polars", "rich", "scipy.optimize", "scipy.stats", "sklearn.ensemble",
    "sklearn.linear_model", "sklearn.metrics", "sklearn.model_selection", "sklearn.tree",
    "sumwise.cli", "sumwise.combine", "sumwise.estimators.calibrated.calibration",
    "sumwise.estimators.calibrated.conformal", "sumwise.export.native",
    "sumwise.inspection.explanation", "sumwise.inspection.export_trees", "sumwise.kernels.explain",
    "sumwise.kernels.forest", "sumwise.kernels.vector", "sumwise.plotting", "sumwise.report",
    "sumwise.tree.refit", "sumwise.tree.solve",
}
print(*sorted(late & set(sys.modules)))
"""


def test_a_plain_fit_imports_nothing_slow_that_it_does_not_need():
    done = subprocess.run([sys.executable, "-c", FIT], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


STATS = """
import sys
import scipy
import sumwise
assert "scipy.stats" not in sys.modules
from sklearn.utils import fixes
assert fixes._mode([1, 2, 2])[0].item() == 2  # scikit-learn still finds it
assert scipy.stats is sys.modules["scipy.stats"] and type(scipy.stats) is type(sys)
"""


def test_scipy_stats_is_imported_when_it_is_used():
    subprocess.run([sys.executable, "-c", STATS], check=True)


def test_ensembles_of_members_are_imported_when_asked_for():
    subprocess.run([sys.executable, "-c", CODE], check=True)


def test_unknown_names_are_attribute_errors():
    assert set(sumwise.__all__) <= set(dir(sumwise))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        sumwise.Nothing  # noqa: B018
