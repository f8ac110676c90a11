"""Plan the queries that read the user's tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlmetrics.errors import DataError, MissingTableError, UsageError
from sqlmetrics.sql.binding import Text, bound, input_node, tables_of
from sqlmetrics.sql.dialects import NATIVE, SIGNED_ZEROS
from sqlmetrics.sql.query_graph import Query
from sqlmetrics.sql.template_names import Keys
from sqlmetrics.sql.templates import render_file
from sqlmetrics.tables.schema import ATTRIBUTES, Source, Table
from sqlmetrics.texts.messages import (
    RANKED,
    Message,
    give,
    how_to_give,
    map_column,
    set_to,
)

# query for a check: columns of the interactions that no other query reads and may hold relevance
UNREAD_RELEVANCE = "unread_relevance"


@dataclass(frozen=True)
class Inputs:
    """The user's tables and the queries that read them.

    Attributes:
        tables: the tables by name.
        keys: the columns that identify lists and users.
    """

    tables: Mapping[str, Table]
    keys: Keys

    def has(self, table: str, column: str) -> bool:
        """Return whether a table was given and has this column."""
        return table in self.tables and column in self.tables[table].columns

    def has_user(self, table: str) -> bool:
        """Return whether a table was given and has the columns of the user key."""
        return table in self.tables and {*self.keys.users} <= {*self.tables[table].columns}

    def require(self, table: str, column: str | None, setting: str = "") -> None:
        """Check that a table was given and that it has a column.

        Args:
            table, column: the required table and column.
            setting: the setting that needs them, for messages.

        Raises:
            MissingTableError: the table or column is missing; names the argument that supplies it.
        """
        needs = f"with {setting} needs" if setting else "needs"
        if table not in self.tables:
            what = table if column is None else f"{table} with a column {column}"
            raise MissingTableError(
                need=f"{needs} the table {what}, which was not given",
                table=table,
                column=column or "",
                remedy=Message(how_to_give(table), self.replaced if table == "policy" else ""),
                what=Message(f"the table {what} was not given (", give(table), ")"),
            )
        if column is not None and (lacking := self._lacking(table, column)):
            mapped = map_column(table, column)
            found = None if column in self.tables[table].columns else lacking.find(column)
            fault = "does not have" if found is None else f"has as {found.type}, not as numbers"
            raise MissingTableError(
                need=f"{needs} the column {column} of the table {table}, which {lacking.label} "
                f"{fault}",
                table=table,
                column=column,
                remedy=Message("name the column that holds it with ", mapped),
                what=Message(f"the table {table} has no column {column} (", mapped, ")"),
            )

    @property
    def replaced(self) -> str:
        """Return what a table of policies replaces, for messages: only one policy can be given."""
        if self.has("logs", "target_propensity"):
            return ", in place of the column target_propensity of the logs"
        return ", in place of the lists" if "recommendations" in self.tables else ""

    def _lacking(self, table: str, column: str) -> Source | None:
        """Return the source that lacks a column of a table; None if all sources have it."""
        given = self.tables[table]
        by_rank = given.by_rank if column == "score" else ()
        if column in given.columns and not by_rank:
            return None
        without = (s for s in given.sources if s.model in by_rank or s.find(column) is None)
        return next(without, given.sources[0])

    def order_of(self, table: str, values: Mapping[str, Any]) -> str:
        """Return what orders the lists of a table: rank, score, or the order of rows."""
        given = self.tables.get(table)
        if table == "recommendations" or values["order"] == "row" or given is None:
            return str(values["order"])
        ordering = (name for name in ("rank", "score") if name in given.columns)
        return next(ordering, str(values["order"]))

    def removed_by(self, table: str, values: Mapping[str, Any]) -> list[str]:
        """Return the settings that remove rows from the lists of a table."""
        if table not in RANKED:
            return []
        of_baseline = table == "baseline"
        masked = values["masked_scores"] == "drop" and self.order_of(table, values) == "score"
        return [
            *(["masked_scores=drop"] if masked else []),
            *(["drop_seen=true"] if values["drop_seen"] == "true" else []),
            *(["unjudged=drop"] if values["unjudged"] == "drop" and not of_baseline else []),
        ]

    # ---- queries -------------------------------------------------------------------------------

    def rows(self, name: str, values: Mapping[str, Any]) -> Query:
        """Plan the reading of a table, or of an attribute that a table stores in lists."""
        table_name = ATTRIBUTES[name][0] if name in ATTRIBUTES else name
        table = self.tables[table_name]
        by_row = table_name in RANKED and table.require_order(
            self.order_of(table_name, values), str(values["ties"])
        )
        self._check_lists(table)
        text = self._rendered(
            "table" if name == table_name else name,
            table=name,
            sources=table.sources,
            row_order_is_read=by_row,
            attributes=[column for owner, column in ATTRIBUTES.values() if owner == table_name],
            zeros_differ=self.keys.dialect in SIGNED_ZEROS,
        )
        return input_node(name, text, table_name)

    def _check_lists(self, table: Table) -> None:
        of_attributes = {column for owner, column in ATTRIBUTES.values() if owner == table.name}
        for source in () if self.keys.dialect == NATIVE else table.sources:
            columns = [column for column in source.columns if column.name not in of_attributes]
            lists = [column.source for column in columns if column.is_list]
            if len(lists) > 1:
                raise DataError(
                    f"{table.name}: the lists in {' and '.join(lists)} are parallel, which only "
                    "DuckDB supports; export one row per item"
                )

    def unread_relevance(self) -> Query:
        """Plan the reading of columns of the interactions that may hold relevance."""
        table = self.tables["interactions"]
        text = self._rendered(
            UNREAD_RELEVANCE, source=table.sources[0], columns=table.unread_relevance
        )
        return input_node(UNREAD_RELEVANCE, text, "interactions")

    def kept(self, rows: Query, values: Mapping[str, Any], find: Callable[[str], Query]) -> Query:
        """Plan the rows of lists that remain under the settings; other queries read only these.

        Args:
            rows: all rows.
            values: the settings.
            find: function that plans another table.

        Raises:
            UsageError: the settings need a table that was not given.
        """
        warning = self._masked_scores_left(rows, values)
        if warning:
            rows = replace(rows, warnings=(*rows.warnings, warning))
        settings = self.removed_by(rows.name, values)
        if not settings:
            return rows
        seen_is_dropped = "drop_seen=true" in settings
        if seen_is_dropped and "history" not in self.tables:
            raise UsageError(
                "drop_seen=true needs the table history, which was not given",
                table="history",
                remedy=how_to_give("history"),
            )
        sql = self._rendered(
            "kept_rows",
            table=rows.name,
            columns=rows.columns,
            masked="masked_scores=drop" in settings,
            seen_is_dropped=seen_is_dropped,
            unjudged_is_dropped="unjudged=drop" in settings,
        )

        text = Text(sql, "inputs/kept_rows")
        read = {table: rows if table == rows.name else find(table) for table in tables_of(text)}
        return replace(bound(f"kept_{rows.name}", text, read), table=rows.table)

    def _masked_scores_left(self, rows: Query, values: Mapping[str, Any]) -> Message:
        """Return a warning if masked scores stay in lists that are not ordered by score."""
        masks = values["masked_scores"] == "drop" and rows.name in RANKED
        order = self.order_of(rows.name, values) if masks else "score"
        if order == "score" or "score" not in rows.columns:
            return Message()
        return Message(
            f"{rows.name}: masked_scores=drop has no effect, because {order} orders these lists "
            "and scores are ignored. To order lists by score, add ",
            set_to("order", "score"),
        )

    def _rendered(self, template: str, **context: Any) -> str:
        return render_file(f"inputs/{template}", {**self.keys.context, **context})
