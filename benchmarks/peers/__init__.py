"""Compare sqlmetrics with other systems: the same files, the same numbers, their cost."""
