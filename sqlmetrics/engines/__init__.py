"""Engines that run plans: DuckDB and Spark. Other packages use the protocols of `base`."""
