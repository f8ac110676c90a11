"""The queries for other tools: dbt packages and macros for the DuckDB shell."""
