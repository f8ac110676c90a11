"""Tests on other engines than DuckDB; they run with --engines, and need the extra `engines`."""
