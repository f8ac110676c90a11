"""Queries as text and as trees: rendering, quoting, fusion, dialects. No data."""
