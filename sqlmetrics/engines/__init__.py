"""Engines that run plans: DuckDB, Spark and databases.

Other packages use only the protocols in `base`.
"""
