"""AdaBoost: shallow trees, and new row weights."""
