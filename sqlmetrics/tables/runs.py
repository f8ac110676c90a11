"""Several runs of a model, such as seeds: the sources of each run and the column `run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlmetrics.errors import DataError
from sqlmetrics.tables.schema import Source, SourceColumn, Table
from sqlmetrics.texts.messages import Argument, Message

RUN = "run"
_ONLY = "1"  # the run of a model without a column `run`, beside models with several runs


class Runs(dict[str, Any]):
    """The sources of the runs of one model, by the names of the runs."""


def with_runs(sources: Sequence[Source]) -> list[Source]:
    """Give every source a column `run` if any source has one or is one of several runs.

    A model without the column, such as a deterministic baseline, has a single run. If runs have
    names, or some models lack the column, runs are read as text.
    """
    named = [source.run is not None for source in sources]
    in_column = [source.find_read(RUN) is not None for source in sources]
    if not any(named) and (all(in_column) or not any(in_column)):
        return list(sources)
    return [_with_run(source) for source in sources]


def _with_run(source: Source) -> Source:
    column = source.find_read(RUN)
    others = tuple(other for other in source.columns if other.name != RUN)
    if column is None or source.run is not None:
        run = SourceColumn(RUN, "", "VARCHAR", constant=source.run or _ONLY)
    else:
        run = replace(column, type="VARCHAR", cast="VARCHAR")
    return replace(source, columns=(*others, run))


def check_runs(tables: Mapping[str, Table]) -> None:
    """Check that only the recommendations have runs.

    Raises:
        DataError: the interactions have a column `run`, which no query reads.
    """
    lists, interactions = tables.get("recommendations"), tables.get("interactions")
    if lists is None or interactions is None or RUN not in lists.columns:
        return
    for source in interactions.sources:
        read = {column.source.lower() for column in source.columns}
        column = next((name for name in source.types if name.lower() == RUN), None)
        if column is not None and RUN not in read:
            raise DataError(
                f"interactions, column {column}: the recommendations have several runs, and all "
                f"runs share the held-out interactions, but {source.label} has a column {column}, "
                "too",
                table="interactions",
                column=column,
                remedy=Message(
                    "remove or rename the column if the interactions are the same for all runs; "
                    "for folds with interactions of their own, name it fold in both tables and "
                    "make it part of the key of users with ",
                    Argument("key", ["user_id", "fold"]),
                ),
            )
