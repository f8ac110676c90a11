"""Tests of the SQL: templates, passes, dialects."""
