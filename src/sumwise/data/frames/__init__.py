"""Any X that users pass: read by columns, and rows and columns taken from it."""
