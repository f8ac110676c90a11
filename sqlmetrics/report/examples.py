"""The example users of a report, with their lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from sqlmetrics.plan.slices import Attribute, Slicing
from sqlmetrics.report.analysis import Study
from sqlmetrics.report.content import Example, ExampleList, Listed
from sqlmetrics.report.limits import N_EXAMPLES, PAIRED, SHOWN_PLACES, SHOWN_TRUTH
from sqlmetrics.sql.query_graph import Node, Plan, Query
from sqlmetrics.sql.quoting import identifier

TITLES = ("title", "name")  # columns of the items table that may hold item names


def examples(study: Study) -> list[Example]:
    """Return the users with the best, typical and worst values under the best model.

    The values are those of the primary metric. The list is empty if the metric has no per-user
    values or there are no interactions.
    """
    planner, primary = study.planner, study.primary
    if primary.metric.grain != "user" or "interactions" not in planner.tables:
        return []
    name, column = study.results.wide.home(primary)
    per_user = study.results.wide.tables[name].node
    value = identifier(column.name)
    titles, own_keys = _titles(study), study.results.own_user_keys
    of_users = planner.rendered(
        "report/example_users",
        {
            "per_user": per_user,
            "lists": study.stage("lists"),
            "relevant_users": study.stage("relevant_users"),
        },
        column=value,
        high_is_good=primary.higher_is_better is not False,
        model=study.models[0],
        n_users=N_EXAMPLES,
        own_user_keys=own_keys,
    )
    reads: dict[str, Node] = {"example_users": of_users, "relevant": study.stage("relevant")}
    reads |= {} if titles is None else {"titles": titles}
    context: dict[str, Any] = {"has_titles": titles is not None, "own_user_keys": own_keys}
    users = study.run(Plan(of_users))
    listed = study.queried(
        "report/example_lists",
        {"ranked": study.stage("ranked"), **reads},
        k=shown_places(study),
        **context,
    )
    truth = study.queried("report/example_truth", reads, n_items=SHOWN_TRUTH, **context)
    values = study.queried(
        "report/values_of_users", {"per_user": per_user, "example_users": of_users}, column=value
    )
    keys = list(planner.user_keys)
    lists: dict[Any, list[Listed]] = {}
    for row in listed.to_dict("records"):
        item = Listed(int(row["example_rank"]), _item(row), bool(row["is_hit"]))
        lists.setdefault(_key(row, [*keys, "model"]), []).append(item)
    relevant: dict[Any, list[str]] = {}
    for row in truth.to_dict("records"):
        relevant.setdefault(_key(row, keys), []).append(_item(row))
    value_of = {
        _key(row, [*keys, "model"]): None if pd.isna(row["value"]) else float(row["value"])
        for row in values.to_dict("records")
    }
    order = ("best", "typical", "worst")
    return [
        Example(
            user=", ".join(f"{key} = {row[key]}" for key in keys),
            kind=str(row["example_kind"]),
            n_relevant=int(row["n_relevant"]),
            relevant=relevant.get(_key(row, keys), []),
            lists=[
                ExampleList(model, value_of.get(of_list), lists.get(of_list, []))
                for model in study.models[:PAIRED]
                for of_list in [(*_key(row, keys), model)]
            ],
        )
        for row in sorted(
            users.to_dict("records"), key=lambda row: order.index(row["example_kind"])
        )
    ]


def rule(study: Study) -> str:
    """Return the rule by which the example users were selected."""
    who = f" of {study.models[0]}, the best model" if len(study.models) > 1 else ""
    return (
        "Users with the best, the most typical and the worst values of "
        f"{study.primary.column}{who}, among the users with a list and a relevant item. Users with "
        "equal values are ordered by their number of relevant items, the largest first. The lists "
        f"show the first {shown_places(study)} items; hits are marked."
    )


def shown_places(study: Study) -> int:
    """Return the number of leading items that an example list shows."""
    return min(study.primary.k or SHOWN_PLACES, SHOWN_PLACES)


def _titles(study: Study) -> Query | None:
    """Plan the names of items, if the items table has a column with names."""
    items = study.planner.tables.get("items")
    for name in TITLES:
        if items is not None and all(source.find(name) for source in items.sources):
            slicing = Slicing(study.planner, [], False, study.primary.values)
            return slicing.read(Attribute(name, "items", "items"))
    return None


def _key(row: Mapping[Any, Any], keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(row[key]) for key in keys)


def _item(row: Mapping[Any, Any]) -> str:
    title, item = row["example_title"], str(row["example_item"])
    return f"{title} ({item})" if isinstance(title, str) else item
