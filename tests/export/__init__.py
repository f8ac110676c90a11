"""Tests of dbt packages and DuckDB macros."""
