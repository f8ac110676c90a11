"""The table reader, which opens sources and maps their columns to the schema."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

from sqlmetrics.engines.base import Engine
from sqlmetrics.engines.relation import Relation
from sqlmetrics.errors import DataError, UsageError, close_names, meant, same_letters, suggestion
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.sql.templates import render_file
from sqlmetrics.tables import csv_layout
from sqlmetrics.tables.csv_dates import check_dates
from sqlmetrics.tables.csv_quotes import check_quotes, lines_checked
from sqlmetrics.tables.filters import check_rows, columns_of, read_condition
from sqlmetrics.tables.models import aligned, is_models
from sqlmetrics.tables.runs import RUN, Runs
from sqlmetrics.tables.schema import (
    ASSUMED,
    ATTRIBUTES,
    COLUMNS,
    NO_TYPE,
    NUMBERED,
    NUMBERS,
    OF_MODELS,
    RESULT_NAMES,
    ROUND,
    UNKNOWN,
    USER_IS_OPTIONAL,
    WITHOUT_USER,
    Source,
    SourceColumn,
    Table,
    can_be_number,
    is_number,
    of_row,
    type_family,
    unreadable_column,
)
from sqlmetrics.tables.scored import SCORED, documents
from sqlmetrics.tables.sources import read_source
from sqlmetrics.tables.spelling import ids_as_they_stand, infinite_numbers, meanings_of_commas
from sqlmetrics.texts.messages import RANKED, Argument, Message, give, map_column
from sqlmetrics.texts.wording import listed

_OF_LISTS = ("rank", "model", "run")  # a list of items has one of them, or an order instead
_OR_LISTS = ", or one list of items per row, as long as the other lists"


def _only_lists_have_runs(table: str, model: str | None, runs: Iterable[str]) -> UsageError:
    of_model = "" if model is None else f" of {model}"
    example = "-".join(filter(None, (model, next(iter(runs)))))
    return UsageError(
        f"{table}{of_model}: only recommendations can have runs, but runs are given: "
        f"{listed(runs)}",
        table=table,
        remedy=f"give each run as a model with a name of its own, such as {example}",
    )


def _assumed(
    table: str, wanted: Mapping[str, str | None], required: Sequence[str]
) -> dict[str, str]:
    """Return the assumed columns and types of a table of which only the name is known.

    `wanted` maps the possible columns to the source names that were given for them, if any.
    """
    there = [name for name, column in wanted.items() if column or name in required]
    if table in RANKED and not {"rank", "score"} & set(there):
        there.append("rank")
    types: dict[str, str] = {}
    for name in there:
        column, type_name = wanted[name] or name, ASSUMED.get(name, UNKNOWN)
        if name == "features" and "," in column:
            types |= {part.strip(): "DOUBLE" for part in column.split(",")}
        else:
            types[column] = type_name
    return types


class TableReader:
    """A reader that opens sources in an engine and maps their columns."""

    def __init__(
        self,
        engine: Engine,
        user_keys: Sequence[str],
        columns: Mapping[str, str],
        where: Mapping[str, str] | None = None,
        own: Mapping[str, Sequence[str]] | None = None,
        scored: bool = False,
    ) -> None:
        self.engine = engine
        self.scored = scored  # whether recommendations and interactions are one table of scores
        self._of_scored: Relation | None = None  # that table
        self.own = own or {}  # further columns of tables, which templates of the user read
        self.where = where or {}
        self.user_keys = tuple(user_keys)
        names = {column for required, more in COLUMNS.values() for column in (*required, *more)}
        for key in self.user_keys:
            if key.lower() in names | RESULT_NAMES or NUMBERED.match(key.lower()):
                raise UsageError(
                    f"key: the name {key!r} is reserved in the queries; use the key user_id and "
                    f"map the column: key='user_id', columns={{'user_id': {key!r}}}"
                )
        if len({key.lower() for key in self.user_keys}) < len(self.user_keys):
            raise UsageError(f"key: {', '.join(self.user_keys)} has a column twice; remove one")
        self.mapping: dict[tuple[str, str], str] = {}
        self._used: set[str] = set()
        self.warnings: list[str] = []  # warnings about the sources, shown with results
        self.notes: list[str] = []
        if not isinstance(columns, Mapping):
            raise UsageError(f"columns must be a dict {{name: column}}, not {columns!r}")
        for full_name, source in columns.items():
            if isinstance(source, Mapping):
                name, column = next(iter(source.items()), ("NAME", "COLUMN"))
                right = (
                    Argument("columns", column, f"{full_name}.{name}")
                    if full_name in COLUMNS
                    else Argument("columns", "COLUMN", str(full_name))
                )
                raise UsageError(
                    f"columns: {full_name!r} must be mapped to a column name, not to a dict "
                    f"({source!r})",
                    remedy=Message("write ", right),
                )
            table, _, name = str(full_name).rpartition(".")
            one = isinstance(source, str | Integral)  # features may have several columns
            if not one and not (name == "features" and isinstance(source, Iterable)):
                raise UsageError(
                    f"columns: {full_name!r} must be mapped to a column name, not to {source!r}"
                )
            of_own = (n for t in self.own if table in ("", t) for n in self.own[t])
            known = {*self.user_keys, *names, *of_own}
            if table and table not in COLUMNS:
                raise UsageError(
                    f"column mapping {full_name}={source}: unknown table "
                    f"{table!r}{suggestion(table, COLUMNS)}"
                )
            if name not in known:
                problem = f"column mapping {full_name}={source}: unknown column {name!r}"
                if source in known:  # the direction of DataFrame.rename
                    right = Argument("columns", name, ".".join(filter(None, (table, source))))
                    raise UsageError(problem, "; the names are exchanged: write ", right)
                raise UsageError(
                    f"{problem}{suggestion(name, known)}; write NAME_IN_SQLMETRICS=NAME_IN_SOURCE"
                )
            if not one:
                source = ",".join(map(str, source))
            self.mapping[table, name] = str(source)

    def read(self, name: str, source: Any) -> Table:
        """Open the source(s) of a table.

        Raises:
            DataError: a file cannot be read, or a column is missing or has an unsupported type.
        """
        named = name in OF_MODELS and is_models(source)
        parts = source if named else {None: source}
        if not parts:
            raise UsageError(f"{name}: the dict is empty; give at least one model")
        sources = []
        for model, of_model in parts.items():
            if isinstance(of_model, Runs) and name != "recommendations":
                raise _only_lists_have_runs(name, model, of_model)
            runs = of_model if isinstance(of_model, Runs) else {None: of_model}
            for run, part in runs.items():
                label = name if model is None else f"{name} of {model}"
                label += "" if run is None else f", run {run}"
                relation = self._relation(name, label, part)
                self.warnings += relation.warnings
                sources.append(self._source(name, relation, model, run))
        of_models = aligned(name, sources)
        self.warnings += of_models.warnings
        self.notes += of_models.notes
        columns = dict(of_models.columns)
        if named:
            columns["model"] = "VARCHAR"
        return Table(name, tuple(of_models.sources), columns, tuple(of_models.by_rank))

    def _relation(self, table: str, label: str, source: Any) -> Relation:
        """Open a source; the table of both recommendations and interactions is opened once."""
        if not (self.scored and table in SCORED):
            return read_source(self.engine, table, label, source)
        if self._of_scored is None:
            self._of_scored = read_source(self.engine, SCORED[0], "scored", source)
        return self._of_scored

    def check_mapping(self, tables: Mapping[str, Table]) -> None:
        """Check that every mapping without a table matches a column of some table.

        Raises:
            UsageError: names the mapping, and the tables that may have the column.
        """
        for (table, name), column in self.mapping.items():
            owners = [t for t in tables if name in (*COLUMNS[t][0], *self._optional(t))]
            if not table and owners and name not in self._used:
                raise UsageError(
                    f"column mapping {name}={column}: no table has a column {column!r}; "
                    f"{name} is a column of {', '.join(owners)}"
                )

    def _optional(self, table: str) -> tuple[str, ...]:
        """Return the optional columns of a table, with those of the user's own templates."""
        own = (name for name in self.own.get(table, ()) if name not in self.user_keys)
        return (*COLUMNS[table][1], *own)

    # ---- columns -------------------------------------------------------------------------------

    def _source(self, table: str, relation: Relation, model: str | None, run: str | None) -> Source:
        required, optional = COLUMNS[table][0], self._optional(table)
        is_scored = self.scored and table in SCORED
        if is_scored and relation.row_number is not None:
            required, optional = (), (*required, *optional)
        users = () if table in WITHOUT_USER else self.user_keys
        if table in USER_IS_OPTIONAL:
            optional, users = (*users, *optional), ()
        named = [name for name, value in (("model", model), (RUN, run)) if value is not None]
        names = [name for name in (*users, *required, *optional) if name not in named]
        wanted = {n: self.mapping.get((table, n), self.mapping.get(("", n))) for n in names}
        if not relation.has_own_names:  # a dict has no names to map
            self._used.update(names)
            wanted = dict.fromkeys(names)
            if len(self.user_keys) == 1 and self.user_keys[0] in wanted:
                wanted[self.user_keys[0]] = "user_id"
        assumed = relation.only_named and not relation.types
        if assumed:
            relation = replace(relation, types=_assumed(table, wanted, (*users, *required)))
        taken = {column.lower() for column in wanted.values() if column}
        lowered = {column.lower(): column for column in relation.types}
        actual: dict[str, str] = {}
        several: dict[str, tuple[str, ...]] = {}
        for name, mapped in wanted.items():
            column = mapped or name
            if name == "features" and "," in column and column not in relation.types:
                parts = [part.strip() for part in column.split(",")]
                parts = [lowered.get(part.lower(), part) for part in parts]
                for part in parts:
                    if part not in relation.types:
                        raise self._missing(table, name, part, relation)
                several[name] = tuple(parts)
                self._used |= {name}
                continue
            column = column if column in relation.types else lowered.get(column.lower(), column)
            free = column.lower() not in taken or name in self.own.get(table, ())
            if column in relation.types and (mapped or free):
                actual[name] = column
                self._used |= {name}
            elif (
                name not in optional
                or (table, name) in self.mapping
                or (column in relation.unread and (mapped or name != "timestamp"))
            ):
                raise self._missing(table, name, column, relation)
        if table in USER_IS_OPTIONAL:
            self._check_user(table, relation, actual)
        if names := [c for name, c in actual.items() if c in relation.like_values and c != name]:
            raise self._no_header(table, relation, names)
        ids = [actual[name] for name in (*self.user_keys, "item_id", ROUND) if name in actual]
        numbers = [actual[name] for name in NUMBERS if name in actual]
        with lines_checked(self.engine, table, relation):
            relation = ids_as_they_stand(self.engine, relation, ids)
            relation = infinite_numbers(self.engine, relation, numbers)
        # a text such as "heavy" is an attribute to slice by
        weight = relation.types.get(actual.get("weight", ""), "")
        if not wanted.get("weight") and not can_be_number(weight):
            actual.pop("weight", None)
        self.warnings += check_quotes(self.engine, table, relation, ids)
        self.warnings += check_dates(self.engine, table, relation, actual.get("timestamp"))
        if is_scored:
            of_models = [
                there
                for column in ("model", RUN)
                if (there := lowered.get(self._mapped("recommendations", column).lower()))
            ]
            keys = [actual[key] for key in self.user_keys]
            shared = bool(of_models) and table == "interactions"
            relation = documents(relation, actual, keys, of_models, shared)
            actual.setdefault("item_id", "item_id")
        columns = [self._column(table, name, column, relation) for name, column in actual.items()]
        for number, source_column in enumerate(columns):
            if source_column.name == "features" and not source_column.is_list:
                columns[number] = self._joined(table, "features", (source_column.source,), relation)
        columns += [self._joined(table, name, parts, relation) for name, parts in several.items()]
        of_lists = {
            c.name for c in columns if c.is_list and (table, c.name) not in ATTRIBUTES.values()
        }
        where = self._condition(table, relation, assumed)
        has_order = {"rank", "score"} & set(actual)
        is_list = "item_id" in of_lists
        if is_list and "score" in actual and "score" not in of_lists:
            raise DataError(
                f"{table}: {relation.label} has lists in {actual['item_id']}, but one score in "
                f"{actual['score']}; give a list of scores for each list of items"
            )
        lists = [one for one in columns if one.name in of_lists - {"aspect"}]
        if lists and not is_list:
            first = lists[0]
            raise DataError(
                f"{table}, column {first.source}: {relation.label} has lists ({first.type}), but "
                "its rows have no lists of items",
                table=table,
                column=first.name,
                remedy="write one row per item" + ("" if first.name in _OF_LISTS else _OR_LISTS),
            )
        if is_list and "rank" in actual:
            raise DataError(
                f"{table}: {relation.label} has whole lists in {actual['item_id']}, ranked by "
                "their order, and also a column rank",
                table=table,
                column="rank",
                remedy="remove the column rank, or write one row per item",
            )
        if is_list:
            several_values = [c.source for c in columns if c.name in of_lists]
            self._check_lengths(table, relation, several_values, where)
        ranked_by_list = is_list and table in RANKED and not has_order
        source = Source(
            relation=relation.sql,
            ordered_relation=relation.ordered or relation.sql,
            columns=tuple(columns),
            label=relation.label,
            model=model,
            run=run,
            row_number=None if is_list else relation.row_number,
            list_column=actual["item_id"] if ranked_by_list else None,
            types=relation.types,
            files=relation.files,
            format=relation.format,
            watched=relation.watched,
            is_held=relation.is_held,
            only_named=relation.only_named,
            where=where,
            unread=relation.unread,
            levels=relation.levels,
            of_folders=tuple(relation.of_folders),
        )
        if not source.of_folders:
            return source
        in_condition = columns_of(where) if where else set()
        read = [*actual, *sorted(in_condition - {*actual.values()})]
        self.notes += filter(None, (source.folder_note(table, name) for name in read))
        noted = {*actual.values(), *in_condition}
        return replace(source, of_folders=tuple(c for c in source.of_folders if c not in noted))

    def _mapped(self, table: str, name: str) -> str:
        return self.mapping.get((table, name)) or self.mapping.get(("", name)) or name

    def _condition(self, table: str, relation: Relation, assumed: bool) -> str:
        """Read and check the condition on a table; return "" if there is no condition.

        `assumed` tells that the columns of the table are assumed, not known.
        """
        condition = self.where.get(table)
        if condition is None:
            return ""
        text = read_condition(table, condition, None if assumed else relation.types)
        if not relation.only_named:
            check_rows(self.engine, table, condition, text, relation.sql, relation.label)
        return text

    def _column(self, table: str, name: str, column: str, relation: Relation) -> SourceColumn:
        type_name = relation.types[column]
        if name in self.own.get(table, ()):
            return SourceColumn(name, column, type_name, as_given=True)
        where = f"{table}, column {name if name == column else f'{name} ({column})'}"
        for part, types in relation.parts:
            theirs = types.get(column)
            if theirs is None:
                problem = f"{where}: {relation.parts[0][0]} has the column, but {part} does not"
                raise DataError(problem, table=table, column=name)
            if type_family(theirs) != type_family(type_name):
                raise DataError(
                    f"{where}: the type is {type_name} in {relation.parts[0][0]}, but {theirs} in "
                    f"{part}",
                    table=table,
                    column=name,
                    remedy="write all files with the same type",
                )
        inner = of_row(type_name)
        is_list = inner != type_name
        other = Message("map another column with ", map_column(table, name))
        cast = None
        if name in self.user_keys and is_list:
            problem = f"{where}: {relation.label} has lists of users ({type_name})"
            raise DataError(problem, table=table, column=name, remedy=other)
        if name in (*self.user_keys, "item_id", ROUND) and re.match(
            r"(STRUCT|MAP|UNION|INTERVAL|.*\])", inner
        ):
            if _has_no_rows(relation):
                raise _one_object(table, relation)
            raise DataError(
                f"{where}: the type in {relation.label} is {type_name}, which cannot be an id",
                table=table,
                column=name,
                remedy=self._unnested(table, column, relation)
                if _has_structs(type_name)
                else other,
            )
        if name in ("relevance", "reward") and inner == "BOOLEAN":
            cast = "INTEGER"
        elif name in NUMBERS and inner == NO_TYPE:
            type_name = f"DOUBLE{type_name.removeprefix(inner)}"
            cast = type_name if name == "features" else "DOUBLE"  # values of other lists
        elif name in NUMBERS and not is_number(inner):
            text = relation.texts.get(column, "")
            shown = f", e.g. {text[:80]!r}" if text else ""
            convert = "convert the column"
            if relation.layout and re.fullmatch(r" *[-+]?[0-9][0-9.,]*,[0-9.,]+ *", text):
                meanings = meanings_of_commas(self.engine, relation, column)
                paths = [*map(self.engine.shown, relation.files)]
                convert = csv_layout.read_with_commas(paths, relation.layout, column, **meanings)
            raise DataError(
                f"{where}: the type in {relation.label} is {type_name}, not a number{shown}",
                table=table,
                column=name,
                remedy=Message(convert, ", or ", other),
            )
        return SourceColumn(name, column, type_name, cast)

    def _check_user(self, table: str, relation: Relation, actual: Mapping[str, str]) -> None:
        """Check that a table with an optional user has all or none of the user keys."""
        absent = [key for key in self.user_keys if key not in actual]
        hints = {"user_id", *(key.lower() for key in self.user_keys)}
        if absent and (
            len(absent) < len(self.user_keys) or hints & {*map(str.lower, relation.types)}
        ):
            wanted = self.mapping.get((table, absent[0]), self.mapping.get(("", absent[0])))
            raise self._missing(table, absent[0], wanted or absent[0], relation)

    def _joined(
        self, table: str, name: str, parts: Sequence[str], relation: Relation
    ) -> SourceColumn:
        for part in parts:
            if self._column(table, name, part, relation).is_list:
                raise DataError(
                    f"{table}, column {name}: {part} of {relation.label} has lists",
                    table=table,
                    column=name,
                    remedy="map either one column of lists or several columns of numbers",
                )
        return SourceColumn(name, ", ".join(parts), "DOUBLE[]", parts=tuple(parts))

    def _check_lengths(
        self, table: str, relation: Relation, columns: Sequence[str], where: str
    ) -> None:
        """Check that the lists of a row have the same length, in the rows that match `where`."""
        if len(columns) < 2:
            return
        context = {"columns": columns, "relation": relation.sql, "where": where}
        query = render_file("inputs/uneven_lists", context)
        for row in self.engine.query(query, relation.label):
            raise DataError(
                f"{table}: {relation.label} has a row whose lists in {' and '.join(columns)} have "
                f"different lengths: {row}",
                table=table,
                remedy="give each item of a list its own value in the other lists",
            )

    def _missing(self, table: str, name: str, column: str, relation: Relation) -> DataError:
        if unread := relation.unread.get(column):
            return unreadable_column(table, column, unread, is_number=name in NUMBERS)
        if _has_no_rows(relation):
            return _one_object(table, relation)
        for (of, other), mapped in self.mapping.items():
            is_taken = of in ("", table) and mapped.lower() == column.lower() and other != name
            if is_taken and column.lower() in map(str.lower, relation.types):
                return DataError(
                    f"{table}: the column {column} of {relation.label} is mapped to {other}, so "
                    f"there is none for {name}",
                    table=table,
                    column=name,
                    remedy=Message("map another column with ", map_column(table, name)),
                )
        if self.scored and table in SCORED and name == "item_id" == column:
            return DataError(
                f"scored: {relation.label} has no column item_id, and its rows have no order that "
                "could number the items",
                table="scored",
                column=name,
                remedy=Message(
                    "add a column of ids, map one with ", Argument("columns", ..., name),
                    ", or give the rows as a Parquet or CSV file",
                ),
            )  # fmt: skip
        if name in self.user_keys and "," in name and name == column:
            return DataError(
                f"{table}: {relation.label} has no column {name!r}",
                table=table,
                column=name,
                remedy=f"give several keys as a list: key={[k.strip() for k in name.split(',')]}",
            )
        if name == "probability" and "score" in relation.types:
            return DataError(
                f"{table}: {relation.label} has a column score, but no probability; a score is not "
                "a probability",
                table=table,
                column=name,
                remedy=Message(
                    "convert the scores of a round to probabilities that sum to 1, for example by "
                    "a softmax; or evaluate the policy that shows the item with the highest score, "
                    "with ", give("recommendations"),
                ),
            )  # fmt: skip
        if relation.like_values:
            return self._no_header(table, relation, relation.like_values)
        required, optional = COLUMNS[table]
        known = {*self.user_keys, *required, *optional} - {name}
        read = known | {self._mapped(table, other) for other in known}
        others = [other for other in relation.types if other not in read]
        close, same = close_names(column, others), same_letters(column, others)
        only = close[0] if len(close) == 1 and not same else ""
        columns = f"It has {listed(relation.types)}" if relation.types else "It has no columns"
        if relation.format == "csv":
            columns += " (the first line of a CSV file names its columns)"
        of_structs = [c for c, type_name in relation.types.items() if _has_structs(type_name)]
        return DataError(
            f"{table}: {relation.label} has no column {column!r}{meant(close) or '.'} {columns}",
            table=table,
            column=name,
            remedy=self._unnested(table, of_structs[0], relation)
            if of_structs
            else Message(
                f"if you mean {only}, map it with "
                if only
                else f"map {'it' if same else 'another column'} with ",
                map_column(table, name, same or only or ...),
            ),
        )

    def _no_header(self, table: str, relation: Relation, names: Sequence[str]) -> DataError:
        assert relation.layout
        return csv_layout.no_header(
            table, self.engine.shown(relation.files[0]), relation.layout, names
        )

    def _unnested(self, table: str, column: str, relation: Relation) -> Message:
        """Return the remedy for a column of lists of structs: a source with a row per struct."""
        nested = identifier(column)
        if self.engine.dialect == "spark":
            others = [name for name in relation.types if name != column]
            source = f"frame.selectExpr({', '.join(map(repr, [*others, f'inline({nested})']))})"
        else:
            rows = relation.sql if relation.files else "frame"
            source = f"SELECT * EXCLUDE ({nested}), unnest({nested}, recursive := true) FROM {rows}"
            source = source if relation.files else f"duckdb.sql('{source}')"
        return Message(
            f"give one row per struct with {source}, and map the fields with ",
            map_column(table, "item_id"),
            *((" and ", map_column(table, "score")) if table in RANKED else ()),
        )


def _has_no_rows(relation: Relation) -> bool:
    """Return whether JSON files have other objects than rows: all their values are nested."""
    kinds = relation.types.values()
    is_json = relation.format == "json" and bool(kinds)
    return is_json and all(re.match(r"STRUCT|MAP|JSON|.*\]\Z", k) for k in kinds)


def _one_object(table: str, relation: Relation) -> DataError:
    return DataError(
        f"{table}: the objects in {relation.label} are not rows: all their values are objects or "
        'lists, as in a dict per user. A row is written as {"user_id": …, "item_id": …}',
        table=table,
        remedy="read the file with json.load in Python and pass the dict; a frame is written as "
        "rows by to_json(path, orient='records')",
    )


def _has_structs(type_name: str) -> bool:
    """Return whether a column has lists of structs, such as the items and scores of a user."""
    return type_name.startswith("STRUCT") and type_name.endswith("]")
