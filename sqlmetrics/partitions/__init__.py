"""Partitioned runs: compute a subset of the users at a time, in one process or in several jobs."""
