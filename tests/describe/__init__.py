"""Tests of the descriptions of metrics and conventions."""
