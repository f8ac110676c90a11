"""Metric specs, templates, settings and conventions: requests, independent of SQL and engines."""
