"""The tables of a worked case."""

from typing import Any

from tests.support.notation import (
    aspect_rows,
    interaction_rows,
    item_rows,
    log_rows,
    recommendation_rows,
)

MORE_TABLES = {
    "items": item_rows,
    "aspects": aspect_rows,
    "baseline": recommendation_rows,
    "logs": log_rows,
}


def tables(case: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that `run` and the oracle share."""
    item = int if case.get("ids") == "integer" else str
    history = interaction_rows(case["history"], item) if "history" in case else None
    interactions = interaction_rows(case["interactions"], item) if "interactions" in case else None
    more = {name: read(case[name], item) for name, read in MORE_TABLES.items() if name in case}
    return more | {
        "recommendations": recommendation_rows(case["recommendations"], item),
        "interactions": interactions,
        "metric": case.get("call", case["metric"]),
        "k": case.get("k"),
        "params": case.get("params", {}),
        "settings": case.get("settings", {}),
        "history": history and [row[:2] for row in history],
        "largest_k": case.get("largest_k"),
    }
