"""Fingerprints of the settings of metrics, which tell whether two runs define a metric alike."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sqlmetrics.sql.query_graph import hash_of


def fingerprints(
    shared: Mapping[str, Any], metrics: Iterable[Mapping[str, Any]], where: Any
) -> dict[tuple[str, str], str]:
    """Return the fingerprint of each metric and convention.

    Args:
        shared: the settings that all metrics share, as in a record.
        metrics: the metrics of a record, with their other settings.
        where: the conditions on the rows of tables.
    """
    return {
        (one["metric"], one["convention"]): hash_of(
            json.dumps([{**shared, **one["settings"]}, where or {}], sort_keys=True)
        )
        for one in metrics
    }
