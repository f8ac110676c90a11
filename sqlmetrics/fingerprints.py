"""Tells whether jobs on different machines were asked for the same, of the same data.

The same files may have other paths there, so paths are no part of what is asked; what is in the
files is told by their sizes, their first bytes and their last, which in a Parquet file say how many
rows and which values every column has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from sqlglot import exp

from sqlmetrics.engines.duckdb import DuckDBEngine
from sqlmetrics.graph import Node, Plan, Query
from sqlmetrics.render import identifier

_ENDS = 1 << 20  # bytes that are read of both ends of a file


def identity(root: Node) -> str:
    """Name a result by its queries, whatever the paths of the files that they read."""
    names: dict[str, str] = {}
    for node in Plan(root).nodes():
        text = node.sql({key: names[key] for key in node.parents}, pretty=False)
        if isinstance(node, Query) and node.is_input:
            tree = node.tree.copy()
            for path in _paths(tree):
                path.replace(exp.Literal.string(""))
            text = f"{node.table}: {tree.sql('duckdb')}"
        names[node.key] = f"q{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return names[root.key]


def of_tables(engine: DuckDBEngine, root: Node) -> dict[str, str]:
    """Say what is in each table that a result reads: table -> hash.

    Raises:
        DataError: a table cannot be read.
    """
    found: dict[str, list[str]] = {}
    for node in Plan(root).nodes():
        if isinstance(node, Query) and node.is_input:
            paths = [path.name for path in _paths(node.tree)]
            other = any(isinstance(t.this, exp.Identifier) for t in node.tree.find_all(exp.Table))
            local = [Path(path) for path in paths if "://" not in path]
            texts = [_of_file(path) for path in local]
            if other or len(local) < len(paths):
                texts.append(_of_rows(engine, node, with_values=len(local) == len(paths)))
            found.setdefault(node.table, []).extend(texts)
    return {
        table: hashlib.sha256(" ".join(dict.fromkeys(texts)).encode()).hexdigest()[:16]
        for table, texts in sorted(found.items())
    }


def _paths(tree: exp.Expr) -> Iterator[exp.Literal]:
    """Find the paths of the files that a query reads."""
    for table in list(tree.find_all(exp.Table)):
        read = table.this
        if isinstance(read, exp.Func):
            first = next((one for one in [read.this, *read.expressions] if one is not None), None)
            entries = first.expressions if isinstance(first, exp.Array) else [first]
            yield from (one for one in entries if isinstance(one, exp.Literal) and one.is_string)


def _of_file(path: Path) -> str:
    size = path.stat().st_size
    with path.open("rb") as file:
        digest = hashlib.sha256(file.read(_ENDS))
        file.seek(max(0, size - _ENDS))
        digest.update(file.read(_ENDS))
    return f"{size}:{digest.hexdigest()}"


def _of_rows(engine: DuckDBEngine, node: Node, with_values: bool) -> str:
    """Count the rows of a table, and add up their hashes; not of files elsewhere."""
    relation = f"({Plan(node).statement(pretty=False)})"
    values = "NULL"
    if with_values:
        types = engine.describe(relation, node.name)
        columns = ", ".join(
            # the number of a value of an ENUM depends on the others that it may have
            f"CAST({identifier(name)} AS VARCHAR)" if kind.startswith("ENUM") else identifier(name)
            for name, kind in types.items()
        )
        values = f"sum(CAST(hash({columns}) AS HUGEINT))"
    (row,) = engine.query(
        f"SELECT count(*) AS n_rows, {values} AS hashes FROM {relation}", node.name
    )
    return f"{row['n_rows']}:{row['hashes']}"
