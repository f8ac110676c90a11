"""Differences between two records of the same request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlmetrics.shapes import shown

_SAME = 1e-9  # what sums in another order may differ by, of a value or, if it is larger, of 1
# arguments that say how a run is computed, but do not change its result: recorded, not compared
HOW_COMPUTED = (
    "threads",
    "memory_limit",
    "temp_directory",
    "temp_limit",
    "partitions",
    "trust_input",
)
# numbers that say whom a row of a result is about, but for these
_COUNTS = ("n_users", "wins", "ties", "losses")
_MOST_SHOWN = 20  # lines
_UNKNOWN = {"contents": "the contents of tables", "users": "counts of users", "rows": "values"}


@dataclass(frozen=True)
class Differences:
    """Differences between a record and a new one; `results`: those of data, users or values.

    `unknown`: what one of the two does not say.
    """

    results: Sequence[str] = ()
    others: Sequence[str] = ()
    unknown: Sequence[str] = ()


# ---- what differs -------------------------------------------------------------------------------


@dataclass
class _Found:
    results: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Differences:
    """Say what differs between two records of a result, line by line: what is, and what was."""
    found = _Found()
    found.others += _of_names("", old["versions"], new["versions"])
    for name in ("given", "asked"):
        theirs, ours = (
            {key: value for key, value in one[name].items() if value not in (None, [], {}, False)}
            for one in (old, new)
        )
        left_out = (*HOW_COMPUTED, "metrics", "k", "engine")
        found.others += _of_names("", _without(theirs, left_out), _without(ours, left_out))
    found.others += _of_metrics(old, new)
    if old["sql"] != new["sql"]:
        found.others.append("the SQL is another")
    for name, compared in (("contents", _of_contents), ("users", _of_users), ("rows", _of_rows)):
        if name in old and name in new:
            found.results += compared(old, new)
        else:
            why = (old if name not in old else new).get("unknown", {}).get(name)
            text = f"{_UNKNOWN[name]} ({why})" if why else f"{_UNKNOWN[name]}, not in the record"
            found.unknown.append(text)
    return Differences(found.results, found.others, found.unknown)


def _without(entries: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in entries.items() if name not in names}


def _of_names(where: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys([*old, *new]):
        if old.get(name) != new.get(name):
            is_, was = (_text(one[name]) if name in one else "not given" for one in (new, old))
            yield f"{where}{name}: {is_}, was {was}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else shown(value)


def _of_metrics(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    def of(record: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
        return {
            (one["convention"], one["metric"]): {
                "k": one["k"],
                **record["settings"],
                **one["settings"],
            }
            for one in record["metrics"]
        }

    theirs, ours = of(old), of(new)
    for key in dict.fromkeys([*theirs, *ours]):
        name = f"{key[1]} ({key[0]})"
        if key not in ours:
            yield f"{name}: it is not computed any more"
        elif key not in theirs:
            yield f"{name}: it was not computed"
        else:
            yield from _of_names(f"{name}, ", theirs[key], ours[key])


def _of_contents(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    def of(record: Mapping[str, Any]) -> dict[tuple[Any, ...], Mapping[str, Any]]:
        return {
            (one["table"], one["model"], tuple(one["columns"])): one for one in record["contents"]
        }

    theirs, ours = of(old), of(new)
    for key in dict.fromkeys([*theirs, *ours]):
        table, model, columns = key
        where = table if model is None else f"{table} of {model}"
        if key not in ours:
            yield f"{where}: {', '.join(columns)} were read, and are not now"
        elif key not in theirs:
            yield f"{where}: {', '.join(columns)} are read, and were not"
        elif ours[key]["rows"] != theirs[key]["rows"]:
            yield f"{where}: {ours[key]['rows']:,} rows, were {theirs[key]['rows']:,}"
        elif ours[key]["fingerprint"] != theirs[key]["fingerprint"]:
            yield f"{where}: other values in {', '.join(columns)}"


def _of_users(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    counts = ("evaluated", "without_recommendations", "without_truth")

    def of(record: Mapping[str, Any]) -> dict[tuple[Any, ...], dict[str, Any]]:
        return {
            (one["model"], one["convention"], tuple(one["metrics"])): {
                name: one[name] for name in counts
            }
            for one in record["users"]
        }

    theirs, ours = of(old), of(new)
    for key in [key for key in theirs if key in ours]:
        model, _, metrics = key
        shown = metrics[0] if len(metrics) == 1 else f"{metrics[0]} and {len(metrics) - 1} more"
        where = f"users of {shown}" + ("" if model is None else f", {model}")
        for line in _of_names("", theirs[key], ours[key]):
            yield f"{where}, {line.replace('_', ' ')}"


# ---- values -------------------------------------------------------------------------------------


def _of_rows(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Say for each metric the largest difference of its values."""
    if any(len(row) != len(one["columns"]) for one in (old, new) for row in one["rows"]):
        yield "values: the record is damaged: rows have more or fewer values than columns"
        return
    shared = [name for name in new["columns"] if name in old["columns"]]
    gone = [name for name in old["columns"] if name not in shared]
    more = [name for name in new["columns"] if name not in shared]
    if gone or more:
        texts = [f"there was {name}" for name in gone] + [f"there is {name}" for name in more]
        yield f"columns: {', '.join(texts)}"
    keys = _keys(shared, old, new)
    theirs, ours = _by_key(old, keys), _by_key(new, keys)
    largest: dict[tuple[str, str], tuple[float, str]] = {}
    for key in [key for key in ours if key in theirs]:
        label, about = _label(dict(zip(keys, key, strict=False)))
        for name in [name for name in shared if name not in keys]:
            distance = _distance(theirs[key][name], ours[key][name])
            is_wide = "metric" not in keys
            place = (name, "") if is_wide else (label, name)
            if distance > largest.get(place, (0.0, ""))[0]:
                row = ", ".join(filter(None, [label if is_wide else "", about]))
                was, is_ = _number(theirs[key][name]), _number(ours[key][name])
                far = "" if distance == float("inf") else f" differs by up to {distance:.2g}"
                where = f" ({row}: {is_}, was {was})" if row else f" ({is_}, was {was})"
                largest[place] = distance, f"{' '.join(filter(None, place))}{far or ':'}{where}"
    said: set[str] = set()
    for (label, column), (_, text) in largest.items():
        if label in said and column not in ("value", "difference"):
            continue  # the first column that differs is enough: others follow from it
        said.add(label)
        yield text
    for what, some, others in (("are not there any more", theirs, ours), ("are new", ours, theirs)):
        lost = [key for key in some if key not in others]
        if lost:
            label, about = _label(dict(zip(keys, lost[0], strict=False)))
            example = " ".join(filter(None, [label, about]))
            yield f"{len(lost):,} rows {what}, such as {example}"


def _keys(shared: Sequence[str], *records: Mapping[str, Any]) -> list[str]:
    """Find the columns that say what a row is about: no measured numbers, counts or marks."""
    keys = []
    for name in shared:
        values = [
            row[record["columns"].index(name)] for record in records for row in record["rows"]
        ]
        measured = any(isinstance(value, float) for value in values)
        if not (measured or name in _COUNTS or name.endswith(" mark") or set(values) == {None}):
            keys.append(name)
    return keys


def _by_key(
    record: Mapping[str, Any], keys: Sequence[str]
) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Find rows by what they are about; where several are about the same, by their place too."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for values in record["rows"]:
        row = dict(zip(record["columns"], values, strict=True))
        about = tuple(row[name] for name in keys)
        place = 0
        while (*about, place) in found:
            place += 1
        found[*about, place] = row
    return found


def _label(about: Mapping[str, Any]) -> tuple[str, str]:
    """Name the metric of a row, and say what else the row is about."""
    rest = dict(about)
    metric, k = rest.pop("metric", None), rest.pop("k", None)
    others = " ".join(str(value) for value in rest.values() if value is not None)
    if metric is None:
        return ("" if k is None else f"@{k}"), others
    return (str(metric) if k is None else f"{metric}@{k}"), others


def _distance(old: Any, new: Any) -> float:
    """Say how far two values are apart: 0 for what is the same, infinite for what is no number."""
    if isinstance(old, int | float) and isinstance(new, int | float):
        distance = abs(old - new)
        return 0.0 if distance <= _SAME * max(1.0, abs(old), abs(new)) else float(distance)
    return 0.0 if old == new else float("inf")


def _number(value: Any) -> str:
    return (
        f"{value:.6g}" if isinstance(value, float) else "missing" if value is None else str(value)
    )


# ---- the message --------------------------------------------------------------------------------


def message(path: str, found: Differences) -> str:
    """Say how a result compares with an earlier one, in one line if it is the same."""
    lines = [*found.results, *found.others]
    lines += [f"not compared: {text}" for text in found.unknown]
    if not lines:
        return f"the same as in {path}"
    if not found.results and len(lines) == 1:
        return f"the same as in {path}, but for {lines[0]}"
    head = "not the same as" if found.results else "the same result as"
    shown = lines[:_MOST_SHOWN]
    more = [f"and {len(lines) - len(shown)} more"] if len(lines) > len(shown) else []
    tail = "" if found.results else ", but for"
    return "\n  ".join([f"{head} in {path}{tail}:", *shown, *more])
