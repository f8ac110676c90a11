"""Tables for drawn command lines: awkward ids, further columns, and every form of giving them.

The rows are those of a case of fuzz_numbers.py. A `Dress` gives them other ids and more columns; a
`Form` says how the tables are given: the kinds of files or frames, the order of rows, the names of
columns. Two forms of the same tables have the same results.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet as pq

from tests.robustness.fuzz_numbers import Case, tables_of

Tables: TypeAlias = dict[str, dict[str, pa.Table]]
"""Name of a table -> its parts: one per model of the recommendations, else one named ""."""

# ---------------------------------------------------------------- ids and further columns

TEXTS = [
    "a", "A", "b", "10", "9", "007", "é", "日本語", "🙂", "it's", 'a"b', '"', "a b", " a", "a ",
    "%", "100%", "a,b", "a;b", "a\tb", "a\nb", "a|b", "\\", "\\n", "NULL", "nan", "true", "1e2",
    "-", "#", "{{ x }}", "(none)", "(all)", "2020-1-1", "2020-01-01", "12:30", "12:30:00",
    "x'; DROP TABLE t; --", "1.0", "+7", "0x10", "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    "6BA7B810-9DAD-11D1-80B4-00C04FD430C8", "null", "'", "''",
]  # fmt: skip
NUMBERS = [
    0, 1, 2, 3, 7, 9, 10, 11, 99, 100, -1, -20, 2**31 - 1, 2**31, 2**53, 2**53 + 1, 2**63 - 1,
    -(2**63), 10**18, 12345678901, 127, 128, 255, 256, 65535, 65536,
]  # fmt: skip
SMALL_NUMBERS = [*range(-13, 13)]
DATES = [date(2019, 12, 30) + timedelta(days=13 * n) for n in range(26)]
IDS: dict[str, list[Any]] = {
    "texts": TEXTS, "numbers": NUMBERS, "small numbers": SMALL_NUMBERS, "dates": DATES,
}  # fmt: skip
TYPES = {
    "texts": pa.string(), "numbers": pa.int64(), "small numbers": pa.int64(), "dates": pa.date32(),
}  # fmt: skip
TENANTS = ["t1", "t 2", "ü"]

# further columns: of whom, their type, and their values
ATTRIBUTES: dict[str, dict[str, tuple[pa.DataType, list[Any]]]] = {
    "users": {
        "country": (pa.string(), ["DE", "US", "it's", "a,b", 'q"q', None, "Ω", "(none)"]),
        "age": (pa.int64(), [18, 30, 45, None]),
        "premium": (pa.bool_(), [True, False]),
        "signup": (pa.date32(), [date(2024, 1, 31), date(2024, 2, 1), None]),
        "weight": (pa.float64(), [0.1, 2.5, 1e20, None]),
    },
    "items": {
        "brand": (pa.string(), ["x", "X", "y z", None, "%"]),
        "year": (pa.int64(), [1999, 2005, None]),
    },
    "recommendations": {"variant": (pa.string(), ["A", "B b"])},
    "interactions": {"cohort": (pa.string(), ["new", "old", None])},
}
_OF_USERS = ("users", "recommendations", "interactions")
_TIMES = [datetime(2025, 1, 1) + timedelta(days=17 * n, hours=n) for n in range(12)]


@dataclass
class Dress:
    """The appearance of the rows of a case.

    `users` and `items`: the id of the case -> the id that is given, a tuple where the `key` of a
    user is several columns. `attributes`: further columns, as `table.column`; what they hold is
    drawn from the `seed` and the id alone. `times`: the tables that have a timestamp.
    """

    users: dict[Any, Any]
    items: dict[Any, Any]
    user_kind: str = "texts"
    item_kind: str = "texts"
    key: tuple[str, ...] = ("user_id",)
    attributes: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    seed: int = 0


def everybody(case: Case) -> list[Any]:
    """Return the users of all tables of a case."""
    strangers = [row[0] for row in case.history + case.baseline + case.logs]
    return list(dict.fromkeys([*case.worlds, *strangers]))


def all_items(case: Case) -> list[Any]:
    rows = [row for rows in case.models.values() for row in rows]
    rows += case.interactions + case.history + case.baseline + case.logs
    named = [row[0] for row in case.items] + [row[-2] for row in case.aspects]
    return list(dict.fromkeys([*named, *(row[1] for row in rows)]))


def draw_dress(draw: random.Random, case: Case) -> Dress:
    kinds = ["texts", "texts", "numbers", "small numbers", "dates"]
    user_kind, item_kind = draw.choice(kinds), draw.choice(kinds)
    users, items = everybody(case), all_items(case)
    given = draw.sample(IDS[user_kind], len(users))
    key: tuple[str, ...] = ("user_id",)
    if draw.random() < 0.2:
        key = draw.choice([("tenant", "login"), ("login", "tenant"), ("user_id", "tenant")])
        # the same login in several tenants
        logins = [given[number // len(TENANTS)] for number in range(len(users))]
        pairs = [(login, TENANTS[number % len(TENANTS)]) for number, login in enumerate(logins)]
        given = [pair if key[0] != "tenant" else pair[::-1] for pair in pairs]
    attributes = [f"{table}.{name}" for table, names in ATTRIBUTES.items() for name in names]
    times = ("interactions", "history", "recommendations")
    return Dress(
        users=dict(zip(users, given, strict=True)),
        items=dict(zip(items, draw.sample(IDS[item_kind], len(items)), strict=True)),
        user_kind=user_kind,
        item_kind=item_kind,
        key=key,
        attributes=tuple(name for name in attributes if draw.random() < 0.5),
        times=tuple(name for name in times if draw.random() < 0.4),
        seed=draw.randrange(1000),
    )


def _drawn(seed: int, what: str, of: Any, values: Sequence[Any]) -> Any:
    """Choose a value by a hash, so that it stays the same where other rows go."""
    return values[zlib.crc32(f"{seed} {what} {of!r}".encode()) % len(values)]


def dressed(case: Case, dress: Dress) -> Tables:
    """Return the tables of a case with the ids and columns of its dress."""
    found: Tables = {}
    for name, given in tables_of(case).items():
        parts = given if isinstance(given, dict) else {"": given}
        found[name] = {model: _dressed(name, part, dress) for model, part in parts.items()}
    return found


def _dressed(name: str, table: pa.Table, dress: Dress) -> pa.Table:
    users = table["user_id"].to_pylist() if "user_id" in table.column_names else None
    items = table["item_id"].to_pylist() if "item_id" in table.column_names else None
    if name == "users":  # not everybody is in it
        keep = [_drawn(dress.seed, "known", user, range(5)) > 0 for user in users or []]
        table = table.filter(pa.array(keep, pa.bool_())).drop_columns("world")
        users = table["user_id"].to_pylist()
    columns: dict[str, Any] = {}
    for column in table.column_names:
        if column == "user_id":
            given = [dress.users[user] for user in users or []]
            for place, key in enumerate(dress.key):
                values = given if len(dress.key) == 1 else [pair[place] for pair in given]
                kind = "texts" if key == "tenant" else dress.user_kind
                columns[key] = pa.array(values, TYPES[kind])
        elif column == "item_id":
            ids = [dress.items[item] for item in items or []]
            columns[column] = pa.array(ids, TYPES[dress.item_kind])
        else:
            columns[column] = table[column]
    for full in dress.attributes:
        owner, _, column = full.partition(".")
        if owner == name:
            type_, values = ATTRIBUTES[owner][column]
            whom = users if owner in _OF_USERS else items
            drawn = [_drawn(dress.seed, full, of, values) for of in whom or []]
            columns[column] = pa.array(drawn, type_)
    if name in dress.times:
        pairs = list(zip(users or [], items or [], strict=True))
        times = [_drawn(dress.seed, name, pair, _TIMES) for pair in pairs]
        columns["timestamp"] = pa.array(times, pa.timestamp("us"))
    return pa.table(columns)


# ---------------------------------------------------------------- conditions


@dataclass(frozen=True)
class Condition:
    """A condition on the rows of a table: `column operator value`, for --where and for Python."""

    table: str
    column: str
    operator: str
    value: Any = None

    def text(self, column: str) -> str:
        """Write it in SQL, over a column of this name."""
        name = '"' + column.replace('"', '""') + '"'
        return f"{name} {self.operator} {literal(self.value)}".rstrip()

    def keeps(self, value: Any) -> bool:
        if value is None:
            return False
        tests: dict[str, Callable[[], bool]] = {
            "IS NOT NULL": lambda: True,
            "<>": lambda: bool(value != self.value),
            "=": lambda: bool(value == self.value),
            ">=": lambda: bool(value >= self.value),
            "<": lambda: bool(value < self.value),
            "IN": lambda: value in self.value,
        }
        return tests[self.operator]()

    def filtered(self, table: pa.Table) -> pa.Table:
        kept = [self.keeps(value) for value in table[self.column].to_pylist()]
        return table.filter(pa.array(kept, pa.bool_()))


def literal(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return "(" + ", ".join(map(literal, value)) + ")"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"DATE '{value}'" if isinstance(value, date) else repr(value)


def draw_conditions(draw: random.Random, tables: Tables) -> list[Condition]:
    """Draw conditions that keep some rows of every part of their table."""

    def some_ids(table: str, column: str) -> tuple[Any, ...]:
        ids = {one for part in tables[table].values() for one in part[column].to_pylist()}
        values = sorted(ids, key=repr)
        return tuple(draw.sample(values, max(1, len(values) * 3 // 4)))

    found: list[Condition] = []
    for table, parts in tables.items():
        if draw.random() > 0.15:
            continue
        names = set.intersection(*(set(part.column_names) for part in parts.values()))
        options: list[Callable[[], Condition]] = []
        if "item_id" in names:
            options.append(lambda t=table: Condition(t, "item_id", "IN", some_ids(t, "item_id")))
            options.append(lambda t=table: Condition(t, "item_id", "<>", some_ids(t, "item_id")[0]))
        if "rank" in names:
            options = [lambda t=table: Condition(t, "rank", "<", draw.choice([3, 5]))]
        for column, operators, values in (
            ("relevance", [">=", "<", "=", "IS NOT NULL"], [1.0, 0.5, 2.0]),
            ("score", ["<", ">="], [2.0, 1.0]),
            ("price", ["<", "IS NOT NULL"], [5.0, 2.5]),
            ("age", ["<", "=", "IS NOT NULL"], [31, 30]),
            ("country", ["<>", "IN"], ["it's", "DE"]),
        ):
            if column in names:
                operator, value = draw.choice(operators), draw.choice(values)
                value = {"IN": (value, "US"), "IS NOT NULL": None}.get(operator, value)
                options.append(lambda t=table, c=column, o=operator, v=value: Condition(t, c, o, v))
        if options:
            condition = draw.choice(options)()
            if all(condition.filtered(part).num_rows for part in parts.values()):
                found.append(condition)
    return found


# ---------------------------------------------------------------- forms

COLUMN_NAMES = [
    "uid", "select", "order", "k", "value", "metric", "label", "position", "item", "rating", "a b",
    "a.b", "a=b", "it's", 'a"b', "é", "日本語", "🙂", "%", "x'; --", "{{ x }}", "(none)", "ID", "1",
    "-", "row_number", "recommendations", "count", "sqlmetrics_row", "file_row_number", "filename",
    "*",
]  # fmt: skip
ROW_NUMBERS = ("sqlmetrics_row", "file_row_number")  # refused where the order of rows counts
MAPPED = {
    "recommendations": ["item_id", "rank", "score", "timestamp"],
    "interactions": ["item_id", "relevance", "timestamp"],
    "history": ["item_id", "timestamp"],
    "items": ["item_id", "price", "category", "item_group", "group_target", "features"],
    "users": [],
    "aspects": ["item_id", "aspect"],
    "baseline": ["item_id", "rank", "score"],
    "logs": ["item_id", "reward", "propensity"],
}
RANKED = ("recommendations", "baseline")
FILES = [
    "parquet", "row groups", "parquet files", "csv", "csv.gz", "tsv", "semicolons", "csv files",
    "jsonl", "jsonl.gz", "json",
]  # fmt: skip
FRAMES = [
    "pandas", "pandas arrow", "polars", "arrow", "chunks", "dataset", "relation", "reader", "dict",
    "parquet",
]  # fmt: skip
_SUFFIXES = {"tsv": "tsv", "semicolons": "csv", "row groups": "parquet"}


@dataclass
class Form:
    """How the tables of a run are given.

    `kinds`: of files or frames, by table. `names`: table -> column -> the name that it has there;
    `everywhere`: the columns whose name is the same in all tables, and mapped once. `decoys`:
    tables that also have columns with the names that others were mapped away from. `shuffled`: by
    which seed. `in_order`: the order of rows within a list counts. `model_column`: models are told
    apart by a column, not by name.
    """

    kinds: dict[str, str]
    names: dict[str, dict[str, str]] = field(default_factory=dict)
    everywhere: dict[str, str] = field(default_factory=dict)
    decoys: tuple[str, ...] = ()
    shuffled: int | None = None
    in_order: bool = False
    model_column: bool = False
    narrow: bool = False
    filters: bool = False  # conditions are applied beforehand, not by the package
    stdin: str = ""  # the table that comes from there
    threads: int | None = None
    partitions: int | None = None

    def own(self, table: str, column: str) -> str:
        """Return the name that a column has in a table of this form."""
        return self.names.get(table, {}).get(column, self.everywhere.get(column, column))

    def mapping(self, tables: Iterable[str]) -> dict[str, str]:
        """Return what `columns` and --column say."""
        there = set(tables)
        of_tables = {
            f"{table}.{column}": own
            for table, names in self.names.items() if table in there
            for column, own in names.items() if own.lower() != column
        }  # fmt: skip
        return {**self.everywhere, **of_tables}

    def features(self) -> list[str]:
        """Name what is not as usual, for the figures of a run."""
        found = [f"as {kind}" for kind in sorted(set(self.kinds.values()))]
        found += ["columns renamed"] * bool(self.names or self.everywhere)
        found += ["decoy columns"] * bool(self.decoys)
        found += ["rows shuffled"] * (self.shuffled is not None)
        found += ["a column model"] * self.model_column
        found += ["narrow integers"] * self.narrow
        found += ["rows filtered before"] * self.filters
        found += ["stdin"] * bool(self.stdin)
        found += ["threads"] * ((self.threads or 1) > 1)
        found += ["partitions"] * ((self.partitions or 1) > 1)
        return found


def draw_form(
    draw: random.Random, tables: Tables, dress: Dress, in_order: bool, files: bool, plain: bool
) -> Form:
    """Draw a form; `plain`: rows and columns as they are."""
    form = Form({}, in_order=in_order)
    form.model_column = "" not in tables["recommendations"] and draw.random() < 0.4
    usual = draw.choice(FILES if files else FRAMES)
    for table, parts in tables.items():
        allowed = kinds_allowed(table, parts, dress, in_order, files)
        one = usual if draw.random() < 0.7 else draw.choice(allowed)
        form.kinds[table] = one if one in allowed else draw.choice(allowed)
    if files and draw.random() < 0.1:
        form.stdin = draw.choice([*(t for t in tables if _tells_its_format(form, tables, t)), ""])
    if not plain:
        form.shuffled = draw.randrange(1000)
        form.narrow = draw.random() < 0.3
        form.filters = draw.random() < 0.5
    if draw.random() < (0.25 if plain else 0.5):
        _rename(draw, form, tables, dress)
    for table, kind in form.kinds.items():
        with_models = form.model_column and table == "recommendations"
        if kind == "dict" and (form.everywhere or form.names.get(table) or with_models):
            form.kinds[table] = "arrow"  # a dict has no further columns, or other names
    form.threads = draw.choice([None, 1, 1, 2])
    form.partitions = draw.choice([None] * 11 + [1, 2, 3])
    return form


def _tells_its_format(form: Form, tables: Tables, table: str) -> bool:
    """Is a table one file, whose format is told apart without its name?"""
    if len(tables[table]) > 1 or form.kinds[table].endswith(("files", "gz", "semicolons")):
        return False
    return tables[table][""].num_columns > 1 if "" in tables[table] else True


def _rename(draw: random.Random, form: Form, tables: Tables, dress: Dress) -> None:
    free = [name for name in COLUMN_NAMES if not (form.in_order and name in ROW_NUMBERS)]
    draw.shuffle(free)
    for column in dress.key:
        if draw.random() < 0.4:
            form.everywhere[column] = free.pop()
    if draw.random() < 0.3:
        form.everywhere["item_id"] = free.pop()
    for table, parts in tables.items():
        columns = {name for part in parts.values() for name in part.column_names}
        users = [] if table == "items" else [*dress.key]
        for column in [*users, *MAPPED[table]]:
            if column in columns and draw.random() < 0.3:
                own = column.upper()  # where only the letters differ, nothing has to be said
                if draw.random() < 0.8 or column in form.everywhere:
                    own = free.pop()
                    free.insert(0, own)
                form.names.setdefault(table, {})[column] = own
    # two columns of a table with one name: leave one as it is
    for names in form.names.values():
        taken: set[str] = set()
        for column in [*names]:
            if names[column].lower() in taken or names[column] in form.everywhere.values():
                del names[column]
            else:
                taken.add(names[column].lower())
    form.decoys = tuple(table for table in tables if draw.random() < 0.5)


def kinds_allowed(
    table: str, parts: Mapping[str, pa.Table], dress: Dress, in_order: bool, files: bool
) -> list[str]:
    """List the kinds of files or frames that hold a table as it is."""
    ordered = in_order and table in RANKED
    ids = [*dress.key, "item_id"]
    if files:
        csv_holds = all(_csv_holds(part, ids) for part in parts.values())
        json_holds = not ordered and all(_json_holds(part, ids) for part in parts.values())
        return [
            kind for kind in FILES
            if (csv_holds or not any(word in kind for word in ("csv", "tsv", "semi")))
            and (json_holds or "json" not in kind)
        ]  # fmt: skip
    found = [kind for kind in FRAMES if kind != "dict" and not (ordered and kind == "dataset")]
    if all(_dict_holds(table, part, dress) for part in parts.values()):
        found.append("dict")
    return found


# what engines take for a number, a truth value or a time, where all of a column is
_AMBIGUOUS = re.compile(r"[-+0-9.:eE/TZ ]*|true|false|t|f|y|n|yes|no|-?nan|-?inf\w*|null", re.I)


_WHOLE = re.compile(r"-?[0-9]+")
_TIME = re.compile(r"[0-9]{4}-[0-9]+-[0-9]+.*|[0-9]+:[0-9:]+")


def _says_text(values: Iterable[Any]) -> bool:
    """Do values of a column say that they are text?"""
    known = [value for value in values if value is not None]
    return not known or any(not _AMBIGUOUS.fullmatch(value) for value in known)


def _csv_holds(table: pa.Table, ids: Sequence[str]) -> bool:
    for name in table.column_names:
        column = table[name]
        if pa.types.is_nested(column.type) or (name in ids and pa.types.is_date(column.type)):
            return False
        if pa.types.is_string(column.type):
            values = column.to_pylist()
            # ids stay what they are, unless all are whole numbers
            is_text = _says_text(values) or (name in ids and not all(map(_WHOLE.fullmatch, values)))
            if "" in values or not is_text:
                return False
    return bool(table.num_rows)


def _json_holds(table: pa.Table, ids: Sequence[str]) -> bool:
    for name in table.column_names:
        column = table[name]
        if pa.types.is_string(column.type):
            values = column.to_pylist()
            is_time = name in ids and all(map(_TIME.fullmatch, values))
            if is_time or (name not in ids and not _says_text(values)):
                return False
        if pa.types.is_floating(column.type) and pc.any(pc.is_inf(column)).as_py():
            return False
        if pa.types.is_date(column.type) and column.null_count == len(column):
            return False
    return bool(table.num_rows)


def _dict_holds(table: str, part: pa.Table, dress: Dress) -> bool:
    """Can a table be a dict of lists, which has ranks, or of dicts, which has numbers?"""
    number = {"recommendations": "score", "baseline": "score", "interactions": "relevance"}
    names = [name for name in part.column_names if name != number.get(table)]
    if table not in (*number, "history") or names != ["user_id", "item_id"] or not part.num_rows:
        return False
    if len(dress.key) > 1 or dress.user_kind == "dates" or dress.item_kind == "dates":
        return False
    if table in RANKED and "score" not in part.column_names:
        return False
    pairs = list(zip(part["user_id"].to_pylist(), part["item_id"].to_pylist(), strict=True))
    return len(part.column_names) == 2 or len(set(pairs)) == len(pairs)


# ---------------------------------------------------------------- from tables to sources


def given(tables: Tables, form: Form, conditions: Sequence[Condition]) -> dict[str, Any]:
    """Return the tables in a form, as Arrow: a dict of models, or one table."""
    found: dict[str, Any] = {}
    for name, parts in tables.items():
        if form.filters:
            for condition in conditions:
                if condition.table == name:
                    parts = {model: condition.filtered(part) for model, part in parts.items()}
        if form.model_column and "" not in parts:
            parts = {
                "": pa.concat_tables(
                    part.append_column("model", pa.array([model] * part.num_rows, pa.string()))
                    for model, part in parts.items()
                )
            }
        made = {model: _as_in(form, name, part) for model, part in parts.items()}
        found[name] = made.get("", made)
    return found


def _as_in(form: Form, name: str, table: pa.Table) -> pa.Table:
    if form.shuffled is not None:
        table = table.take(pa.array(_order(form, name, table), pa.int64()))
    if form.narrow:
        table = _narrowed(table)
    mapped = {column: form.own(name, column) for column in table.column_names}
    decoys = [
        (column, table[column])
        for column, own in mapped.items()
        if name in form.decoys and own.lower() != column
        and column not in {o.lower() for o in mapped.values()}
    ]  # fmt: skip
    table = table.rename_columns(list(mapped.values()))
    for column, values in decoys:  # the same values, but those of other rows
        table = table.append_column(column, pa.array(values.to_pylist()[::-1], values.type))
    return table


def _order(form: Form, name: str, table: pa.Table) -> list[int]:
    """Draw an order of rows; of lists whose order counts, only the lists are mixed."""
    draw = random.Random(f"{form.shuffled} {name}")
    rows = list(range(table.num_rows))
    if not (form.in_order and name in RANKED):
        draw.shuffle(rows)
        return rows
    # every row gets a place among all; those of one list are dealt out in their order
    columns = [c for c in table.column_names if c not in ("item_id", "rank", "score", "timestamp")]
    lists = list(zip(*(map(str, table[column].to_pylist()) for column in columns), strict=True))
    mixed = draw.sample(lists, len(lists))
    left = {of: iter([row for row in rows if lists[row] == of]) for of in set(lists)}
    return [next(left[of]) for of in mixed]


def _narrowed(table: pa.Table) -> pa.Table:
    """Store whole numbers in as few bits as they need."""
    for place, name in enumerate(table.column_names):
        column = table[name]
        if pa.types.is_int64(column.type) and len(column) > column.null_count:
            low, high = pc.min_max(column).as_py().values()
            for type_, least, most in (
                (pa.uint8(), 0, 2**8), (pa.int16(), -(2**15), 2**15), (pa.int32(), -(2**31), 2**31),
                (pa.uint64(), 0, 2**64),
            ):  # fmt: skip
                if least <= low and high < most:
                    table = table.set_column(place, name, column.cast(type_))
                    break
    return table


def write(table: pa.Table, kind: str, folder: Path, stem: str) -> Path:
    """Write a table to a file, or to a folder of several; returns what names it."""
    if kind.endswith(" files"):
        target = folder / stem
        target.mkdir(parents=True)
        cuts = [0, (table.num_rows + 1) // 2, table.num_rows]
        if kind == "parquet files":
            cuts.insert(1, 0)  # one without a row
        for number in range(len(cuts) - 1):
            part = table.slice(cuts[number], cuts[number + 1] - cuts[number])
            if part.num_rows or kind == "parquet files":
                write(part, kind.removesuffix(" files"), target, f"part{number}")
        return target
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{stem}.{_SUFFIXES.get(kind, kind)}"
    if target.suffix == ".parquet":
        size = max(1, table.num_rows // 3) if kind == "row groups" else None
        pq.write_table(table, target, row_group_size=size)
        return target
    data = (_json(table, kind) if "json" in kind else _csv(table, kind)).encode()
    target.write_bytes(gzip.compress(data, mtime=0) if target.suffix == ".gz" else data)
    return target


def _csv(table: pa.Table, kind: str) -> str:
    text = io.StringIO()
    separator = {"tsv": "\t", "semicolons": ";"}.get(kind, ",")
    if table.num_columns == 1 and kind == "semicolons":
        separator = ","  # that of a file whose header shows none
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(table.column_names)
    columns = [column.to_pylist() for column in table.columns]
    writer.writerows([[_cell(v) for v in row] for row in zip(*columns, strict=True)])
    return text.getvalue()


def _cell(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _json(table: pa.Table, kind: str) -> str:
    records = table.to_pylist()
    if kind == "json":
        return json.dumps(records, default=str, ensure_ascii=False)
    return "".join(json.dumps(record, default=str, ensure_ascii=False) + "\n" for record in records)


def as_files(tables: Mapping[str, Any], form: Form, folder: Path) -> dict[str, Any]:
    """Write tables to files; returns their paths, of the recommendations by model."""
    found: dict[str, Any] = {}
    for name, table in tables.items():
        kind = form.kinds[name]
        if isinstance(table, dict):
            found[name] = {m: write(part, kind, folder, f"{name}_{m}") for m, part in table.items()}
        else:
            found[name] = write(table, kind, folder, name)
    return found


def as_sources(tables: Mapping[str, Any], form: Form, folder: Path) -> dict[str, Any]:
    """Return tables as what Python hands over."""
    found: dict[str, Any] = {}
    for name, table in tables.items():
        kind = form.kinds[name]
        if isinstance(table, dict):
            made = {m: _source(part, kind, folder, f"{name}_{m}") for m, part in table.items()}
            found[name] = made
        else:
            found[name] = _source(table, kind, folder, name)
    return found


def _source(table: pa.Table, kind: str, folder: Path, stem: str) -> Any:
    size = max(1, table.num_rows // 3)
    whole_with_gaps = any(
        column.null_count and (pa.types.is_integer(column.type) or pa.types.is_boolean(column.type))
        for column in table.columns
    )
    match kind:
        case "pandas" if not whole_with_gaps:  # pandas makes other types of such columns
            return table.to_pandas()
        case "pandas" | "pandas arrow":
            import pandas as pd

            return table.to_pandas(types_mapper=pd.ArrowDtype)
        case "polars":
            return pl.from_arrow(table)
        case "chunks":
            cut = [table.slice(n, size) for n in range(0, table.num_rows, size)]
            return pa.concat_tables(cut) if cut else table
        case "dataset":
            return pyarrow.dataset.dataset(write(table, "row groups", folder, stem))
        case "relation":
            return duckdb.from_arrow(table)
        case "reader":
            return table.to_reader(max_chunksize=size)
        case "dict":
            return _as_dict(table)
        case "parquet":
            return write(table, kind, folder, stem)
    return table


def _as_dict(table: pa.Table) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    names = table.column_names
    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        if len(names) == 2:
            found.setdefault(row[0], []).append(row[1])
        else:
            found.setdefault(row[0], {})[row[1]] = row[2]
    return found
