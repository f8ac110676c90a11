"""Tests with damaged, hostile or random input, signals and threads."""
