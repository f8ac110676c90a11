"""Plan the split of a table of events into a history and held-out interactions."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction
from typing import Any

from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.plan.inputs import Inputs
from sqlmetrics.sql.dialects import NATIVE
from sqlmetrics.sql.query_graph import Node, Rendered
from sqlmetrics.sql.template_names import Keys
from sqlmetrics.tables.schema import UNKNOWN, SourceColumn, Table, is_number, unreadable_column
from sqlmetrics.texts.messages import Message, map_column
from sqlmetrics.texts.wording import listed

EVENTS = "interactions"  # the table that the events are read as
ROUNDINGS = ("ceil", "floor", "round", "train")
DROPS = ("cold_users", "cold_items", "seen")
CORES = ("history", "events")
_RULES = ("time", "last", "last-share", "random", "users")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}  # of gaps, in seconds
_MOST_DIGITS = 1_000_000  # the largest denominator of a share, whose products fit in 64 bits


@dataclass(frozen=True)
class Rule:
    """How events are split, without the unit of their timestamps.

    `last` is the number of events of each user that are held out, `share` a share of events, pairs
    or users; `at` and `gap` are texts. `core` has the least numbers of items of a user and of users
    of an item.
    """

    by: str
    last: int = 0
    share: Fraction | None = None
    at: str | None = None
    rounding: str = "ceil"
    gap: str | None = None
    seed: int = 1
    drop: Sequence[str] = ()
    core: tuple[int, int] | None = None
    core_of: str = "history"

    @classmethod
    def of(
        cls,
        by: str,
        at: Any = None,
        share: Any = None,
        rounding: str | None = None,
        gap: Any = None,
        seed: int | None = None,
        drop: str | Iterable[str] = (),
        core: Sequence[int] | None = None,
        core_of: str | None = None,
    ) -> Rule:
        """Read the arguments of `sqlmetrics.split`.

        Raises:
            UsageError: an argument is missing, out of range, or does not apply to the rule.
        """
        kind, _, value = str(by).partition("=")
        if kind not in _RULES:
            raise UsageError(
                f"by: unknown rule {by!r}; write time, last=N, last-share=S, random or users"
            )
        if bool(value) != kind.startswith("last"):
            form = {"last": "last=1", "last-share": "last-share=0.2"}.get(kind, kind)
            raise UsageError(f"by={by}: write {form}")
        applies = {
            "at": (at, kind == "time"),
            "share": (share, not kind.startswith("last")),
            "rounding": (rounding, kind == "last-share"),
            "gap": (gap, kind == "time" or kind.startswith("last")),
            "seed": (seed, kind in ("random", "users")),
        }
        for name, (given, is_read) in applies.items():
            if given is not None and not is_read:
                raise UsageError(f"{name} does not apply to by={by}; remove it")
        if core_of is not None and core is None:
            raise UsageError("core_of does not apply without core; add core or remove core_of")
        if kind == "time" and (at is None) == (share is None):
            raise UsageError("by=time: give either at (a moment) or share (of the events)")
        if kind in ("random", "users") and share is None:
            raise UsageError(f"by={kind}: give share, such as 0.2")
        drop = [drop] if isinstance(drop, str) else list(drop)
        for name, chosen, choices in (
            ("rounding", [rounding or "ceil"], ROUNDINGS),
            ("drop", drop, DROPS),
            ("core_of", [core_of or "history"], CORES),
        ):
            if unknown := [one for one in chosen if one not in choices]:
                raise UsageError(f"{name}: {unknown[0]!r} is not one of {listed(choices)}")
        return cls(
            kind,
            _whole("by=last", value) if kind == "last" else 0,
            _share(value if kind == "last-share" else share),
            None if at is None else _text_of(at),
            rounding or "ceil",
            None if gap is None else str(gap),
            1 if seed is None else _seed(seed),
            [name for name in DROPS if name in drop],
            None if core is None else _core(core),
            core_of or "history",
        )

    @property
    def has_time(self) -> bool:
        """Return whether the rule reads timestamps."""
        return self.by not in ("random", "users")

    @property
    def cuts(self) -> bool:
        """Return whether a number of events is held out, which ties can exceed."""
        return self.by.startswith("last") or (self.by == "time" and self.share is not None)

    def asked(self, by: str) -> dict[str, Any]:
        """Return what was asked, for split.json; `by` as the user wrote it."""
        share = None if self.share is None or "=" in by else float(self.share)
        values: dict[str, Any] = {"by": by, "at": self.at, "share": share, "gap": self.gap}
        if self.by == "last-share":
            values["rounding"] = self.rounding
        if not self.has_time:
            values["seed"] = self.seed
        values |= {"drop": list(self.drop) or None, "core": self.core and list(self.core)}
        values["core_of"] = self.core_of if self.core else None
        return {name: value for name, value in values.items() if value is not None}

    def wanted(self, n_events: int) -> int:
        """Return the number of held-out events, of all or of a user, without ties."""
        if self.share is None:
            return min(self.last, n_events)
        asked = self.share * n_events
        if self.rounding == "train":
            return n_events - round(n_events - asked)  # half to even
        if self.rounding == "round":
            return math.floor(asked + Fraction(1, 2))
        return math.floor(asked) if self.rounding == "floor" else math.ceil(asked)


def _whole(name: str, value: Any) -> int:
    if not str(value).isdecimal() or int(value) < 1:
        raise UsageError(f"{name} must be a whole number of at least 1, not {value}")
    return int(value)


def _seed(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise UsageError(f"seed must be a whole number, not {value!r}")
    return operator.index(value)


def _share(value: Any) -> Fraction | None:
    """Return a share as the fraction that its digits mean: 0.1 is a tenth, unlike the double."""
    if value is None:
        return None
    try:
        share = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if not 0 < share < 1 or share.denominator > _MOST_DIGITS:
        raise UsageError(f"share must be between 0 and 1, with up to six digits, not {value}")
    return share


def _core(core: Sequence[int]) -> tuple[int, int]:
    if isinstance(core, str) or not hasattr(core, "__len__") or len(core) != 2:
        raise UsageError("core: give the least numbers of items of a user and of users of an item")
    return _whole("core", core[0]), _whole("core", core[1])


def _text_of(at: Any) -> str:
    return at.isoformat() if isinstance(at, date) else str(at).strip()


# ---- the queries --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Events:
    """The table of events and the query that reads it, with every column."""

    table: Table
    node: Node
    columns: Sequence[str]
    keys: Keys

    @classmethod
    def of(cls, table: Table, keys: Keys) -> Events:
        """Plan the reading of all columns of a table of events.

        Raises:
            DataError: a column has the name of a mapped column.
        """
        whole = replace(table, sources=tuple(_with_all_columns(source) for source in table.sources))
        node = Inputs({EVENTS: whole}, keys).rows(EVENTS, {})
        return cls(table, node, node.columns, keys)

    @property
    def type_of_time(self) -> str:
        """Return the type of the timestamps, "" if there are none."""
        return self.table.columns.get("timestamp", "")

    @property
    def has_time(self) -> bool:
        """Whether there are timestamps with an order; that of texts is not the order of time."""
        kind = self.type_of_time
        return is_number(kind) or kind.startswith(("DATE", "TIMESTAMP", UNKNOWN))

    def query(self, template: str, name: str = "", *, reads: dict[str, Node], **more: Any) -> Node:
        """Plan a query from a file of `sql_templates/split`."""
        context = {"columns": self.columns, "has_time": self.has_time, **more}
        return Rendered.of(
            f"split/{template}", reads, name or template, keys=self.keys, context=context
        )

    def marked(self, rule: Rule, events: Node) -> Node:
        """Plan the events with the columns that tell their sides: history, interactions or gap.

        Raises:
            UsageError, DataError: the timestamps do not fit the rule.
        """
        if rule.at is not None:
            return events
        template, name = ("by_time", "bordered") if rule.has_time else ("by_hash", "drawn")
        if rule.by.startswith("last"):
            template = "by_last"
        return self.query(template, name, reads={"events": events}, **self._decided_by(rule))

    def side(self, rule: Rule, marked: Node, side: str, name: str) -> Node:
        """Plan the events of a side."""
        of_rule = self._decided_by(rule)
        return self.query("side", name, reads={"marked": marked}, side=side, **of_rule)

    def sizes(self, rule: Rule, marked: Node) -> Node:
        """Plan the numbers of events of each side, of all events or of each user."""
        of_rule = self._decided_by(rule)
        return self.query("sizes", reads={"marked": marked}, of_users=rule.by != "time", **of_rule)

    def _decided_by(self, rule: Rule) -> dict[str, Any]:
        """Return the variables of `macros/splits.sql`."""
        share = rule.share or Fraction(0)
        if not rule.has_time:
            parts = [self.keys.context["user_texts_of"]("events")]
            if rule.by == "random":
                parts.append("CAST(events.item_id AS VARCHAR)")
            below = f"{math.ceil(share * 2**32):08x}"
            return {
                "rule": "draw", "seed": rule.seed, "drawn": " || ':' || ".join(parts),
                "below": below, "gap": None,
            }  # fmt: skip
        if rule.at is not None:
            at, until = self._moments(rule.at, rule.gap)
            return {
                "rule": "moment", "at": at, "until": until, "gap": rule.gap, "may_keep_all": False
            }  # fmt: skip
        gap = None if rule.gap is None else self._gap(rule.gap)
        of_users = rule.by.startswith("last")
        return {
            "rule": "place" if of_users and gap is None else "border",
            "may_keep_all": rule.by == "last-share", "last": rule.last, "rounding": rule.rounding,
            "numerator": share.numerator, "denominator": share.denominator, "gap": gap,
        }  # fmt: skip

    def kept(self, rule: Rule, held_out: Node, history: Node) -> Node:
        """Plan the held-out events that are not dropped."""
        if not rule.drop:
            return held_out
        return self.query(
            "kept", "truth", reads={"held_out": held_out, "history": history}, drop=rule.drop
        )

    def _moments(self, at: str, gap: str | None) -> tuple[str, str | None]:
        """Return the first moment of the held-out interactions, and of the gap, as SQL."""
        if is_number(self.type_of_time):
            first = _number("at", at)
            return first, None if gap is None else f"{first} - {_number('gap', gap)}"
        try:
            moment = datetime.fromisoformat(at)
        except ValueError:
            raise UsageError(
                f"at: {at!r} is not a date or time; the timestamps of the events have the type "
                f"{self.type_of_time}: write 2024-03-01 or 2024-03-01T12:00"
            ) from None
        if moment.tzinfo is not None:
            if not any(column.has_zone for column in self._times()):
                raise UsageError(
                    f"at: {at} has a time zone, but the timestamps of the events have none; "
                    "write the time without a zone"
                )
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        if self._are_dates() and moment.time() != time():
            raise UsageError(
                f"at: the timestamps of the events are dates without a time, so they cannot be "
                f"split at {at}; write a date, such as {moment.date()}"
            )
        until = None if gap is None else moment - timedelta(seconds=self._seconds(gap))
        dialect = self.keys.dialect
        return _literal(moment, dialect), None if until is None else _literal(until, dialect)

    def _times(self) -> list[SourceColumn]:
        found = (source.find_read("timestamp") for source in self.table.sources)
        return [column for column in found if column is not None]

    def _gap(self, gap: str) -> str:
        if is_number(self.type_of_time):
            return _number("gap", gap)
        if self.keys.dialect != NATIVE:
            raise UsageError(
                f"gap: {self.keys.dialect} has its own arithmetic with timestamps; leave out the "
                "gap, or split at a moment that you name with at"
            )
        return f"INTERVAL '{self._seconds(gap)}' SECOND"

    def _are_dates(self) -> bool:
        return all(column.type == "DATE" for column in self._times())

    def _seconds(self, gap: str) -> int:
        """Return the seconds of a gap.

        Raises:
            UsageError: it is invalid, or not whole days if the timestamps are dates.
        """
        seconds = _seconds(gap)
        if self._are_dates() and seconds % _UNITS["d"]:
            raise UsageError(
                f"gap: the timestamps of the events are dates without a time, so a gap of {gap} "
                "is not possible; write whole days, such as 1d"
            )
        return seconds


def _literal(moment: datetime, dialect: str) -> str:
    """Return a moment as SQL: in warehouses, a text takes the type of the column beside it."""
    text = f"'{moment.isoformat(sep=' ')}'"
    if dialect in ("trino", "athena"):
        raise UsageError(f"at: {dialect} compares no timestamps with texts; split by share")
    return f"CAST({text} AS TIMESTAMP)" if dialect == NATIVE else text


def _seconds(gap: str) -> int:
    number, unit = gap[:-1], gap[-1:]
    if unit not in _UNITS or not number.isdecimal():
        raise UsageError(
            f"gap: {gap!r} is not a number of seconds, minutes, hours, days or weeks, such as "
            "30m, 12h or 1d"
        )
    return int(number) * _UNITS[unit]


def _number(name: str, value: str) -> str:
    least = 0 if name == "gap" else -math.inf
    try:
        if math.isfinite(float(value)) and float(value) >= least:
            return value
    except ValueError:
        pass
    least_text = " of at least 0" if name == "gap" else ""
    raise UsageError(
        f"{name}: the timestamps of the events are numbers; write a number{least_text} in their "
        f"unit, not {value!r}"
    )


def _with_all_columns(source: Any) -> Any:
    for name, unread in source.unread.items():
        if unread.remedy:  # it is there, but is not the only one with this name
            raise unreadable_column(EVENTS, name, unread)
    read = {name for column in source.columns for name in (column.source, *column.parts)}
    named = {column.name.lower(): column for column in source.columns}
    others = [SourceColumn(n, n, kind, as_given=True) for n, kind in source.types.items()
              if n not in read]  # fmt: skip
    for column in others:
        if mapped := named.get(column.name.lower()):
            raise DataError(
                f"{source.label} has a column {column.name}, but {mapped.name} is read from "
                f"{mapped.source}; rename {column.name}, which would be there twice",
                table=EVENTS,
                column=column.name,
            )
    return replace(source, columns=(*source.columns, *others))


def check_time(events: Events, examples: Sequence[Mapping[str, Any]] = ()) -> None:
    """Check that the events have timestamps with an order; `examples` are rows without one.

    Raises:
        DataError: there are none, or they are text.
    """
    kind = events.type_of_time
    label = events.table.sources[0].label
    if not kind:
        raise DataError(
            f"{label} has no column timestamp to split by",
            table=EVENTS, column="timestamp",
            remedy=Message("map the column with ", map_column(EVENTS, "timestamp")),
        )  # fmt: skip
    if not events.has_time:
        raise DataError(
            f"{label}: the timestamps have the type {kind}, whose order is not that of time",
            table=EVENTS, column="timestamp", examples=examples,
            remedy="export them as timestamps, or as numbers such as seconds since 1970",
        )  # fmt: skip
