"""The command line: commands, options, and the layout of results."""
