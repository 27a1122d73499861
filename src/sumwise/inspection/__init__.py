"""What a model has learned."""
