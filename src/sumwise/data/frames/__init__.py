"""Whatever users pass as X, read by columns; rows and columns taken from it."""
