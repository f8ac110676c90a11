"""The command line: commands, options, arguments and layout."""
