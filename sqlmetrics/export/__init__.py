"""Exports to other tools: dbt packages and DuckDB macros."""
