"""Tables that are read batch by batch: sources, what training learns from them, and their pages."""
