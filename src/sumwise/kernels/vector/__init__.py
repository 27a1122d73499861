"""Trees with vector leaves: one tree for several targets."""
