"""Tests of the input tables: sources, columns, filters."""
