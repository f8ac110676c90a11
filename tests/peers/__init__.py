"""Comparisons with other systems."""
