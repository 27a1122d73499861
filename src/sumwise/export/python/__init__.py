"""Python source of a model, which needs no package."""
