"""The command line: options, arguments, layout. It calls the public methods."""
