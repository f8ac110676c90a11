"""Lay out tables in LaTeX with the rules of the package booktabs, as in papers."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlmetrics.cli.tables import Marks
from sqlmetrics.metrics.spec import parse_spec
from sqlmetrics.rows import PROSE, TEXT, Rows
from sqlmetrics.stats.leaderboard import (
    BEST,
    BETTER,
    NOT_WORSE,
    WORSE,
    marked_columns,
    marks_in,
)

if TYPE_CHECKING:
    import pandas as pd

    from sqlmetrics.metrics.catalog import Catalog

_ESCAPED = {char: "\\" + char for char in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    # the default fonts print other characters for these
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    "±": r"$\pm$",
}  # fmt: skip
_SIGNS = {NOT_WORSE: "=", BETTER: r"\dagger", WORSE: r"\ddagger"}


def latex_table(cells: Rows) -> str:
    """Lay out a table without marks."""
    return _tabular(cells, [[_escape(cell) for cell in row] for row in cells.values])


def paper_table(
    cells: Rows,
    marks: Marks,
    seconds: Mapping[int, Collection[int]],
    names: Mapping[str, str],
    legend: str,
    blocks: Mapping[str, str],
) -> str:
    """Lay out a leaderboard: best values bold, second ones underlined, signs as superscripts.

    Args:
        cells: the texts.
        marks: the marks by column number.
        seconds: the numbers of the rows with the second-best value, by column number.
        names: display names of the columns.
        legend: the meaning of the signs, for a comment below the table.
        blocks: the titles of blocks of columns, by column; neighbours with one title share it.
    """
    rows = [[_escape(cell) for cell in row] for row in cells.values]
    for column, its_marks in marks.items():
        for number, (row, cell) in enumerate(zip(rows, its_marks, strict=True)):
            found = marks_in(cell)
            if BEST in found:
                row[column] = rf"\textbf{{{row[column]}}}"
            elif number in seconds[column]:
                row[column] = rf"\underline{{{row[column]}}}"
            if signs := "".join(_SIGNS[mark] for mark in found if mark in _SIGNS):
                # without a width, so that the digits of a column stay aligned
                row[column] += rf"\rlap{{$^{{{signs}}}$}}"
    comments = []
    for count in ("n_users", "n_runs"):
        if count not in cells.names:
            continue
        column = cells.names.index(count)
        counts = list(dict.fromkeys(row[column] for row in cells.values))
        if len(counts) == 1:
            rows = [[*row[:column], *row[column + 1 :]] for row in rows]
            cells = _without(cells, column)
            comments += [f"% {counts[0]} {count.removeprefix('n_')}"] if counts[0] else []
    if legend:
        comments.append(f"% {legend}")
    shown = replace(cells, names=[names.get(name, name) for name in cells.names])
    above = _block_header([blocks.get(name, "") for name in cells.names]) if blocks else ""
    return _tabular(shown, rows, above) + "".join(f"{comment}\n" for comment in comments)


def display_names(catalog: Catalog, frame: pd.DataFrame) -> dict[str, str]:
    """Map the columns of a leaderboard to their names in papers: `Model`, `nDCG@10`."""
    names = {name: catalog.display_name(parse_spec(name)) for name in marked_columns(frame)}
    runs = {"n_runs": "Runs"} if "n_runs" in frame.columns else {}
    return {"model": "Model", "n_users": "Users", **runs, **names}


def second_best(frame: pd.DataFrame, name: str, marked: Mapping[str, str]) -> set[int]:
    """Return the numbers of the rows with the second-best value of each slice.

    Args:
        frame: a leaderboard.
        name: the column of values.
        marked: the columns with marks, by the column with values.
    """
    values_from = "n_users" if "n_users" in frame.columns else next(iter(marked))
    leading = list(frame.columns[: list(frame.columns).index(values_from)])
    values, marks = frame[name].tolist(), frame[marked[name]].tolist()
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, row in enumerate(frame[leading].drop(columns="model").itertuples(index=False)):
        groups.setdefault(tuple(row), []).append(number)
    found: set[int] = set()
    for rows in groups.values():
        best = [number for number in rows if BEST in marks_in(marks[number])]
        others = [n for n in rows if n not in best and values[n] == values[n]]  # not NaN
        if best and others:
            limits = [values[number] for number in others]
            second = max(limits) if values[best[0]] >= max(limits) else min(limits)
            found |= {number for number in others if values[number] == second}
    return found


def _without(cells: Rows, column: int) -> Rows:
    names, kinds = list(cells.names), list(cells.kinds)
    del names[column], kinds[column]
    values = [(*row[:column], *row[column + 1 :]) for row in cells.values]
    return Rows(names, kinds, values)


def _escape(cell: str) -> str:
    return "".join(_ESCAPED.get(char, char) for char in cell)


def _block_header(titles: Sequence[str]) -> str:
    """Return the header line above blocks of columns, with a rule below each title."""
    cells, rules, column = [], [], 1
    for title, block in itertools.groupby(titles):
        width = len(list(block))
        cells.append(
            rf"\multicolumn{{{width}}}{{c}}{{{_escape(title)}}}" if title else " & " * (width - 1)
        )
        rules += [rf"\cmidrule(lr){{{column}-{column + width - 1}}}"] if title else []
        column += width
    return " & ".join(cells) + " \\\\\n" + " ".join(rules) + "\n"


def _tabular(cells: Rows, rows: Iterable[Iterable[str]], above: str = "") -> str:
    def line(row: Iterable[str]) -> str:
        text = " & ".join(row) + " \\\\\n"
        # LaTeX would read [ or * as an argument of the \\ that ends the row above
        return "{}" + text if text.startswith(("[", "*")) else text

    sides = "".join("l" if kind in (TEXT, PROSE) else "r" for kind in cells.kinds)
    header = line(map(_escape, cells.names))
    body = (
        "\\toprule\n" + above + header + "\\midrule\n" + "".join(map(line, rows)) + "\\bottomrule\n"
    )
    return f"% \\usepackage{{booktabs}}\n\\begin{{tabular}}{{{sides}}}\n{body}\\end{{tabular}}\n"
