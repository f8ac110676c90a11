"""Tests of plans: slices, cutoffs, shared stages."""
