"""Which session serves a fit."""

import numpy as np
import pytest

from sumwise.kernels.runtime.threads import Team
from sumwise.losses import Squared
from sumwise.peers import ALONE, Shards
from sumwise.training.peer_session import FeatureSession, PeerSession
from sumwise.training.session import BoostingSettings, Session, TrainingRows, TrainingTable
from sumwise.training.sessions import open_session
from sumwise.tree import GrowthSettings
from sumwise.tree.parallel import Parallel


class Two:
    """Two peers, of which the other one has nothing to say."""

    rank, size = 0, 2


@pytest.mark.parametrize(
    ("shards", "parallel", "kind"),
    [
        (None, Parallel(), Session),
        (Shards.of_sizes(ALONE, [0], [4]), Parallel("voting"), PeerSession),
        (None, Parallel("feature", peers=Two()), FeatureSession),
    ],
)
def test_the_rows_decide(shards, parallel, kind):
    numbers = np.arange(4, dtype=np.uint32)
    rows = TrainingRows(np.arange(4.0), np.empty(0), numbers, numbers[:0], shards=shards)
    settings = BoostingSettings(Squared(), GrowthSettings(), parallel=parallel)
    assert type(open_session(TrainingTable([]), rows, settings, Team(1), None)) is kind
