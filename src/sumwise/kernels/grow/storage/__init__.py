"""How features are stored decides how they are summed, scored and split: one module per kind."""
