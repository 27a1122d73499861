"""Tables from files and from standard input, and the roles of their columns."""
