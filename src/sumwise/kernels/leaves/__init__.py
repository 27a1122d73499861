"""New values for the leaves of a finished tree."""
