"""Tests of the report in a browser; they run with --browser, and need the extra `browser`."""
