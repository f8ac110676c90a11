"""How much there is to read in a statement."""

import sqlglot


def nodes(sql: str, dialect: str = "duckdb") -> int:
    """Count the expressions that a statement is made of."""
    return sum(1 for _ in sqlglot.parse_one(sql, dialect=dialect).walk())
