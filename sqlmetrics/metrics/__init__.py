"""Metric specs, their templates, settings and conventions: the request, without SQL or engines."""
