"""One table with scores and labels, the shape of learning-to-rank data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.tables.models import is_models
from sqlmetrics.tables.schema import Table
from sqlmetrics.texts.messages import Message, give, map_column

_TABLES = ("recommendations", "interactions")


def with_both_tables(given: Mapping[str, Any], source: Any) -> dict[str, Any]:
    """Return the arguments of an evaluator with `source` as recommendations and interactions.

    Raises:
        UsageError: one of these tables was given too, or the source can be read only once or has
            several models.
    """
    for name in _TABLES:
        if given[name] is not None:
            raise UsageError(
                "scored is the table of both recommendations and interactions, so ",
                give(name),
                " cannot be combined with it; remove one of them",
            )
    if is_models(source):
        raise UsageError(
            "scored is one table with the scores of one model; for several models, pass the table "
            "of each as recommendations, and one of them as interactions"
        )
    if isinstance(source, str) and source == "-":
        raise UsageError("scored is read twice, so it cannot be stdin (-); pass a file")
    if hasattr(source, "read_all"):  # a reader of Arrow, which can be read once
        source = source.read_all()
    return {**given, **dict.fromkeys(_TABLES, source)}


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
