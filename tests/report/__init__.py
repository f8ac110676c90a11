"""Test the report."""
