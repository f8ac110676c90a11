"""Statistics of results: intervals, paired tests, leaderboards and gates."""
