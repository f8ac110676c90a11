"""Engines that run plans: DuckDB and Spark. Other packages use only the protocols in `base`."""
