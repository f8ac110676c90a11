"""Intervals, paired tests, leaderboards and gates: numbers about results. No SQL, no engine."""
