"""Statistics of results: intervals, significance tests, leaderboards and gates."""
