"""The history of results: append results, follow a metric over runs, and gates against the past."""
