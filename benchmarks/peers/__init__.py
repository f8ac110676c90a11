"""Compares sqlmetrics with other libraries: the same files, the same numbers, their cost."""
