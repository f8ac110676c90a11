"""The context of templates of stages, metrics, slices and checks, besides keys and settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlmetrics.errors import UsageError
from sqlmetrics.messages import Message, give, map_column
from sqlmetrics.plan.inputs import Inputs
from sqlmetrics.sql.dialects import NATIVE
from sqlmetrics.tables.schema import UNKNOWN, can_compare_times, of_row, type_family


@dataclass
class Heard:
    """The warnings and required columns of a template, collected during rendering."""

    warnings: dict[Message, None] = field(default_factory=dict)
    needs: dict[tuple[str, str], None] = field(default_factory=dict)


def template_context(inputs: Inputs, values: Mapping[str, Any], heard: Heard) -> dict[str, Any]:
    """Build the context of a template under the given settings.

    Args:
        inputs: the tables; without tables, the template is only described and requires none.
        values: the settings and cutoffs.
        heard: collects the warnings and required columns of the template.
    """
    tables, has = inputs.tables, inputs.has
    lists = tables.get("recommendations")

    def need(table: str, column: str, setting: str = "") -> str:
        """Declare a column that the template, or one of its settings, requires."""
        heard.needs[table, column] = None
        if tables:
            inputs.require(table, column, setting)
        return ""

    def need_time(table: str, column: str, unit: str = "timestamp") -> str:
        """Declare a column that the template reads as a time in this unit."""
        need(table, column)
        if table in tables:
            tables[table].require_time(column, unit)
        if unit != "timestamp" and inputs.keys.dialect != NATIVE:
            raise UsageError(
                f"slices by month: every database converts numbers of {unit} to timestamps in its "
                "own way; pass a view with a timestamp as interactions, and set unit=timestamp"
            )
        return ""

    def assume(table: str, column: str, value: str) -> str:
        """Declare a substitute for a column that was not given."""
        if table in tables and not has(table, column):
            warning = Message(
                f"{table}: there is no column {column}; {value} is assumed for all rows. "
                "If the table has such a column, map it with ",
                map_column(table, column),
            )
            heard.warnings[warning] = None
        return ""

    def in_bytes(expression: str, is_text: bool = False) -> str:
        """Return the SQL that orders items by the bytes of their ids if these are text."""
        held = "" if lists is None else lists.columns["item_id"]
        if inputs.keys.dialect != "postgres":  # other dialects compare bytes
            return expression
        if held == UNKNOWN and not is_text:
            warning = Message(
                "postgres: items with equal scores are ordered by item_id. If item_id is text and "
                'the collation of the database is not "C", their order differs from that of other '
                "engines. Pass an export of the table together with its name (",
                give("recommendations"),
                "), which has the types of columns",
            )
            heard.warnings[warning] = None
            return expression
        is_text = is_text or type_family(held) == "text"
        return f'{expression} COLLATE "C"' if is_text else expression

    def comparable_times(*names: str) -> bool:
        """Return whether these tables have timestamps that can be compared with each other."""
        return all(has(name, "timestamp") for name in names) and can_compare_times(
            tables[name].columns["timestamp"] for name in names
        )

    def is_kind(kind: str, table: str, column: str) -> bool:
        """Return whether the values of a column have types of this family, such as "text"."""
        held = tables[table].columns.get(column, "") if table in tables else ""
        return not tables or type_family(of_row(held)) == kind

    def composed(text: str) -> str:
        """Return the SQL of a text with composed characters, where the engine has a function."""
        native = inputs.keys.dialect == NATIVE
        return f"nfc_normalize(CAST({text} AS VARCHAR))" if native else text

    def source_of(table: str, column: str) -> str:
        """Return the name of a column in the first source of its table, for messages."""
        found = tables[table].sources[0].find(column) if table in tables else None
        return column if found is None else found.source

    context = inputs.keys.context
    # with unjudged=best, every list has its own relevant items
    per_list = values.get("unjudged") == "best"
    truth = {
        "truth_keys": context["keys" if per_list else "user_keys"],
        "truth_keys_of": context["keys_of" if per_list else "user_keys_of"],
        "same_truth": context["same_keys" if per_list else "same_user"],
        "same_coalesced_truth": context[
            "same_coalesced_keys" if per_list else "same_coalesced_user"
        ],
    }
    functions: dict[str, Callable[..., Any]] = {
        "need": need,
        "need_time": need_time,
        "assume": assume,
        "in_bytes": in_bytes,
        "is_text": lambda table, column: is_kind("text", table, column),
        "is_number": lambda table, column: any(
            is_kind(kind, table, column) for kind in ("integer", "floating-point", "decimal")
        ),
        "is_integer": lambda table, column: is_kind("integer", table, column),
        "composed": composed,
        "source_of": source_of,
        "order_of": lambda table: inputs.order_of(table, values),
        "is_chosen": lambda name: name in values.get("chosen_settings", ()),
        "has": has,
        "comparable_times": comparable_times,
        "has_user": inputs.has_user,
    }
    return {
        **context,
        **truth,
        **values,
        **functions,
        "is_described": not tables,
        "score_is_read": values.get("order") == "score",
        "rank_is_whole": lists is not None and lists.rank_is_whole,
    }
