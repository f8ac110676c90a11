"""The planner: from metric requests to the queries that compute them."""
