"""Partitioned runs: a share of the users at a time, in one process or as separate jobs."""
