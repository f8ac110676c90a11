"""Descriptions of metrics and conventions, and explanations of differences."""
