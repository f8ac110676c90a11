"""Split a table of events into a history and held-out interactions, with a report of leaks."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlmetrics.errors import DataError, RowsError, UsageError
from sqlmetrics.files import OwnFolder, exchange, replaced
from sqlmetrics.metrics.conventions import STANDARD
from sqlmetrics.plan.split import EVENTS, Events, Rule, check_time
from sqlmetrics.run.printing import require_names
from sqlmetrics.run.public_calls import check_arguments
from sqlmetrics.run.session import Session
from sqlmetrics.sql.dialects import Dialect, checked
from sqlmetrics.sql.query_graph import Node, Plan
from sqlmetrics.sql.statement import statement as readable
from sqlmetrics.tables.schema import is_number
from sqlmetrics.texts.messages import TABLES, filled
from sqlmetrics.version import __version__

FILES = ("history.parquet", "interactions.parquet", "split.json")
_NOT_GIVEN = (
    "fallback", "settings", "templates", "engine", "dialect", "connection", "watch", "scored",
)  # fmt: skip
# the first number that can be of this unit, in units since 1970: 1e11 seconds are the year 5138
_UNITS = {"nanoseconds": 1e17, "microseconds": 1e14, "milliseconds": 1e11, "seconds": -1e300}
_LEAK = (
    "core_of=events counts events that are held out, so the history depends on them; core_of="
    "history does not"
)


def split(
    events: Any,
    folder: str | Path,
    *,
    by: str,
    at: Any = None,
    share: Any = None,
    rounding: str | None = None,
    gap: Any = None,
    seed: int | None = None,
    drop: str | Iterable[str] = (),
    core: Sequence[int] | None = None,
    core_of: str | None = None,
    columns: Mapping[str, str] | None = None,
    key: str | Iterable[str] = "user_id",
    where: Mapping[str, str] | None = None,
    threads: int | None = None,
    memory_limit: str | None = None,
    temp_directory: str | Path | None = None,
    temp_limit: str | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """Split events into a history to train on and held-out interactions to evaluate with.

    Every rule keeps events of one moment together: those at the border are held out. The files have
    all columns of the events, those that sqlmetrics reads under its own names. Timestamps with a
    time zone are written in UTC.

    Args:
        events: the events: user_id, item_id, timestamp and other columns; a source as for
            `Evaluator`, which reads it as the table `interactions`.
        folder: the folder of history.parquet, interactions.parquet and split.json; it is created if
            needed, and all three files are written or none.
        by: the rule. `"time"`: the events from one moment on; `"last=N"`: the last N events of each
            user; `"last-share=S"`: the last share of the events of each user; `"random"`: pairs of
            user and item; `"users"`: users with all of their events, who have no history.
        at: with `"time"`, the first moment of the held-out interactions, e.g. `"2024-03-01"`, or a
            number in the unit of the timestamps.
        share: with `"time"`, `"random"` and `"users"`, the share of events, pairs or users that are
            held out, e.g. 0.2. Shares by time are rounded up.
        rounding: how many events a share of `"last-share"` is: "ceil" (default), "floor", "round"
            (half up), or "train": the events of the history are rounded, half to even.
        gap: the time before the border that belongs to no side, e.g. `"1d"` (s, m, h, d, w), or a
            number in the unit of the timestamps.
        seed: with `"random"` and `"users"`, the seed of the hash that draws; by default 1.
        drop: held-out events to drop: `"cold_users"` and `"cold_items"` (not in the history),
            `"seen"` (the user has the item in the history).
        core: the least numbers of items of a user and of users of an item, e.g. `(5, 5)`. Others
            are removed from the history until all have enough.
        core_of: `"history"`, or `"events"`: apply the core before the split, which leaks.
        columns, key, where: see `Evaluator`; the table is `interactions`.
        threads, memory_limit, temp_directory, temp_limit: see `Evaluator`.
        force: overwrite existing files.

    Returns:
        The contents of split.json: what was asked, and the numbers of rows, users and items, of
        cold users and items, of ties at the border, and of leaks. Shares are between 0 and 1.

    Raises:
        UsageError: an argument is missing, out of range, or does not apply to the rule.
        DataError: a file exists and `force` is not set, events have no usable timestamp, or one
            side is empty. Nothing is written.
    """
    rule = Rule.of(by, at, share, rounding, gap, seed, drop, core, core_of)
    asked = rule.asked(by)
    folder = Path(folder)
    targets = [folder / name for name in FILES]
    replaced(targets, force)
    given = {"columns": columns, "key": key, "where": where, "threads": threads,
             "memory_limit": memory_limit, "temp_directory": temp_directory,
             "temp_limit": temp_limit}  # fmt: skip
    with _session(events, given) as session:
        read = Events.of(session.tables[EVENTS], session.planner.keys)
        extent = _checked(session, read, rule)
        with contextlib.ExitStack() as held:
            parts = _sides(session, read, rule, held)
            report = {"sqlmetrics": __version__, "asked": asked}
            report |= _report(session, read, rule, parts, extent)
            _check_sides(report, extent, rule)
            _write(session, parts, report, folder, force)
    return report


def split_sql(
    events: Any = None,
    *,
    by: str,
    dialect: Dialect | None = None,
    columns: Mapping[str, str] | None = None,
    key: str | Iterable[str] = "user_id",
    where: Mapping[str, str] | None = None,
    **rule: Any,
) -> str:
    """Return the statements of `split`, one for each side, which run without sqlmetrics.

    Args:
        events: the events; for a warehouse a `TableName`, whose columns are those that `columns`
            maps, user_id, item_id and timestamp.
        by, columns, key, where: see `split`; `rule` are its other arguments of the rule.
        dialect: the SQL dialect; by default that of DuckDB.

    Raises:
        UsageError: see `split`; or with `core`, which repeats statements until nothing changes.
    """
    from sqlmetrics.engines.relation import TableName

    check_arguments("split_sql", rule, Rule.of)
    asked = Rule.of(by, **rule)
    if asked.core is not None:
        raise UsageError(
            "core: no single statement removes users and items until all have enough; run the "
            "split itself, or print the statements without core"
        )
    columns = dict(columns or {})
    times = {"timestamp", f"{EVENTS}.timestamp"}
    if isinstance(events, TableName) and asked.has_time and not times & columns.keys():
        columns[f"{EVENTS}.timestamp"] = "timestamp"
    with _session(events, {"columns": columns, "key": key, "where": where}) as session:
        name = session.engine.dialect if dialect is None else checked(dialect)
        planner = session.printing_planner(name)
        read = Events.of(planner.tables[EVENTS], planner.keys)
        if asked.has_time:
            check_time(read)
        history, truth = _sides(session, read, asked)[1:]
        plans = {"history": Plan(history), EVENTS: Plan(truth)}
        for plan in plans.values():
            require_names(session, plan, name)
        texts = (f"-- {side}\n{readable(plan, name)};\n" for side, plan in plans.items())
        return "\n".join(texts)


@contextlib.contextmanager
def _session(events: Any, given: Mapping[str, Any]) -> Iterator[Session]:
    if events is None:
        raise UsageError("there are no events to split")
    defaults = {**dict.fromkeys((*TABLES, *_NOT_GIVEN)), "templates": (), "accept": (),
                "convention": STANDARD, "trust_input": False, "check": False, "record": False,
                "threads": None, "memory_limit": None, "temp_directory": None,
                "temp_limit": None}  # fmt: skip
    session = Session({**defaults, **given, EVENTS: events})
    try:
        with session.lock:
            yield session
    finally:
        session.close()


def _checked(session: Session, events: Events, rule: Rule) -> dict[str, Any]:
    """Return the number of events, and their first and last moment."""
    reads: dict[str, Node] = {"events": events.node}
    if rule.has_time:
        is_text = bool(events.type_of_time) and not events.has_time
        text_time = Plan(events.query("text_time", reads=reads)) if is_text else None
        check_time(events, session.engine.records(text_time) if text_time else ())
    numeric = is_number(events.type_of_time)
    bad = session.engine.records(
        Plan(events.query("unusable", reads=reads, has_time=rule.has_time, is_number=numeric))
    )
    (extent,) = session.engine.records(Plan(events.query("extent", reads=reads)))
    if bad:
        what = "user or item"
        if rule.has_time or numeric:
            what = f"user, item or {'finite ' if numeric else ''}timestamp"
        examples = [{n: v for n, v in row.items() if n != "n_found"} for row in bad]
        raise RowsError(
            filled(
                f"{{n}} of {extent['n_rows']:,} events {{n:has|have}} no {what}",
                {"n": f"{bad[0]['n_found']:,}"},
            ),
            table=EVENTS,
            examples=examples,
            remedy="remove these rows, or fill in the values",
        )
    if not extent["n_rows"]:
        raise DataError("there are no events to split", table=EVENTS)
    if numeric:
        first, last = extent["first_time"], extent["last_time"]
        units = [_unit(first), _unit(last)]
        if units[0] != units[1]:
            raise DataError(
                f"the timestamps have several units: the first, {first}, would be {units[0]} since "
                f"1970, the last, {last}, {units[1]}",
                table=EVENTS,
                column="timestamp",
                remedy="convert all timestamps to one unit",
            )
    return extent


def _unit(moment: float) -> str:
    return next(unit for unit, least in _UNITS.items() if moment > least)


def _sides(
    session: Session, events: Events, rule: Rule, held: contextlib.ExitStack | None = None
) -> tuple[Node, Node, Node]:
    """Plan the marked events, the history and the held-out interactions.

    With `held`, the engine computes the marked events and the core once.
    """
    source: Node = events.node
    if held is not None and rule.core and rule.core_of == "events":
        source = _in_core(session, events, rule.core, source, held)
    marked = events.marked(rule, source)
    if held is not None and marked is not events.node:
        _hold(session, marked, held)
    history = events.side(rule, marked, "history", "history")
    if held is not None and rule.core and rule.core_of == "history":
        history = _in_core(session, events, rule.core, history, held)
    held_out = events.side(rule, marked, EVENTS, "held_out")
    return marked, history, events.kept(rule, held_out, history)


def _hold(session: Session, node: Node, held: contextlib.ExitStack) -> None:
    engine = session.engine.embedded
    assert engine is not None  # a session without a connection
    held.enter_context(engine.holding([node]))


def _in_core(
    session: Session,
    events: Events,
    core: tuple[int, int],
    rows: Node,
    held: contextlib.ExitStack,
) -> Node:
    """Compute the rows whose users and items have enough of the other, round by round."""
    engine = session.engine.embedded
    assert engine is not None
    before, n_before = rows, -1
    while True:
        pairs = events.query(
            "core", reads={"rows_before": before}, of_user=core[0], of_item=core[1]
        )
        _hold(session, pairs, held)
        if before is not rows:
            engine.forget([before.key])
        count = events.query("extent", reads={"events": pairs}, has_time=False)
        n_pairs = session.engine.records(Plan(count))[0]["n_rows"]
        if n_pairs == n_before:
            return events.query("in_core", reads={"events": rows, "core": pairs})
        before, n_before = pairs, n_pairs


def _report(
    session: Session,
    events: Events,
    rule: Rule,
    parts: tuple[Node, Node, Node],
    extent: Mapping[str, Any],
) -> dict[str, Any]:
    marked, history, truth = parts
    engine = session.engine
    (found,) = engine.records(
        Plan(events.query("report", reads={"history": history, "truth": truth}))
    )
    sizes = engine.records(Plan(events.sizes(rule, marked)))
    n_held_out, n_gap = (
        sum(row[name] * row["n"] for row in sizes) for name in ("n_held_out", "n_gap")
    )
    report: dict[str, Any] = {"events_rows": extent["n_rows"], "gap_rows": n_gap}
    if rule.cuts:
        asked = sum(rule.wanted(row["n_events"]) * row["n"] for row in sizes)
        report["ties_at_the_border"] = n_held_out - asked
    if rule.drop:
        report["dropped_rows"] = n_held_out - found["truth_rows"]
    if rule.core:
        left = found["history_rows"] + n_held_out + n_gap
        report["rows_outside_of_the_core"] = extent["n_rows"] - left
    report |= {name: _plain(value) for name, value in found.items()}
    if events.has_time and found["truth_rows"] and found["history_rows"]:
        early = "truth_rows_before_the_end_of_"
        for name, part, whole in (
            ("share_of_truth_rows_before_the_end_of_history", f"{early}history", "truth_rows"),
            ("share_of_truth_rows_before_the_end_of_the_users_history",
             f"{early}the_users_history", "truth_rows"),
            ("share_of_history_after_the_first_truth", "history_rows_after_the_first_truth",
             "history_rows"),
        ):  # fmt: skip
            report[name] = found[part] / found[whole]
    if rule.core and rule.core_of == "events":
        report["leak"] = _LEAK
    return report


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value // 1 else float(value)
    return value.isoformat() if isinstance(value, date) else value


def _check_sides(report: Mapping[str, Any], extent: Mapping[str, Any], rule: Rule) -> None:
    for side, name in (("history", "history"), ("held-out interactions", "truth")):
        if report[f"{name}_rows"]:
            continue
        first, last = extent.get("first_time"), extent.get("last_time")
        if rule.has_time and first == last:
            why = f"all {extent['n_rows']} events have the timestamp {first}"
        elif rule.has_time:
            why = f"the timestamps of the events are from {first} to {last}"
        else:
            why = f"there are {extent['n_rows']} events"
        after = ", after the dropped ones" if name == "truth" and rule.drop else ""
        after = ", after the core" if name == "history" and rule.core else after
        raise DataError(
            f"the {side} of this split would be empty{after}: {why}; nothing was written",
            table=EVENTS,
        )


def _write(
    session: Session,
    parts: tuple[Node, Node, Node],
    report: Mapping[str, Any],
    folder: Path,
    force: bool,
) -> None:
    """Write all files, or none."""
    try:
        with OwnFolder(folder, hidden=True) as own:
            draft = own / "new"
            draft.mkdir()
            for name, node in zip(FILES, parts[1:], strict=False):
                session.engine.write_parquet(Plan(node), draft / name, force)
            text = json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
            (draft / FILES[-1]).write_text(text, encoding="utf-8", newline="")
            old = replaced([folder / name for name in FILES], force)
            exchange(folder, own, FILES, old)
    except OSError as error:
        raise DataError(f"cannot write to {folder}: {error.strerror or error}") from error
