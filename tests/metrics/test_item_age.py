"""`item_age`: columns of times of every type, and tables that it refuses."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import sqlmetrics as sm
from tests.support.evaluators import Evaluator

NOON = pd.Timestamp("2026-11-28 12:00")
LISTS = pd.DataFrame({"user_id": ["u", "u"], "item_id": ["a", "b"], "rank": [1, 2]})
# a is one day old at noon, b two and a half
CREATED = [pd.Timestamp("2026-11-27 12:00"), pd.Timestamp("2026-11-26")]


def age(times: Any, created: Any, spec: str = "item_age", **lists: Any) -> float:
    items = pd.DataFrame({"item_id": ["a", "b"], "created_at": created})
    recommendations = LISTS.assign(timestamp=times, **lists)
    with Evaluator(recommendations=recommendations, items=items) as evaluator:
        return float(evaluator.evaluate(spec)["value"].item())


def seconds(time: pd.Timestamp) -> int:
    return int(time.timestamp())


def test_types_of_times() -> None:
    paris = [time.tz_localize("UTC").tz_convert("Europe/Paris") for time in CREATED]
    tokyo = NOON.tz_localize("UTC").tz_convert("Asia/Tokyo")
    numbers = [seconds(time) for time in CREATED]
    assert age(NOON, CREATED) == 1.75
    assert age(tokyo, paris) == 1.75
    assert age(NOON.date(), [time.date() for time in CREATED]) == 1.5
    assert age(seconds(NOON), numbers, "item_age(times=seconds)") == 1.75
    assert age(float(seconds(NOON)), numbers, "item_age(times=seconds)") == 1.75
    thousands = [1000 * number for number in numbers]
    assert age(1000 * seconds(NOON), thousands, "item_age(times=milliseconds)") == 1.75


REFUSED: list[tuple[Any, Any, str, str]] = [
    ([NOON, NOON - pd.Timedelta(days=1)], CREATED, "item_age",
     "1 list has rows with different timestamps, or rows without a finite one"),
    (float("inf"), [seconds(time) for time in CREATED], "item_age(times=seconds)",
     "1 list has rows with different timestamps, or rows without a finite one"),
    (seconds(NOON), [seconds(CREATED[0]), float("inf")], "item_age(times=seconds)",
     "1 recommended item has no created_at that is a finite time"),
    ([NOON, None], CREATED, "item_age", "1 list has rows with different timestamps, or rows"),
    (NOON, [CREATED[0], None], "item_age", "1 recommended item has no created_at that"),
    (seconds(NOON), [seconds(CREATED[0]), float("nan")], "item_age(times=seconds)",
     "1 recommended item has no created_at that is a finite time"),
    (seconds(NOON), [seconds(CREATED[0]), -1e300], "item_age(times=seconds)",
     "1 recommended item has no created_at that is a finite time"),
    (seconds(NOON), [seconds(CREATED[0]), -(2**63)], "item_age(times=seconds)",
     "1 recommended item has no created_at that is a finite time"),
    (seconds(NOON), [seconds(time) for time in CREATED], "item_age(times=milliseconds)",
     "reads milliseconds since 1970, but items.created_at has seconds"),
    (1000 * seconds(NOON), [seconds(time) for time in CREATED], "item_age(times=milliseconds)",
     "reads milliseconds since 1970, but items.created_at has seconds"),
    (seconds(NOON), [1000 * seconds(time) for time in CREATED], "item_age(times=seconds)",
     "reads seconds since 1970, but items.created_at has milliseconds"),
    (1000 * seconds(NOON), [seconds(time) for time in CREATED], "item_age(times=seconds)",
     "reads seconds since 1970, but recommendations.timestamp has milliseconds"),
    (1e300, [seconds(time) for time in CREATED], "item_age(times=seconds)",
     "reads seconds since 1970, but recommendations.timestamp has nanoseconds"),
    (CREATED[0], [*CREATED[1:], NOON], "item_age", "1 recommended item was created after a list"),
    (seconds(NOON), CREATED, "item_age", r"write item_age\(times=seconds\) or item_age\(times="),
    (NOON, CREATED, "item_age(times=seconds)", "Remove times: item_age"),
    (NOON.tz_localize("UTC"), CREATED, "item_age", "only one column has a time zone"),
]  # fmt: skip


@pytest.mark.parametrize(("times", "created", "spec", "message"), REFUSED)
def test_refusals(times: Any, created: Any, spec: str, message: str) -> None:
    with pytest.raises(sm.DataError, match=f"(?i){message}"):
        age(times, created, spec)


def test_columns_that_are_missing() -> None:
    items = pd.DataFrame({"item_id": ["a", "b"], "created_at": CREATED})
    dated = LISTS.assign(timestamp=NOON)
    for lists, table, missing in ((LISTS, items, "timestamp"), (dated, items[["item_id"]], "crea")):
        with (
            Evaluator(recommendations=lists, items=table) as evaluator,
            pytest.raises(sm.MissingTableError, match=f"needs the column {missing}"),
        ):
            evaluator.evaluate("item_age")
