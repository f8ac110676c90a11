"""Tests of input validation and data checks."""
