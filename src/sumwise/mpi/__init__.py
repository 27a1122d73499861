"""Training by the processes that ``mpiexec`` starts, each on rows of its own.

A rank program calls :func:`fit` with its rows::

    mpiexec -n 4 --bind-to none python -m mpi4py train.py

All ranks get the same model. It has the same bytes as a fit of one process on all rows, in the
order of the ranks. See ``docs/guide/scale.md``. Needs ``pip install "sumwise[mpi]"``.
"""

from sumwise.mpi.fitting import fit
from sumwise.mpi.peers import MpiPeers

__all__ = ["MpiPeers", "fit"]
