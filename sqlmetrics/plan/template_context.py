"""The context of templates of stages, metrics, slices and checks, beside keys and settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlmetrics.errors import UsageError
from sqlmetrics.messages import Message, give, map_column
from sqlmetrics.plan.inputs import Inputs
from sqlmetrics.sql.dialects import NATIVE
from sqlmetrics.tables.schema import UNKNOWN, type_family


@dataclass
class Heard:
    """The warnings of a template, and the columns that it needs, collected while it is rendered."""

    warnings: dict[Message, None] = field(default_factory=dict)
    needs: dict[tuple[str, str], None] = field(default_factory=dict)


def template_context(
    inputs: Inputs, values: Mapping[str, Any], heard: Heard, metric: str = ""
) -> dict[str, Any]:
    """Build the context of a template under the given settings.

    Args:
        inputs: the tables; without any, a template is only described and lacks nothing.
        values: the settings, and the cutoffs.
        heard: collects the warnings and needs of the template.
        metric: the name of the metric that it is rendered for.
    """
    tables, has = inputs.tables, inputs.has
    lists = tables.get("recommendations")

    def need(table: str, column: str, setting: str = "") -> str:
        """Let a template name a column that it, or a setting of it, cannot do without."""
        heard.needs[table, column] = None
        if tables:
            inputs.require(table, column, metric, setting)
        return ""

    def need_time(table: str, column: str, unit: str = "timestamp") -> str:
        """Let a template name a column that it reads as a time, in a unit."""
        need(table, column)
        if table in tables:
            tables[table].require_time(column, unit)
        if unit != "timestamp" and inputs.keys.dialect != NATIVE:
            raise UsageError(
                f"slices by month: numbers of {unit} become points in time in a way of its own in "
                "every database; give a view with a timestamp as interactions, and unit=timestamp"
            )
        return ""

    def assume(table: str, column: str, value: str) -> str:
        """Let a template name a substitute for a column that was not given."""
        if table in tables and not has(table, column):
            warning = Message(
                f"{table}: there is no column {column}; assumed is {value}, the same for "
                "all rows. If there is one, map it with ",
                map_column(table, column),
            )
            heard.warnings[warning] = None
        return ""

    def in_bytes(expression: str, is_text: bool = False) -> str:
        """Let a template order items by the bytes of their ids, where those are texts."""
        held = "" if lists is None else lists.columns["item_id"]
        if inputs.keys.dialect != "postgres":  # the others compare bytes
            return expression
        if held == UNKNOWN and not is_text:
            warning = Message(
                "postgres: items with equal scores are ordered by item_id; if that is a text "
                'and the database has another collation than "C", lists come out in another '
                "order than elsewhere. Give an export of the table beside its name (",
                give("recommendations"),
                "), whose types tell",
            )
            heard.warnings[warning] = None
            return expression
        is_text = is_text or type_family(held) == "text"
        return f'{expression} COLLATE "C"' if is_text else expression

    functions: dict[str, Callable[..., Any]] = {
        "need": need,
        "need_time": need_time,
        "assume": assume,
        "in_bytes": in_bytes,
        "order_of": lambda table: inputs.order_of(table, values),
        "is_chosen": lambda name: name in values.get("chosen_settings", ()),
        "has": has,
        "has_user": inputs.has_user,
    }
    return {
        **inputs.keys.context,
        **values,
        **functions,
        "score_is_read": values.get("order") == "score",
        "rank_is_whole": lists is not None and lists.rank_is_whole,
    }
