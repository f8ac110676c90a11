"""Tests of intervals, significance tests, leaderboards and gates."""
