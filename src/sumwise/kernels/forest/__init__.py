"""Trees of forests: growth, pruning, walks and importances."""
