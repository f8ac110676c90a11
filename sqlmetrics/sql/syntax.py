"""sqlglot, imported at first use.

A run whose plan was kept from an earlier process prints SQL without parsing it. Such a run saves
the import of sqlglot, which takes half as long as that of DuckDB. The modules that it imports take
sqlglot from here, and use it in functions only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlmetrics.lazy import lazy

if TYPE_CHECKING:
    import sqlglot
    from sqlglot import errors, exp
else:
    sqlglot, errors, exp = lazy("sqlglot", "sqlglot.errors", "sqlglot.expressions")

__all__ = ["errors", "exp", "sqlglot"]
