"""One table with scores and labels, the shape of learning-to-rank data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlmetrics.engines.base import Engine
from sqlmetrics.engines.relation import Relation
from sqlmetrics.errors import DataError, RowsError, UsageError
from sqlmetrics.sql.templates import render_file
from sqlmetrics.tables.models import is_models
from sqlmetrics.tables.objects import read_once
from sqlmetrics.tables.runs import RUN
from sqlmetrics.tables.schema import Table
from sqlmetrics.texts.messages import Argument, Message, give, map_column
from sqlmetrics.texts.wording import by_number, listed

SCORED = ("recommendations", "interactions")


def with_both_tables(given: Mapping[str, Any], source: Any) -> dict[str, Any]:
    """Return the arguments of an evaluator with `source` as recommendations and interactions.

    Raises:
        UsageError: one of these tables was given too, the source can be read only once, or it is
            a dict of models.
    """
    for name in SCORED:
        if given[name] is not None:
            raise UsageError(
                "scored is the table of both recommendations and interactions, so ",
                give(name),
                " cannot be combined with it; remove one of them",
            )
    if is_models(source):
        raise UsageError(
            "scored is one table; for several models, give one table with a column model"
        )
    if isinstance(source, str) and source == "-":
        raise UsageError("scored is read twice, so it cannot be stdin (-); pass a file")
    if hasattr(source, "read_all"):  # a reader of Arrow, which can be read once
        source = read_once("scored", source)
    return {**given, **dict.fromkeys(SCORED, source)}


def documents(
    relation: Relation,
    columns: Mapping[str, str],
    users: Sequence[str],
    of_models: Sequence[str],
    shared: bool,
) -> Relation:
    """Return the rows of a table of scores as recommendations, or as interactions.

    Documents without ids are numbered in each list, in the order of rows.

    Args:
        relation: the table of scores.
        columns: its columns, by their names in the queries.
        users, of_models: the columns that identify a user, and the model and its run.
        shared: whether several models score the documents, whose labels are read once.
    """
    is_numbered = "item_id" not in columns and relation.row_number is not None
    if not (is_numbered or shared):
        return relation
    names = {*columns.values(), *(["item_id"] if is_numbered else [])}
    text = render_file(
        "inputs/scored",
        {
            "given": [*relation.types],
            "row_number": relation.row_number if is_numbered else None,
            "relation": (relation.ordered or relation.sql) if is_numbered else relation.sql,
            "users": users,
            "lists": [*of_models, *users],
            "labels": sorted(names) if shared else [],
        },
    )
    if is_numbered:
        relation = relation.with_types({"item_id": "BIGINT"})
    types = {name: kind for name, kind in relation.types.items() if not shared or name in names}
    row_number = "item_id" if is_numbered else None  # documents keep the order of rows
    return replace(
        relation, sql=f"({text})", types=types, ordered=None, row_number=row_number, format=""
    )


def check_labels(tables: Mapping[str, Table]) -> None:
    """Check that the table of scores has labels.

    Raises:
        DataError: it has no column relevance.
    """
    if "relevance" not in tables["interactions"].columns:
        raise DataError(
            "scored: there is no column relevance, the label of an item",
            remedy=Message(
                "map the column of labels with ", map_column("interactions", "relevance")
            ),
        )


def check_models_agree(engine: Engine, tables: Mapping[str, Table], users: Sequence[str]) -> None:
    """Check that the models of a table of scores have the same label for an item of a user.

    Raises:
        RowsError: names such items.
    """
    table = tables["interactions"]
    (source,) = table.sources
    if source.only_named or not {"model", RUN} & {*tables["recommendations"].columns}:
        return
    is_numbered = source.row_number == "item_id"
    text = render_file(
        "inputs/different_labels",
        {"source": source, "users": users, "is_numbered": is_numbered},
    )
    rows = engine.query(text, source.label)
    if not rows:
        return
    labels = [name for name in table.columns if name not in (*users, "item_id")]
    n = rows[0]["n_found"]
    what, remedy = "labels", Message("give an item of a user the same label in all rows")
    if is_numbered:
        remedy = Message(
            "items without ids are the same if they have the same place in the lists of a user, "
            "so all models must have the same rows in the same order: sort the rows, fill in empty "
            "models, or name a column of ids with ",
            Argument("columns", ..., "item_id"),
        )
    elif any(column.is_list for column in source.columns):
        what, remedy = "lists of labels", Message(remedy, ", and one row per item instead of lists")
    raise RowsError(
        f"scored, column {listed(map(table.describe_column, labels))}: models have different "
        f"{what} for {n:,} {by_number(n, 'item of a user|items of users')}",
        table="interactions",
        column="relevance",
        examples=[{name: row[name] for name in row if name != "n_found"} for row in rows],
        remedy=remedy,
    )
