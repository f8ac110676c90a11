"""Lay out leaderboards, comparisons, and the findings of `check`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlmetrics.cli.formats import FORMATS, TableFormat
from sqlmetrics.cli.tables import SIGNIFICANT, Marks, is_missing, table_text, texts_of
from sqlmetrics.errors import example_rows
from sqlmetrics.metrics.spec import labelled
from sqlmetrics.rows import Rows
from sqlmetrics.stats.leaderboard import (
    interval_columns,
    keys_of,
    marked_columns,
    spread_columns,
)
from sqlmetrics.texts.terminal import one_line, visible
from sqlmetrics.texts.wording import rounded

if TYPE_CHECKING:
    import pandas as pd

BEST_ONE = "the best"
# meanings of ± in leaderboards
_HALF_WIDTH = "half the width of the confidence interval"
_OVER_RUNS = "standard deviation over the runs of the model"


def render_leaderboard(
    frame: pd.DataFrame,
    kind: str,
    digits: int | None,
    how: str,
    than: str = BEST_ONE,
    names: Mapping[str, str] | None = None,
    blocks: Mapping[str, str] | None = None,
) -> str:
    """Lay out a leaderboard as text; formats and `digits` are those of `rendered`.

    Machine formats show the frame unchanged. Other formats show the marks and intervals next to the
    values, with a legend below (a comment in LaTeX). Without intervals, they show the standard
    deviation over runs, if there are several.

    Args:
        how: describes the test in the legend, such as `t-test, Holm-adjusted p >= 0.05`.
        than: the model that the others were compared with.
        names: display names of columns in LaTeX, such as nDCG@10.
        blocks: the titles of blocks of columns in LaTeX, by column.
    """
    format_ = FORMATS[kind]
    if not isinstance(format_, TableFormat):
        return format_.render(frame, digits)
    columns, intervals = marked_columns(frame), interval_columns(frame)
    spread = spread_columns(frame)
    ends_of_intervals = (name for ends in intervals.values() for name in ends)
    hidden = [*columns.values(), *ends_of_intervals, *spread.values()]
    shown = frame.drop(columns=hidden)
    marks = {
        number: list(frame[columns[name]])
        for number, name in enumerate(shown.columns)
        if name in columns and any(frame[columns[name]])
    }
    cells = texts_of(Rows.of_frame(shown), digits)
    halves = {name: (frame[high] - frame[low]) / 2 for name, (low, high) in intervals.items()}
    if not intervals:
        halves = {name: frame[column] for name, column in spread.items()}
    for name, numbers in halves.items():
        cells = _with_halves(cells, list(shown.columns).index(name), numbers.tolist(), digits)
    plus_minus = _HALF_WIDTH if intervals else _OVER_RUNS if spread else ""
    if format_.board is None:
        text = format_.table(cells, marks)
    else:
        text = format_.board(cells, marks, frame, names or {}, blocks or {})
    legend = _legend(marks, how, than, format_, plus_minus)
    if "n_users" in shown and bool(frame["n_users"].isna().any()):
        legend = "; ".join(filter(None, (legend, _NO_COUNT)))
    return text + format_.note.format(legend) if legend else text


_NO_COUNT = "n_users is empty where the metrics have no common number of users"

# columns of a comparison in a table, after the slices; `p` is p_adjusted
_COMPARED = ("metric", "model", "value", "difference", "ci_low", "ci_high", "p_adjusted")


def render_comparison(frame: pd.DataFrame, digits: int | None, alpha: float, how: str) -> str:
    """Lay out a comparison as a table for a terminal, with a mark at significant differences.

    Args:
        frame: the result of `Evaluator.compare`.
        alpha: a difference is significant if its adjusted p-value is below it.
        how: describes the test in the legend.
    """
    names = list(frame.columns)
    labels = [labelled(*key) for key in keys_of(frame)]
    of_power = [name for name in names if name == "mde" or name.endswith("_needed")]
    leading = names[: names.index("metric")]
    shown = frame.assign(metric=labels)[[*leading, *_COMPARED, *of_power]]
    marks = {
        list(shown.columns).index("difference"): [
            SIGNIFICANT if p < alpha else "" for p in frame["p_adjusted"].astype("float64")
        ]
    }
    cells = texts_of(Rows.of_frame(shown.rename(columns={"p_adjusted": "p"})), digits)
    text = table_text(cells, marks if any(map(any, marks.values())) else {})
    baseline = " and ".join(map(one_line, frame["baseline"].astype(str).unique()))
    return f"{text}* differs significantly from {baseline} ({how})\n" if frame.size else text


def render_identified(frame: pd.DataFrame, digits: int | None) -> str:
    """Lay out the result of `Evaluator.identify` as a table for a terminal.

    The last column is the setting to change, or what the convention calls the metric if none is.
    """
    given = zip(keys_of(frame), frame["reported"], strict=True)
    numbers = [f"{labelled(*key)}={text}" for key, text in given]
    last = "change" if frame["change"].fillna("").ne("").any() else "theirs"
    names = [*(["model"] if "model" in frame else []), "number", "convention", "value", last]
    shown = _folded(frame.assign(number=numbers), names)
    return table_text(texts_of(Rows.of_frame(shown), digits), {})


def _folded(frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Fold the conventions that give a number with the same change and value into one row."""
    import pandas as pd

    same = [name for name in names if name not in ("convention", "value", "theirs")]
    rows = []
    by = [*(frame[name] for name in same), frame["rank"], frame["value"].round(10)]
    for _, group in frame.groupby(by, sort=False, dropna=False):
        conventions = list(dict.fromkeys(group["convention"]))
        theirs = list(dict.fromkeys(text for text in group["theirs"] if text))
        row = group.iloc[0].to_dict()
        rows.append({**row, "convention": _some(conventions, 3), "theirs": _some(theirs, 1)})
    return pd.DataFrame(rows, columns=frame.columns)[names]


def _some(names: list[str], n: int) -> str:
    """Return the first names, and how many there are if not all are shown."""
    shown = names[:n]
    return ", ".join(shown) + (f", … ({len(names)})" if len(shown) < len(names) else "")


def _with_halves(cells: Rows, column: int, halves: Sequence[float], digits: int | None) -> Rows:
    """Add half the width of an interval, or a standard deviation, to the values of a column."""
    places = 4 if digits is None else digits
    texts = ["" if is_missing(half) else f"{rounded(half, places):.{places}f}" for half in halves]
    width = max(map(len, texts), default=0)
    values = []
    for row, text in zip(cells.values, texts, strict=True):
        cell = f"{row[column]} ± {text.rjust(width)}" if text else row[column]
        values.append((*row[:column], cell, *row[column + 1 :]))
    return replace(cells, values=values)


def _legend(marks: Marks, how: str, than: str, format_: TableFormat, plus_minus: str) -> str:
    """Return the legend of a leaderboard: the signs that its cells have.

    `plus_minus` is the meaning of ±, or "".
    """
    parts = []
    if marks:
        brackets = f" ({' '.join(how.split())})" if how.strip() else ""
        parts.append(format_.best)
        if than == BEST_ONE:
            parts.append(f"= not significantly worse than the best{brackets}")
        else:
            parts.append(
                "† significantly better, ‡ significantly worse than "
                f"{format_.escape(than)}{brackets}"
            )
    if plus_minus:
        parts.append(f"± {plus_minus}")
    return "; ".join(parts)


def render_findings(rows: Rows, kind: str, digits: int | None) -> str:
    """Lay out the findings of `check` as text; formats and `digits` are those of `rendered`.

    The table format has a paragraph per finding. Other formats for people omit examples and
    remedies.
    """
    format_ = FORMATS[kind]
    if not isinstance(format_, TableFormat):
        return format_.render(rows, digits)
    if kind != "table":
        return format_.render(rows.without("examples", "remedy"), digits)
    records = [dict(zip(rows.names, row, strict=True)) for row in rows.values]
    return "\n".join([*map(_finding, records), _counts(records)]) + "\n"


def _finding(record: Mapping[str, Any]) -> str:
    where = one_line(", column ".join(filter(None, (record["table"], record["column"]))))
    head = one_line(f"{record['level']}: {record['check']}")
    text = "\n".join(f"  {line}" for line in visible(record["found"]).splitlines())
    text = f"{head}\n  {where + ': ' if where else ''}{text.lstrip()}\n"
    if record["examples"]:
        text += example_rows(record["examples"]) + "\n"
    return text + (f"  -> {visible(record['remedy'])}\n" if record["remedy"] else "")


def _counts(records: Sequence[Mapping[str, Any]]) -> str:
    """Count findings by level, such as `1 error, 2 warnings`."""
    levels = [record["level"] for record in records]
    counts = {level: levels.count(level) for level in dict.fromkeys(levels)}
    texts = [f"{n} {level}{'s' * (n > 1 and level != 'accepted')}" for level, n in counts.items()]
    return ", ".join(texts) or "nothing found"
