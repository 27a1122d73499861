"""Short scripts that show why ensembles work. Run them as ``python -m examples.vote_error``."""
