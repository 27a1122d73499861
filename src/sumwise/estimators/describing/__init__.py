"""Fitted models in plain terms, for export."""
