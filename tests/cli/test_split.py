"""`sqlmetrics split` and `sqlmetrics.split`: rules, drops, cores, numbers of leaks, refusals.

The 13 events, their sides and the numbers were worked by hand. test_split_references.py compares
the rows with those of other libraries.
"""

from __future__ import annotations

import itertools
import json
from datetime import date, time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.errors import DataError, SqlmetricsError, UsageError
from sqlmetrics.sql.dialects import DIALECTS
from tests.support.command_line import run

COLUMNS = ["user_id", "item_id", "timestamp"]
# user, item and time of each event, in the order of time of every user
TEXT = "u1a1 u1b2 u1c6 u1d9 u2a3 u2e4 u2b5 u2e13 u3c7 u3f8 u3a10 u4g11 u4a12"


def events_of(text: str) -> list[tuple[str, str, int]]:
    return sorted((word[:2], word[2], int(word[3:])) for word in text.split())


EVENTS = pd.DataFrame(events_of(TEXT), columns=COLUMNS)
# everything from the time 10 on in one moment
TIED = EVENTS.assign(timestamp=EVENTS["timestamp"].clip(upper=9))


def written(folder: Path) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    history, truth = (
        sorted(pd.read_parquet(folder / f"{name}.parquet")[COLUMNS].itertuples(False, None))
        for name in ("history", "interactions")
    )
    return history, truth


RULES: list[tuple[dict[str, Any], str]] = [
    ({"by": "time", "at": 9}, "u1d9 u2e13 u3a10 u4g11 u4a12"),
    ({"by": "time", "share": 0.3}, "u2e13 u3a10 u4g11 u4a12"),
    ({"by": "last=1"}, "u1d9 u2e13 u3a10 u4a12"),
    ({"by": "last=2"}, "u1c6 u1d9 u2b5 u2e13 u3f8 u3a10 u4g11 u4a12"),
    ({"by": "last-share=0.4"}, "u1c6 u1d9 u2b5 u2e13 u3f8 u3a10 u4a12"),
    ({"by": "last-share=0.4", "rounding": "floor"}, "u1d9 u2e13 u3a10"),
    ({"by": "last-share=0.4", "rounding": "round"}, "u1c6 u1d9 u2b5 u2e13 u3a10 u4a12"),
    ({"by": "last-share=0.4", "rounding": "train"}, "u1c6 u1d9 u2b5 u2e13 u3a10 u4a12"),
    # of u3, 1.5 events: two, or one if the history is rounded to an even number
    ({"by": "last-share=0.5", "rounding": "round"}, "u1c6 u1d9 u2b5 u2e13 u3f8 u3a10 u4a12"),
    ({"by": "last-share=0.5", "rounding": "train"}, "u1c6 u1d9 u2b5 u2e13 u3a10 u4a12"),
]


@pytest.mark.parametrize(("rule", "truth"), RULES, ids=str)
def test_every_event_is_on_one_side(rule: dict[str, Any], truth: str, tmp_path: Path) -> None:
    report = sm.split(EVENTS, tmp_path, **rule)
    held_out = events_of(truth)
    assert written(tmp_path) == (sorted({*events_of(TEXT)} - {*held_out}), held_out)
    assert (report["history_rows"], report["truth_rows"]) == (13 - len(held_out), len(held_out))
    assert report.get("ties_at_the_border", 0) == 0
    assert json.loads((tmp_path / "split.json").read_text()) == report


def test_a_share_is_the_number_that_its_digits_mean(tmp_path: Path) -> None:
    """In doubles, 0.07 * 100 is more than 7, which the ceiling makes 8."""
    events = pd.DataFrame({"user_id": 1, "item_id": range(100), "timestamp": range(100)})
    for number, share in enumerate(("0.07", "0.29", "0.57")):
        report = sm.split(events, tmp_path / str(number), by=f"last-share={share}")
        assert report["truth_rows"] == 100 * Fraction(share)


@pytest.mark.parametrize("more", ["0", "0.5"])
def test_decimal_timestamps(more: str, tmp_path: Path) -> None:
    reports = []
    for kind in (Decimal, float):
        times = [kind(time) + kind(more) for time in EVENTS["timestamp"].tolist()]
        folder = tmp_path / kind.__name__
        reports.append(sm.split(EVENTS.assign(timestamp=times), folder, by="last=1"))
        assert json.loads((folder / "split.json").read_text()) == reports[-1]
    assert reports[0] == reports[1]


NUMBERS = {
    "history_rows": [8, 9, 9],
    "truth_rows": [5, 4, 4],
    "truth_users": [4, 3, 4],
    "cold_users": [1, 1, 0],
    "cold_items": [2, 1, 1],
    "truth_rows_of_cold_items": [2, 1, 1],
    "users_with_history_after_their_first_truth": [0, 0, 0],
    "share_of_truth_rows_before_the_end_of_history": [0, 0, 1 / 2],
    "share_of_history_after_the_first_truth": [0, 0, 1 / 9],
    "share_of_truth_rows_before_the_end_of_the_users_history": [0, 0, 0],
    "items_from_the_future": [0, 0, 0],  # the items without history are cold
}


@pytest.mark.parametrize("number", range(3))
def test_the_numbers_of_a_split(number: int, tmp_path: Path) -> None:
    """The last event of each user leaks: 9 and 10 are before the end of the history, 11."""
    report = sm.split(EVENTS, tmp_path, **RULES[number][0])
    assert {name: report[name] for name in NUMBERS} == {
        name: values[number] for name, values in NUMBERS.items()
    }


def test_items_that_are_new_when_they_are_held_out(tmp_path: Path) -> None:
    """u1 has x first, and it is held out: the history has x of u2, which comes later."""
    events = pd.DataFrame(events_of("u1a1 u1x2 u2x3 u2a4"), columns=COLUMNS)
    report = sm.split(events, tmp_path, by="last=1")
    assert (report["items_from_the_future"], report["cold_items"]) == (1, 0)


TIES: list[tuple[dict[str, Any], str, int]] = [
    ({"by": "time", "share": 0.3}, "u1d9 u2e9 u3a9 u4g9 u4a9", 1),
    ({"by": "last=1"}, "u1d9 u2e9 u3a9 u4g9 u4a9", 1),
    ({"by": "last-share=0.4", "rounding": "floor"}, "u1d9 u2e9 u3a9", 0),
]


@pytest.mark.parametrize(("rule", "truth", "ties"), TIES, ids=str)
def test_events_of_one_moment_stay_together(
    rule: dict[str, Any], truth: str, ties: int, tmp_path: Path
) -> None:
    """LastNSplitter and the Polars version of TimeSplitter cut inside the moment, at a row."""
    report = sm.split(TIED, tmp_path, **rule)
    assert written(tmp_path)[1] == events_of(truth)
    assert report["ties_at_the_border"] == ties


GAPS: list[tuple[dict[str, Any], str]] = [
    ({"by": "time", "at": 9, "gap": 2}, "u3c7 u3f8"),
    ({"by": "time", "share": 0.3, "gap": 3}, "u3c7 u3f8 u1d9"),
    ({"by": "last=1", "gap": 3}, "u1c6 u3c7 u3f8 u4g11"),
]


@pytest.mark.parametrize(("rule", "gap"), GAPS, ids=str)
def test_a_gap_belongs_to_no_side(rule: dict[str, Any], gap: str, tmp_path: Path) -> None:
    report = sm.split(EVENTS, tmp_path, **rule)
    history, truth = written(tmp_path)
    assert sorted({*events_of(TEXT)} - {*history, *truth}) == events_of(gap)
    assert report["gap_rows"] == len(gap.split())


DROPS = {
    "cold_users": "u1d9 u2e13 u3a10",
    "cold_items": "u2e13 u3a10 u4a12",
    "seen": "u1d9 u3a10 u4g11 u4a12",
    "cold_users,cold_items,seen": "u3a10",
}


@pytest.mark.parametrize("drop", DROPS)
def test_dropped_events(drop: str, tmp_path: Path) -> None:
    report = sm.split(EVENTS, tmp_path, by="time", at=9, drop=drop.split(","))
    left = events_of(DROPS[drop])
    assert written(tmp_path) == (events_of("u1a1 u1b2 u1c6 u2a3 u2e4 u2b5 u3c7 u3f8"), left)
    assert report["dropped_rows"] == 5 - len(left)


def test_a_core_of_all_events_leaks(tmp_path: Path) -> None:
    """u2 has e twice, and no other user has it: pairs count, not events."""
    report = sm.split(EVENTS, tmp_path, by="last=1", core=(2, 2), core_of="events")
    history, truth = written(tmp_path)
    assert sorted(history + truth) == events_of("u1a1 u1b2 u1c6 u2a3 u2b5 u3a10 u3c7")
    assert report["rows_outside_of_the_core"] == 6
    assert "depends on them" in report["leak"]


def test_a_core_of_the_history(tmp_path: Path) -> None:
    """Without d and f, u3 has only c left, and then c only u1."""
    report = sm.split(EVENTS, tmp_path, by="time", at=9, core=(2, 2))
    history, truth = written(tmp_path)
    assert history == events_of("u1a1 u1b2 u2a3 u2b5")
    assert truth == events_of(RULES[0][1])
    assert (report["rows_outside_of_the_core"], "leak" in report) == (4, False)


# ---------------------------------------------------------------- draws


def test_pairs_and_users_are_drawn_by_a_hash(tmp_path: Path) -> None:
    import hashlib

    pairs = itertools.product(range(50), range(20))
    events = pd.DataFrame(pairs, columns=COLUMNS[:2])
    for by, names in {"random": ["user_id", "item_id"], "users": ["user_id"]}.items():
        folder = tmp_path / by
        report = sm.split(events, folder, by=by, share=0.25, seed=7)
        truth = pd.read_parquet(folder / "interactions.parquet")
        texts = {row: ":".join(["7", *map(str, row)]) for row in
                 events[names].itertuples(False, None)}  # fmt: skip
        drawn = {
            row for row, text in texts.items() if hashlib.md5(text.encode()).hexdigest() < "4"
        }  # a quarter of all hashes
        assert {*truth[names].itertuples(False, None)} == drawn
        assert len(truth) == report["truth_rows"] == len(drawn) * (20 if by == "users" else 1)
        assert report["cold_users"] == (len(drawn) if by == "users" else 0)
        assert "share_of_truth_rows_before_the_end_of_history" not in report


@pytest.mark.parametrize("moment", [time(9), b"9", UUID(int=9), "9", True], ids=repr)
def test_draws_need_no_order_of_the_timestamps(moment: Any, tmp_path: Path) -> None:
    """Leaks are measured by time only, and the order of texts and others is not that of time."""
    report = sm.split(EVENTS.assign(timestamp=moment), tmp_path / "out", by="random", share=0.5)
    without = sm.split(EVENTS[COLUMNS[:2]], tmp_path / "without", by="random", share=0.5)
    assert report == without
    assert "timestamp" in pd.read_parquet(tmp_path / "out" / "interactions.parquet")


# ---------------------------------------------------------------- tables


def test_columns_types_and_conditions(tmp_path: Path) -> None:
    times = pd.to_datetime(
        ["2024-01-01", "2024-01-02T23:00", "2024-01-03", "2024-01-04"], format="ISO8601"
    )
    events = pd.DataFrame(
        {"uid": [1, 1, 2, 2], "item_id": [1, 2, 1, 3], "ts": times.tz_localize("Europe/Paris"),
         "rating": [5, 4, 3, 9], "note": ["a", "b", "c", "d"]}
    )  # fmt: skip
    events.to_parquet(tmp_path / "events.parquet")
    report = sm.split(
        tmp_path / "events.parquet",
        tmp_path / "out",
        by="time",
        at="2024-01-03T00:00+01:00",
        gap="2h",
        columns={"user_id": "uid", "timestamp": "ts", "relevance": "rating"},
        where={"interactions": "rating < 9"},
    )
    history = pd.read_parquet(tmp_path / "out" / "history.parquet")
    truth = pd.read_parquet(tmp_path / "out" / "interactions.parquet")
    assert list(truth.columns) == ["user_id", "item_id", "relevance", "timestamp", "note"]
    assert (list(history["note"]), list(truth["note"])) == (["a"], ["c"])
    assert (report["gap_rows"], report["events_rows"]) == (1, 3)
    assert report["first_of_truth"] == "2024-01-02T23:00:00"  # in UTC
    files = {"history": tmp_path / "out/history.parquet",
             "interactions": tmp_path / "out/interactions.parquet"}  # fmt: skip
    found = {one.check for one in sm.Evaluator(**files).findings()}
    assert "history_newer" not in found


# ---------------------------------------------------------------- refusals

DATES = EVENTS.assign(timestamp=[date(2024, 1, day) for day in range(1, 14)])
REFUSED: list[tuple[Any, dict[str, Any], type[SqlmetricsError], str]] = [
    (EVENTS, {"by": "tme"}, UsageError, "unknown rule 'tme'; write time"),
    (EVENTS, {"by": "last"}, UsageError, "write last=1"),
    (EVENTS, {"by": "last=0"}, UsageError, "at least 1, not 0"),
    (EVENTS, {"by": "last=1", "gap": -5}, UsageError, "a number of at least 0 in their unit"),
    (EVENTS, {"by": "last=1", "core": 3}, UsageError, "give the least numbers of items"),
    (EVENTS, {"by": "users", "share": 0.5, "seed": 1.5}, UsageError, "a whole number, not 1.5"),
    (EVENTS, {"by": "last-share=1.5"}, UsageError, "between 0 and 1"),
    (EVENTS, {"by": "time=3"}, UsageError, "write time"),
    (EVENTS, {"by": "time"}, UsageError, "either at"),
    (EVENTS, {"by": "time", "at": 3, "share": 0.2}, UsageError, "either at"),
    (EVENTS, {"by": "random"}, UsageError, "give share"),
    (EVENTS, {"by": "random", "share": 0.2, "gap": 1}, UsageError, "gap does not apply"),
    (EVENTS, {"by": "last=1", "rounding": "floor"}, UsageError, "rounding does not apply"),
    (EVENTS, {"by": "last=1", "drop": "new"}, UsageError, "'new' is not one of"),
    (EVENTS, {"by": "last=1", "core": (2,)}, UsageError, "core: give"),
    (EVENTS, {"by": "last=1", "core_of": "events"}, UsageError, "without core"),
    (EVENTS, {"by": "time", "at": "2024-01-01"}, UsageError, "are numbers"),
    (EVENTS, {"by": "time", "at": 9, "gap": "1d"}, UsageError, "are numbers"),
    (EVENTS, {"by": "time", "at": 99}, DataError, "held-out interactions .* from 1 to 13"),
    (EVENTS, {"by": "time", "at": 1}, DataError, "history .* would be empty"),
    (EVENTS, {"by": "time", "at": 9, "drop": ["cold_items", "seen"], "core": (9, 9)},
     DataError, "would be empty, after the core"),
    (EVENTS.assign(timestamp=5), {"by": "last=1"}, DataError,
     "all 13 events have the timestamp 5"),
    (EVENTS.assign(timestamp=5), {"by": "time", "share": 0.2}, DataError,
     "all 13 events have the timestamp 5"),
    (EVENTS[COLUMNS[:2]], {"by": "last=1"}, DataError, "no column timestamp"),
    (EVENTS.assign(timestamp=["2024-01-02"] * 12 + ["Monday"]), {"by": "last=1"}, DataError,
     "have the type VARCHAR(.|\n)*Monday\nWhat to do: export them as timestamps"),
    (EVENTS.assign(timestamp=["2024-01-02", None] * 6 + [None]), {"by": "last=1"}, DataError,
     "have the type VARCHAR(.|\n)*2024-01-02\nWhat to do"),
    (EVENTS.assign(timestamp=[None, *range(12)]), {"by": "last=1"}, DataError,
     "1 of 13 events has no user, item or finite timestamp(.|\n)*u1"),
    (EVENTS.assign(timestamp=[float("-inf"), *range(12)]), {"by": "random", "share": 0.5},
     DataError, "1 of 13 events has no user, item or finite timestamp(.|\n)*u1"),
    (EVENTS.assign(timestamp=[1.7e9, 1.7e12] * 6 + [1.7e9]), {"by": "last=1"}, DataError,
     "seconds since 1970, the last, .* milliseconds"),
    (EVENTS[:0], {"by": "last=1"}, DataError, "no events"),
    (EVENTS.assign(timestamp=pd.Timestamp("2024-01-01")), {"by": "time", "at": "now"},
     UsageError, "not a date or time"),
    (EVENTS.assign(timestamp=pd.Timestamp("2024-01-01")),
     {"by": "time", "at": "2024-01-01T00:00+02:00"}, UsageError, "has a time zone"),
    (EVENTS.assign(timestamp=pd.Timestamp("2024-01-01")),
     {"by": "last=1", "gap": "1 day"}, UsageError, "such as 30m"),
    (DATES, {"by": "time", "at": "2024-01-05 02:30"}, UsageError, "such as 2024-01-05"),
    (DATES, {"by": "time", "at": "2024-01-05", "gap": "1h"}, UsageError, "such as 1d"),
    (DATES, {"by": "last=1", "gap": "36h"}, UsageError, "such as 1d"),
    (EVENTS.assign(uid=1), {"by": "last=1", "columns": {"user_id": "uid"}}, DataError,
     "rename user_id"),
]  # fmt: skip


@pytest.mark.parametrize(("events", "rule", "error", "message"), REFUSED)
def test_refusals_write_nothing(
    events: pd.DataFrame, rule: dict[str, Any], error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        sm.split(events, tmp_path / "out", **rule)
    assert not (tmp_path / "out").exists()


def test_files_are_replaced_with_force_only(tmp_path: Path) -> None:
    (tmp_path / "split.json").write_text("mine")
    with pytest.raises(DataError, match="exists and is not overwritten"):
        sm.split(EVENTS, tmp_path, by="last=1")
    assert [path.name for path in tmp_path.iterdir()] == ["split.json"]
    sm.split(EVENTS, tmp_path, by="last=1", force=True)
    assert len(written(tmp_path)[1]) == 4


# ---------------------------------------------------------------- the command line, and statements


@pytest.fixture
def file(here: Path) -> str:
    EVENTS.to_csv(here / "events.csv", index=False)
    return "events.csv"


def test_the_command(file: str) -> None:
    rule = ["--by", "time", "--at", "9", "--drop", "cold_users,seen", "--core", "1,1"]
    done = run("split", file, *rule, "-o", "out")
    assert done.stderr == ""
    assert written(Path("out"))[1] == events_of("u1d9 u3a10")
    assert "cold_items,1\n" in done.stdout
    assert "--force" in run("split", file, *rule, "-o", "out", code=1).stderr


@pytest.mark.parametrize(("rule", "_"), RULES, ids=str)
def test_printed_statements_give_the_same_rows(rule: dict[str, Any], _: str, file: str) -> None:
    sm.split(file, "out", **rule, drop="seen")
    options = [part for name, value in rule.items() for part in (f"--{name}", str(value))]
    printed = run("sql", "split", file, *options, "--drop", "seen").stdout
    statements = [text for text in printed.split(";\n") if text.strip()]
    rows = [sorted(duckdb.sql(text).fetchall()) for text in statements]
    assert rows == list(written(Path("out")))
    assert "gap" in rule or "CASE" not in printed


@pytest.mark.parametrize("dialect", DIALECTS)
def test_statements_for_warehouses(dialect: str) -> None:
    for rule in (["--by", "last=1"], ["--by", "time", "--share", "0.2", "--drop", "cold_items"],
                 ["--by", "users", "--share", "0.2"]):  # fmt: skip
        asked = ["sql", "split", "--interactions-table", "a.events", *rule, "--dialect", dialect]
        assert run(*asked).stdout.startswith("-- history\n")


WRONG: list[tuple[list[str], str]] = [
    (["split", "--by", "last=1", "-o", "out"], "EVENTS is missing"),
    (["split", "events.csv", "--by", "last=1"], "-o is missing"),
    (["split", "events.csv", "--by", "last=1", "--dialect", "spark", "-o", "x"], "sql split only"),
    (["sql", "split", "events.csv", "--by", "last=1", "-o", "x"], "-o does not apply"),
    (["sql", "split", "events.csv", "--by", "last=1", "--core", "2,2"], "no single statement"),
    (["sql", "split", "events.csv", "--by", "last=1", "--dialect", "spark"], "cannot read"),
]


@pytest.mark.parametrize(("words", "message"), WRONG)
def test_wrong_command_lines(words: list[str], message: str, file: str) -> None:  # noqa: ARG001
    assert message in run(*words, code=2).stderr
