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


def test_ensembles_of_members_are_imported_when_asked_for():
    subprocess.run([sys.executable, "-c", CODE], check=True)


def test_unknown_names_are_attribute_errors():
    assert set(sumwise.__all__) <= set(dir(sumwise))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        sumwise.Nothing  # noqa: B018
