"""Tests of the metrics: their values, conventions and settings."""
