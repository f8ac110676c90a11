"""From sources (files, frames, tables, dicts) to relations with the column names of the queries."""

from __future__ import annotations

import glob
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlmetrics.errors import DataError, UsageError, suggestion
from sqlmetrics.render import environment

if TYPE_CHECKING:
    from sqlmetrics.engines.duckdb import DuckDBEngine

# the option of the command line that supplies each table
OPTIONS = {
    "recommendations": "-r FILE",
    "interactions": "-i FILE",
    "history": "--history FILE",
    "items": "--items FILE",
    "users": "--users FILE",
    "aspects": "--aspects FILE",
    "baseline": "--baseline FILE",
    "logs": "--logs FILE",
}

# columns beside the keys of the user: required, then optional
_COLUMNS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "recommendations": (("item_id",), ("rank", "score", "model")),
    "interactions": (("item_id",), ("relevance", "timestamp")),
    "history": (("item_id",), ("timestamp",)),
    "items": (("item_id",), ("price", "category", "features")),
    "users": ((), ()),
    "aspects": (("item_id", "aspect"), ()),
    "baseline": (("item_id",), ("rank", "score")),
    "logs": (("item_id", "reward"), ("propensity",)),
}
_WITHOUT_USER = {"items"}
_USER_IS_OPTIONAL = {"aspects"}

_INTEGERS = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)\Z")
_FLOATS = re.compile(r"(FLOAT|DOUBLE|REAL)\Z")

_EXTENSIONS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}


@dataclass(frozen=True)
class Relation:
    """Where rows come from: what stands after FROM, and the type of every column.

    `row_number` is an expression that numbers the rows in their order in `ordered`, or None where
    the order of rows means nothing.
    """

    sql: str
    types: Mapping[str, str]
    label: str
    row_number: str | None = None
    ordered: str | None = None


@dataclass(frozen=True)
class SourceColumn:
    """A column of a source and the name that the queries know it by."""

    name: str
    source: str
    type: str
    cast: str | None = None

    @property
    def is_list(self) -> bool:
        """Does it hold a whole list in one row?"""
        return self.type.endswith("]")


@dataclass(frozen=True)
class Source:
    """One relation of a table, with the model it belongs to (None where models are not named)."""

    relation: str
    ordered_relation: str
    columns: tuple[SourceColumn, ...]
    label: str
    model: str | None = None
    row_number: str | None = None
    list_column: str | None = None


@dataclass(frozen=True)
class Table:
    """An input table under the names of the queries. `columns`: canonical name -> type."""

    name: str
    sources: tuple[Source, ...]
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def rank_is_whole(self) -> bool:
        """Is the rank column of an integer type?"""
        return bool(_INTEGERS.match(self.columns.get("rank", "")))

    def require_order(self, order: str, ties: str) -> bool:
        """Check that lists can be ordered so; tells whether the order of rows is needed.

        Raises:
            DataError: the table lacks the column, or a source has no order of rows.
        """
        if order != "row" and order not in self.columns:
            raise DataError(
                f"{self.name}: lists are to be ordered by {order}, but "
                f"{self.sources[0].label} has no column {order!r}; name the column that holds it "
                f"with --column {self.name}.{order}=COLUMN, or choose another order with "
                "--set order=rank, score or row (the order of the rows)"
            )
        if "row" not in (order, ties if order == "score" else None):
            return False
        for source in self.sources:
            if source.row_number is None:
                raise DataError(
                    f"{self.name}: {source.label} has no order of rows that could be the ranking "
                    "(only frames, Arrow tables, Parquet and CSV files have one); give it a "
                    "column rank or score"
                )
        return True

    def describe_column(self, name: str) -> str:
        """Name a column in a message: its own name, and the one in the file where that differs."""
        actual = {c.source for s in self.sources for c in s.columns if c.name == name}
        return name if actual <= {name} else f"{name} ({', '.join(sorted(actual))})"


def type_family(type_name: str) -> str:
    """Group types whose values can be equal: all integers, all texts; others stand alone."""
    if _INTEGERS.match(type_name):
        return "integer"
    if type_name == "VARCHAR" or type_name.startswith("ENUM"):
        return "text"
    if _FLOATS.match(type_name):
        return "floating-point"
    if type_name.startswith("DECIMAL"):
        return "decimal"
    return type_name


def is_number(type_name: str) -> bool:
    """Can values of this type be compared as scores?"""
    return type_family(type_name) in ("integer", "floating-point", "decimal")


class TableReader:
    """Opens sources in an engine and maps their columns."""

    def __init__(
        self, engine: DuckDBEngine, user_keys: Sequence[str], columns: Mapping[str, str]
    ) -> None:
        self.engine = engine
        self.user_keys = tuple(user_keys)
        self.mapping: dict[tuple[str, str], str] = {}
        for full_name, source in columns.items():
            table, _, name = full_name.rpartition(".")
            known = {*self.user_keys, *(c for r, o in _COLUMNS.values() for c in (*r, *o))}
            if table and table not in _COLUMNS:
                raise UsageError(
                    f"column mapping {full_name}={source}: unknown table "
                    f"{table!r}{suggestion(table, _COLUMNS)}"
                )
            if name not in known:
                raise UsageError(
                    f"column mapping {full_name}={source}: the queries have no column "
                    f"{name!r}{suggestion(name, known)}; the form is NAME_HERE=NAME_IN_THE_FILE"
                )
            self.mapping[table, name] = source

    def read(self, name: str, source: Any) -> Table:
        """Open the source(s) of a table.

        Raises:
            DataError: a file cannot be read, a column is missing or has a type that cannot be used.
        """
        named = name == "recommendations" and is_models(source)
        parts = source if named else {None: source}
        if not parts:
            raise UsageError(f"{name}: an empty dict has no recommendations")
        sources = []
        for model, part in parts.items():
            if model is not None and not (isinstance(model, str) and model.isidentifier()):
                raise UsageError(f"{name}: {model!r} cannot name a model; use letters, digits, _")
            label = name if model is None else f"{name} of {model}"
            sources.append(self._source(name, self.relation(label, part), model))
        columns = {column.name: column.type for column in sources[0].columns}
        for other in sources[1:]:
            theirs = {column.name: column.type for column in other.columns}
            if set(theirs) != set(columns):
                raise DataError(
                    f"{name}: the models have different columns: {sources[0].label} has "
                    f"{', '.join(columns)}; {other.label} has {', '.join(theirs)}"
                )
            for column, type_name in columns.items():
                if type_family(theirs[column]) != type_family(type_name):
                    raise DataError(
                        f"{name}, column {column}: {sources[0].label} holds {type_name}, "
                        f"{other.label} holds {theirs[column]}; write them as one type"
                    )
        if any(source.list_column for source in sources):
            columns["rank"] = "BIGINT"
        if named:
            columns["model"] = "VARCHAR"
        return Table(name, tuple(sources), columns)

    # ---- columns -------------------------------------------------------------------------------

    def _source(self, table: str, relation: Relation, model: str | None) -> Source:
        required, optional = _COLUMNS[table]
        users = () if table in _WITHOUT_USER else self.user_keys
        if table in _USER_IS_OPTIONAL:
            optional, users = (*users, *optional), ()
        lowered = {column.lower(): column for column in relation.types}
        found: list[SourceColumn] = []
        for name in (*users, *required, *optional):
            if name == "model" and model is not None:
                continue
            mapped = self.mapping.get((table, name), self.mapping.get(("", name)))
            column = mapped or name
            column = column if column in relation.types else lowered.get(column.lower(), column)
            if column in relation.types:
                found.append(self._column(table, name, column, relation))
            elif mapped or name not in optional:
                raise self._missing(table, name, column, relation)
        lists = [column for column in found if column.is_list]
        items = [column.source for column in lists if column.name == "item_id"]
        has_order = {"rank", "score"} & {column.name for column in found}
        if items and "rank" in has_order:
            raise DataError(
                f"{table}: {relation.label} holds whole lists in {items[0]}, whose order is the "
                "ranking, and a column rank as well; drop one of them"
            )
        ranked_by_list = items and table in ("recommendations", "baseline") and not has_order
        return Source(
            relation=relation.sql,
            ordered_relation=relation.ordered or relation.sql,
            columns=tuple(found),
            label=relation.label,
            model=model,
            row_number=None if items else relation.row_number,
            list_column=items[0] if ranked_by_list else None,
        )

    def _column(self, table: str, name: str, column: str, relation: Relation) -> SourceColumn:
        type_name = relation.types[column]
        inner = type_name[: type_name.rindex("[")] if type_name.endswith("]") else type_name
        where = f"{table}, column {name if name == column else f'{name} ({column})'}"
        cast = None
        if name in (*self.user_keys, "item_id") and re.match(r"(STRUCT|MAP|UNION|.*\])", inner):
            raise DataError(f"{where}: {relation.label} holds {type_name}, which cannot be an id")
        if name in ("score", "rank", "price", "reward", "propensity") and not is_number(inner):
            raise DataError(
                f"{where}: {relation.label} holds {type_name}, not numbers; convert the column, or "
                f"map another one with --column {table}.{name}=…"
            )
        if name == "relevance":
            if inner == "BOOLEAN":
                cast = "INTEGER"
            elif not is_number(inner):
                raise DataError(f"{where}: {relation.label} holds {type_name}, not numbers")
        return SourceColumn(name, column, type_name, cast)

    def _missing(self, table: str, name: str, column: str, relation: Relation) -> DataError:
        close = suggestion(column, relation.types)
        return DataError(
            f"{table}: {relation.label} has no column {column!r}{close}. It has "
            f"{', '.join(relation.types)}. Name the one that holds it with "
            f"--column {table}.{name}=COLUMN (in Python: columns={{'{table}.{name}': 'COLUMN'}})"
        )

    # ---- relations -----------------------------------------------------------------------------

    def relation(self, label: str, source: Any) -> Relation:
        """Turn one source into something that can stand after FROM."""
        if isinstance(source, str | Path):
            paths = self._paths(label, source)
            if paths is None:
                return self._table_of_connection(label, str(source))
            return self._files(label, paths)
        if isinstance(source, list | tuple) and source and _are_paths(source):
            return self._files(label, [p for s in source for p in self._paths(label, s) or []])
        if isinstance(source, Mapping):
            return self._register(label, _arrow_from_dict(label, source))
        return self._register(label, to_arrow(label, source))

    def _register(self, label: str, table: Any) -> Relation:
        import pyarrow as pa

        row_number = None
        if isinstance(table, pa.Table):
            names = table.column_names
            if len({name.lower() for name in names}) < len(names):
                raise DataError(f"{label}: two columns have the same name: {', '.join(names)}")
            if label.startswith("recommendations"):
                row_number = "sqlmetrics_row"
                table = table.append_column(row_number, _row_numbers(table.num_rows))
        name = self.engine.bind(f"sqlmetrics_{re.sub(r'[^a-z0-9]+', '_', label.lower())}", table)
        types = self.engine.describe(name, label)
        types.pop("sqlmetrics_row", None)
        return Relation(name, types, "the table given", row_number)

    def _table_of_connection(self, label: str, name: str) -> Relation:
        full_name = self.engine.find_table(name)
        if full_name is None:
            folder = Path(name).parent
            nearby = [str(path) for path in folder.glob("*")] if folder.is_dir() else []
            raise DataError(
                f"{label}: there is no file {name}{suggestion(name, nearby)}"
                + ("" if self.engine.owned else ", and no such table in the connection")
            )
        return Relation(full_name, self.engine.describe(full_name, label), f"the table {name}")

    def _paths(self, label: str, source: str | Path) -> list[str] | None:
        """Expand a path or glob; None if no such file exists and the text may name a table."""
        text = str(source)
        path = Path(text)
        if text == "-":
            return [str(self.engine.spool(sys.stdin.buffer))]
        if path.is_dir():
            files = [p for p in sorted(path.rglob("*")) if p.is_file() and p.name[0] not in "._"]
            if not files:
                raise DataError(f"{label}: the folder {text} holds no files")
            return [str(file) for file in files]
        if any(ord(character) < 32 for character in text):
            raise DataError(f"{label}: the file name {text!r} has control characters")
        if path.exists() or "://" in text:
            return [text]
        if glob.has_magic(text):
            matches = sorted(p for p in glob.glob(text, recursive=True) if Path(p).is_file())
            if matches:
                return matches
            raise DataError(f"{label}: no file matches {text}")
        return None

    def _files(self, label: str, paths: list[str]) -> Relation:
        if not paths:
            raise DataError(f"{label}: no files")
        formats = {path: file_format(label, path) for path in paths}
        if len(set(formats.values())) > 1:
            raise DataError(f"{label}: files of different formats: {', '.join(paths)}")
        kind = formats[paths[0]]
        source = environment().globals[f"source_{kind}"]
        shown = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
        given: str | list[str] = paths[0] if len(paths) == 1 else paths
        sql = str(source(given))
        types = self.engine.describe(sql, f"{label}: {shown}")
        if not types:
            raise DataError(f"{label}: {shown} is empty")
        row_number, ordered = None, None
        if kind == "parquet" and "://" not in paths[0]:
            row_number = "CAST(file_index AS BIGINT) * 1099511627776 + file_row_number"
        elif kind == "csv":
            row_number = "sqlmetrics_row"
            ordered = str(source(given, in_order=True))
        return Relation(sql, types, shown, row_number, ordered)


def is_models(source: Any) -> bool:
    """Is it `{"als": source, …}` rather than `{user: [items]}`?"""
    if not isinstance(source, Mapping) or not source:
        return False

    def is_list_of_user(value: Any) -> bool:
        if isinstance(value, Mapping | set | frozenset):
            return True
        return isinstance(value, list | tuple) and not (value and _are_paths(value))

    return not any(is_list_of_user(value) for value in source.values())


def _are_paths(values: Iterable[Any]) -> bool:
    return all(
        isinstance(value, Path) or (isinstance(value, str) and Path(value).is_file())
        for value in values
    )


def file_format(label: str, path: str) -> str:
    """Tell the format of a file from its name, or, where the name says nothing, from its start.

    Raises:
        DataError: the file cannot be read, is empty, or is not what its name says.
    """
    name = path.lower()
    for packed in (".gz", ".zst"):
        name = name.removesuffix(packed)
    by_name = next((kind for end, kind in _EXTENSIONS.items() if name.endswith(end)), None)
    if "://" in path:
        return by_name or "parquet"
    try:
        with open(path, "rb") as file:
            start = file.read(4096)
    except OSError as error:
        raise DataError(f"{label}: {path} cannot be read: {error.strerror}") from error
    if not start:
        raise DataError(f"{label}: {path} is empty")
    is_parquet = start[:4] == b"PAR1"
    if by_name is None:
        by_start = "parquet" if is_parquet else _trec_format(start)
        if by_start is None:
            raise DataError(
                f"{label}: cannot tell the format of {path}; name it .parquet, .csv, .tsv or "
                ".jsonl, or give a TREC run (6 columns) or qrels (4 columns)"
            )
        return by_start
    is_packed = name != path.lower()
    if (by_name == "parquet") != is_parquet and not is_packed:
        found = "a Parquet file" if is_parquet else f"no Parquet file (it starts {start[:8]!r})"
        raise DataError(f"{label}: {path} is {found}, which its name does not say")
    return by_name


def _trec_format(start: bytes) -> str | None:
    lines = start.decode("utf-8", errors="replace").splitlines()
    width = len(lines[0].split()) if lines else 0
    return {6: "trec_run", 4: "trec_qrels"}.get(width)


def _row_numbers(count: int) -> Any:
    import numpy as np
    import pyarrow as pa

    return pa.array(np.arange(count, dtype=np.int64))


def _arrow_from_dict(label: str, source: Mapping[Any, Any]) -> Any:
    """Turn `{user: [items]}` or `{user: {item: number}}` into a long Arrow table."""
    import pyarrow as pa

    users: list[Any] = []
    items: list[Any] = []
    numbers: list[Any] = []
    scored = any(isinstance(value, Mapping) for value in source.values())
    for user, value in source.items():
        if isinstance(value, Mapping) != scored:
            raise DataError(f"{label}: user {user!r} has a {type(value).__name__}, others have not")
        if scored:
            rows = list(value.items())
        elif isinstance(value, str) or not hasattr(value, "__iter__"):
            raise DataError(f"{label}: user {user!r} has {value!r}, not a list of items")
        else:
            if label.startswith(("recommendations", "baseline")) and isinstance(
                value, set | frozenset
            ):
                raise DataError(f"{label}: user {user!r} has a set of items, which has no order")
            rows = [(item, position) for position, item in enumerate(value, start=1)]
        users.extend([user] * len(rows))
        items.extend(item for item, _ in rows)
        numbers.extend(number for _, number in rows)
    ranked = label.startswith(("recommendations", "baseline"))
    columns = {"user_id": users, "item_id": items}
    if scored:
        columns["score" if ranked else "relevance"] = numbers
    elif ranked:
        columns["rank"] = numbers
    try:
        return pa.table({name: pa.array(values) for name, values in columns.items()})
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(f"{label}: the ids or numbers are of different types: {error}") from error


def to_arrow(label: str, source: Any) -> Any:
    """Turn a frame, an Arrow object or a DuckDB relation into an Arrow table or dataset.

    Readers are read to their end, since they cannot be read twice.
    """
    import pyarrow as pa

    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if isinstance(source, pa.RecordBatchReader):
        return source.read_all()
    module = type(source).__module__.partition(".")[0]
    try:
        if module == "pyarrow" and hasattr(source, "scanner"):
            return source
        if module == "pandas":
            frame = source.reset_index() if any(source.index.names) else source
            return pa.Table.from_pandas(frame, preserve_index=False)
        if module == "polars":
            return (source.collect() if hasattr(source, "collect") else source).to_arrow()
        if hasattr(source, "to_arrow_table"):  # a DuckDB relation
            return source.to_arrow_table()
        if hasattr(source, "fetch_arrow_table"):
            return source.fetch_arrow_table()
        if hasattr(source, "__arrow_c_stream__"):
            return pa.table(source)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise DataError(
            f"{label}: a column holds values of different types, or of a type that Arrow does not "
            f"know: {error}"
        ) from error
    raise UsageError(
        f"{label}: cannot read a {type(source).__module__}.{type(source).__qualname__}; give a "
        "path, a frame, an Arrow table, a DuckDB relation or a dict of lists"
    )
