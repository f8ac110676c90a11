"""The names that templates of stages, metrics, slices and checks may use, besides settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlmetrics.errors import UsageError
from sqlmetrics.plan.inputs import Inputs
from sqlmetrics.sql.dialects import NATIVE
from sqlmetrics.sql.template_names import KeyNames
from sqlmetrics.tables.schema import ROUND, UNKNOWN, can_compare_times, of_row, type_family
from sqlmetrics.texts.messages import Message, give, map_column


@dataclass
class Heard:
    """The warnings and required columns of a template, collected during rendering."""

    warnings: dict[Message, None] = field(default_factory=dict)
    needs: dict[tuple[str, str], None] = field(default_factory=dict)


class TemplateNames(KeyNames):
    """Names about the given tables.

    Without tables, a template is only described: it requires none, and all columns are as it needs.

    Args:
        inputs: the tables.
        values: the settings and cutoffs.
        heard: collects the warnings and required columns of the template.
        checked: whether stages also count rows for checks.
        baseline_model: the model that is the baseline, if the baseline is a model.
    """

    def __init__(
        self,
        inputs: Inputs,
        values: Mapping[str, Any],
        heard: Heard,
        checked: bool,
        baseline_model: str | None,
    ) -> None:
        super().__init__(inputs.keys)
        self._inputs, self._tables = inputs, inputs.tables
        self._values, self._heard = values, heard
        self._checked, self._baseline_model = checked, baseline_model

    # ---- columns that a template reads

    def has(self, table: str, column: str) -> bool:
        """Was the table given, and does it have the column? For `{% if … %}`."""
        return self._inputs.has(table, column)

    def has_user(self, table: str) -> bool:
        """Was the table given, and does it have the columns that identify a user?"""
        return self._inputs.has_user(table)

    def need(self, table: str, column: str, setting: str = "") -> str:
        """Declare a column that the template, or one of its settings, requires; an empty text."""
        self._heard.needs[table, column] = None
        if self._tables:
            self._inputs.require(table, column, setting)
        return ""

    def need_time(
        self,
        table: str,
        column: str,
        unit: str = "timestamp",
        asked: str = "month",
        setting: str = "unit",
        converted: bool = True,
    ) -> str:
        """Declare a column that the template reads as a time in this unit; an empty text. `asked`
        is the slice or metric as a user writes it without a unit, and `setting` is the setting with
        the unit, for messages. `converted`: the template converts numbers to timestamps."""
        self.need(table, column)
        can_read_numbers = not converted or self.dialect == NATIVE
        if table in self._tables:
            self._tables[table].require_time(column, unit, asked, setting, can_read_numbers)
        if unit != "timestamp" and not can_read_numbers:
            raise UsageError(
                f"slices by {asked}: every database converts numbers of {unit} to timestamps "
                "in its own way; pass a view with a timestamp as interactions, and set "
                "unit=timestamp"
            )
        return ""

    def assume(self, table: str, column: str, value: str) -> str:
        """Declare what a missing column is taken for, and warn of it; an empty text."""
        if table in self._tables and not self.has(table, column):
            warning = Message(
                f"{table}: there is no column {column}; {value} is assumed for all rows. "
                "If the table has such a column, map it with ",
                map_column(table, column),
            )
            self._heard.warnings[warning] = None
        return ""

    def source_of(self, table: str, column: str) -> str:
        """The name of a column in the first source of its table, for messages."""
        given = table in self._tables
        found = self._tables[table].sources[0].find(column) if given else None
        return column if found is None else found.source

    @property
    def policy_keys(self) -> list[str]:
        """The columns by which a row of the policy belongs to a round: `round_id`, or those that
        identify a user."""
        return [ROUND] if self.has("policy", ROUND) else [*self._users]

    @property
    def policy_columns(self) -> list[str]:
        """The columns that identify the items of the policy of a round: also `model`, if several
        policies are evaluated."""
        return [*(["model"] if self.has("policy", "model") else []), *self.policy_keys]

    # ---- types

    def is_text(self, table: str, column: str) -> bool:
        """Does a column hold text?"""
        return self._is_kind("text", table, column)

    def is_list(self, table: str, column: str) -> bool:
        """Does a column hold lists?"""
        return table in self._tables and self._tables[table].columns.get(column, "").endswith("]")

    @property
    def text_ids(self) -> list[str]:
        """The columns that identify users and items, without quotes, that hold text in both lists
        and interactions."""
        tables, columns = ("recommendations", "interactions"), [*self.user_key_columns, "item_id"]
        return [name for name in columns if all(self.is_text(table, name) for table in tables)]

    def is_number(self, table: str, column: str) -> bool:
        """Does a column hold numbers?"""
        kinds = ("integer", "floating-point", "decimal")
        return any(self._is_kind(kind, table, column) for kind in kinds)

    def is_integer(self, table: str, column: str) -> bool:
        """Does a column hold whole numbers?"""
        return self._is_kind("integer", table, column)

    def _is_kind(self, kind: str, table: str, column: str) -> bool:
        given = table in self._tables
        held = self._tables[table].columns.get(column, "") if given else ""
        return not self._tables or type_family(of_row(held)) == kind

    def comparable_times(self, *columns: str) -> bool:
        """Do these columns, such as `history.timestamp`, hold times that can be compared with each
        other?"""
        named = [column.split(".") for column in columns]
        return all(self.has(table, column) for table, column in named) and can_compare_times(
            self._tables[table].columns[column] for table, column in named
        )

    # ---- order

    def order_of(self, table: str) -> str:
        """The order of the lists of a table: rank, score, or row, the order of rows."""
        return self._inputs.order_of(table, self._values)

    @property
    def score_is_read(self) -> bool:
        """Do scores order the lists?"""
        return bool(self._values.get("order") == "score")

    @property
    def rank_is_whole(self) -> bool:
        """Are the ranks of the lists whole numbers by their type?"""
        lists = self._tables.get("recommendations")
        return lists is not None and lists.rank_is_whole

    def in_bytes(self, expression: str, is_text: bool = False) -> str:
        """An expression by which items are ordered: text by its bytes, in every engine."""
        lists = self._tables.get("recommendations")
        held = "" if lists is None else lists.columns["item_id"]
        if self.dialect != "postgres":  # other dialects compare bytes
            return expression
        if held == UNKNOWN and not is_text:
            warning = Message(
                "postgres: items with equal scores are ordered by item_id. If item_id is text and "
                'the collation of the database is not "C", their order differs from that of other '
                "engines. Pass an export of the table together with its name (",
                give("recommendations"),
                "), which has the types of columns",
            )
            self._heard.warnings[warning] = None
            return expression
        is_text = is_text or type_family(held) == "text"
        return f'{expression} COLLATE "C"' if is_text else expression

    def composed(self, text: str) -> str:
        """A text with composed characters (é as one), where the engine has a function for it."""
        return f"nfc_normalize(CAST({text} AS VARCHAR))" if self.dialect == NATIVE else text

    # ---- settings

    def is_chosen(self, setting: str) -> bool:
        """Was a setting given by the user, rather than by a convention or a default?"""
        return setting in self._values.get("chosen_settings", ())

    @property
    def truth_keys(self) -> str:
        """The columns that identify the relevant items: those of the user, or with
        `unjudged=best`, which gives every list relevant items of its own, those of the list."""
        return self.keys if self._is_per_list else self.user_keys

    def truth_keys_of(self, table: str) -> str:
        """The same with the name of a table."""
        return self.keys_of(table) if self._is_per_list else self.user_keys_of(table)

    def same_truth(self, left: str, right: str) -> str:
        """The condition that rows of two tables have the same relevant items."""
        return (self.same_keys if self._is_per_list else self.same_user)(left, right)

    def same_coalesced_truth(self, table: str, left: str, right: str) -> str:
        """The condition that a row has the relevant items of a FULL JOIN before it."""
        same = self.same_coalesced_keys if self._is_per_list else self.same_coalesced_user
        return same(table, left, right)

    @property
    def _is_per_list(self) -> bool:
        return self._values.get("unjudged") == "best"

    # ---- the run

    @property
    def checked(self) -> bool:
        """Do stages also count the rows that checks ask for?"""
        return self._checked

    @property
    def baseline_model(self) -> str | None:
        """The model that is the baseline, if the baseline is a model."""
        return self._baseline_model

    @property
    def is_described(self) -> bool:
        """Is the template only described, without tables?"""
        return not self._tables
