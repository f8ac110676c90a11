"""Plan the queries that compute metric requests."""
