"""Tests of runs in partitions of the users."""
