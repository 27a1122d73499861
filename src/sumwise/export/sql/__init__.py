"""A model as a query."""
