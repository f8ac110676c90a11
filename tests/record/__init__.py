"""Tests of records and fingerprints."""
