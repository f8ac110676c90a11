"""Histories of results."""
