"""Differences between two records of the same request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from sqlmetrics.texts.wording import and_more, listed, shown

_SAME = 1e-9  # relative tolerance, absolute below 1, for sums in another order
# arguments that do not change a result; they are recorded but not compared
HOW_COMPUTED = (
    "threads",
    "memory_limit",
    "temp_directory",
    "temp_limit",
    "trust_input",
)
_COMPARED_ELSEWHERE = ("metrics", "k", "engine")
# integer columns that do not identify a row
_COUNTS = ("n_users", "wins", "ties", "losses")
_MOST_SHOWN = 20  # maximum number of lines

_Record = Mapping[str, Any]


@dataclass(frozen=True)
class Differences:
    """The differences between a record and a newer one.

    Attributes:
        results: differences of data, users or values.
        others: differences of versions, arguments, settings and SQL.
        unknown: entries that are missing from one of the records.
    """

    results: Sequence[str] = ()
    others: Sequence[str] = ()
    unknown: Sequence[str] = ()


def differences(old: _Record, new: _Record) -> Differences:
    """Return the differences between two records of a result, one line each."""
    others = [
        *_changes("", old["versions"], new["versions"]),
        *_changes("", _options(old), _options(new)),
        *_of_metrics(old, new),
        *(["the SQL differs"] if old["sql"] != new["sql"] else []),
    ]
    results: list[str] = []
    unknown: list[str] = []
    for entry, (what, compared) in _OF_RESULTS.items():
        if entry in old and entry in new:
            results += compared(old, new)
        else:
            why = (old if entry not in old else new).get("unknown", {}).get(entry)
            unknown.append(f"{what} ({why})" if why else f"{what} (not in the record)")
    return Differences(results, others, unknown)


def _joined(old: Mapping[Any, Any], new: Mapping[Any, Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the keys of two mappings with their values in both; None for a missing value."""
    for key in {**old, **new}:
        yield key, old.get(key), new.get(key)


def _changes(where: str, old: _Record, new: _Record) -> Iterator[str]:
    for name, was, is_ in _joined(old, new):
        if was != is_:
            texts = ("not given" if value is None else _text(value) for value in (is_, was))
            yield f"{where}{name}: {', was '.join(texts)}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else shown(value)


# ---- entries ------------------------------------------------------------------------------------


def _options(record: _Record) -> dict[str, Any]:
    """Return the arguments that can change a result."""
    return {
        name: value
        for part in ("given", "asked")
        for name, value in record[part].items()
        if name not in (*HOW_COMPUTED, *_COMPARED_ELSEWHERE) and value not in (None, [], {}, False)
    }


def _of_metrics(old: _Record, new: _Record) -> Iterator[str]:
    def settings(record: _Record) -> dict[str, _Record]:
        return {
            f"{metric['metric']} ({metric['convention']})": {
                "k": metric["k"], **record["settings"], **metric["settings"]
            }
            for metric in record["metrics"]
        }  # fmt: skip

    for metric, was, is_ in _joined(settings(old), settings(new)):
        if is_ is None:
            yield f"{metric}: no longer computed"
        elif was is None:
            yield f"{metric}: not computed before"
        else:
            yield from _changes(f"{metric}, ", was, is_)


def _of_contents(old: _Record, new: _Record) -> Iterator[str]:
    def tables(record: _Record) -> dict[tuple[str, str], _Record]:
        return {
            (_named(table["table"], table["model"], " of "), ", ".join(table["columns"])): table
            for table in record["contents"]
        }

    for (table, columns), was, is_ in _joined(tables(old), tables(new)):
        if is_ is None:
            yield f"{table}: columns no longer read: {columns}"
        elif was is None:
            yield f"{table}: columns not read before: {columns}"
        elif is_["rows"] != was["rows"]:
            yield f"{table}: {is_['rows']:,} rows, were {was['rows']:,}"
        elif is_["fingerprint"] != was["fingerprint"]:
            yield f"{table}: different values in {columns}"


def _of_users(old: _Record, new: _Record) -> Iterator[str]:
    def counts(record: _Record) -> dict[tuple[str, str], _Record]:
        counted: dict[tuple[str, str], _Record] = {}
        for users in record["users"]:
            names = ("evaluated", "without_recommendations", "without_truth")
            counted[
                _named(
                    _named(f"users of {and_more(users['metrics'])}", users["model"], ", "),
                    users.get("run"),
                    ", run ",
                ),
                users["convention"],
            ] = {name.replace("_", " "): users[name] for name in names}
        return counted

    for (users, _), was, is_ in _joined(counts(old), counts(new)):
        if was is not None and is_ is not None:  # otherwise, the metrics of the request differ
            yield from _changes(f"{users}, ", was, is_)


def _named(what: str, model: str | None, link: str) -> str:
    return what if model is None else f"{what}{link}{model}"


# ---- values -------------------------------------------------------------------------------------


def _of_rows(old: _Record, new: _Record) -> Iterator[str]:
    """Yield the largest difference of each metric, then the rows that only one record has."""
    if any(len(row) != len(record["columns"]) for record in (old, new) for row in record["rows"]):
        yield "values: the record is damaged: its rows have more or fewer values than columns"
        return
    shared = [name for name in new["columns"] if name in old["columns"]]
    texts = [f"{name} is missing" for name in old["columns"] if name not in shared]
    texts += [f"{name} is new" for name in new["columns"] if name not in shared]
    if texts:
        yield f"columns: {listed(texts)}"
    keys = _keys(shared, old, new)
    rows = list(_joined(_by_key(old, keys), _by_key(new, keys)))
    yield from _largest(keys, [name for name in shared if name not in keys], rows)
    gone = [row for row, _, is_ in rows if is_ is None]
    added = [row for row, was, _ in rows if was is None]
    for some, what in ((gone, "missing"), (added, "new")):
        if some:
            example = " ".join(_about(keys, some[0])).strip()
            yield f"{what} rows: {len(some):,}, e.g. {example}"


def _largest(keys: Sequence[str], measured: Sequence[str], rows: Sequence[Any]) -> Iterator[str]:
    """Yield the largest difference of each metric, in the first column that differs."""
    told: set[str] = set()
    for column in measured:
        cells = [
            (_distance(was[column], is_[column]), _about(keys, row), is_[column], was[column])
            for row, was, is_ in rows
            if was and is_
        ]
        for distance, (metric, others), is_, was in sorted(cells, key=lambda cell: -cell[0]):
            place, about = (metric, [others]) if "metric" in keys else (column, [metric, others])
            if distance and place not in told:
                told.add(place)
                what = " ".join(dict.fromkeys([place, column]))
                far = ":" if distance == inf else f" differs by up to {distance:.2g}"
                row = ", ".join(filter(None, about))
                values = f"{_number(is_)}, was {_number(was)}"
                yield f"{what}{far} ({f'{row}: ' if row else ''}{values})"


def _keys(shared: Sequence[str], *records: _Record) -> list[str]:
    """Return the columns that identify a row: not measured values, counts or marks."""
    keys = []
    for name in shared:
        values = [
            row[record["columns"].index(name)] for record in records for row in record["rows"]
        ]
        measured = any(isinstance(value, float) for value in values)
        if not (measured or name in _COUNTS or name.endswith(" mark") or set(values) == {None}):
            keys.append(name)
    return keys


def _by_key(record: _Record, keys: Sequence[str]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Map keys to rows; rows with equal keys are numbered."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    copies: Counter[tuple[Any, ...]] = Counter()
    for values in record["rows"]:
        row = dict(zip(record["columns"], values, strict=True))
        about = tuple(row[name] for name in keys)
        rows[*about, copies[about]] = row
        copies[about] += 1
    return rows


def _about(keys: Sequence[str], row: tuple[Any, ...]) -> tuple[str, str]:
    """Return the metric of a row with its cutoff, and the other keys, as text."""
    about = dict(zip(keys, row, strict=False))  # ignores the number of a row with equal keys
    metric, k = about.pop("metric", None), about.pop("k", None)
    others = " ".join(str(value) for value in about.values() if value is not None)
    return f"{'' if metric is None else metric}{'' if k is None else f'@{k}'}", others


def _distance(old: Any, new: Any) -> float:
    """Return the difference of two values: 0 if equal, infinite if one is not a number."""
    if isinstance(old, int | float) and isinstance(new, int | float):
        distance = abs(old - new)
        return 0.0 if distance <= _SAME * max(1.0, abs(old), abs(new)) else float(distance)
    return 0.0 if old == new else inf


def _number(value: Any) -> str:
    return (
        f"{value:.6g}" if isinstance(value, float) else "missing" if value is None else str(value)
    )


# entry of a record -> its name in messages, its comparison
_OF_RESULTS: Mapping[str, tuple[str, Callable[[_Record, _Record], Iterable[str]]]] = {
    "contents": ("the contents of tables", _of_contents),
    "users": ("counts of users", _of_users),
    "rows": ("values", _of_rows),
}


# ---- the message --------------------------------------------------------------------------------


def message(path: str, differing: Differences) -> str:
    """Return the message that compares a result with an earlier record."""
    lines = [*differing.results, *differing.others]
    lines += [f"not compared: {text}" for text in differing.unknown]
    if not lines:
        return f"the same as in {path}"
    if not differing.results and len(lines) == 1:
        return f"the same as in {path}, except {lines[0]}"
    head = "not the same as" if differing.results else "the same result as"
    shown = lines[:_MOST_SHOWN]
    more = [f"and {len(lines) - len(shown)} more"] if len(lines) > len(shown) else []
    tail = "" if differing.results else ", except"
    return "\n  ".join([f"{head} in {path}{tail}:", *shown, *more])
