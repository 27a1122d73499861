"""The `sumwise` command: one module per subcommand."""
