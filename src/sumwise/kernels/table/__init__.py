"""The binned table: how values become bins, and how bins are stored."""
