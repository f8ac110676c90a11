"""Users computed in parts: one after another, or as jobs."""
