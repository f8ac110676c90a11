"""Input validation and data checks."""
