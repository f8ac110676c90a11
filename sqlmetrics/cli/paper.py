"""Lay out tables in LaTeX with the rules of the package booktabs, as in papers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
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


def latex_table(cells: Rows, _: Marks) -> str:
    """Lay out a table without marks."""
    return _tabular(replace(cells, values=[tuple(map(_escape, row)) for row in cells.values]))


def paper_table(
    cells: Rows,
    marks: Marks,
    frame: pd.DataFrame,
    names: Mapping[str, str],
    blocks: Mapping[str, str],
) -> str:
    """Lay out a leaderboard: best values bold, second ones underlined, signs as superscripts.

    A column of counts that are all equal becomes a comment below the table.

    Args:
        cells: the texts.
        marks: the marks by column number.
        frame: the leaderboard.
        names: display names of the columns.
        blocks: the titles of blocks of columns, by column; neighbours with one title share it.
    """
    rows = [[_escape(cell) for cell in row] for row in cells.values]
    for column, its_marks in marks.items():
        seconds = second_best(frame, cells.names[column], marked_columns(frame))
        for number, (row, cell) in enumerate(zip(rows, its_marks, strict=True)):
            found = marks_in(cell)
            if BEST in found:
                row[column] = rf"\textbf{{{row[column]}}}"
            elif number in seconds:
                row[column] = rf"\underline{{{row[column]}}}"
            if signs := "".join(_SIGNS[mark] for mark in found if mark in _SIGNS):
                # without a width, so that the digits of a column stay aligned
                row[column] += rf"\rlap{{$^{{{signs}}}$}}"
    table, comments = replace(cells, values=[*map(tuple, rows)]), []
    for count in ("n_users", "n_runs"):
        if count in table.names and len(counts := set(table[count])) == 1:
            table = table.without(count)
            comments += [f"% {n} {count.removeprefix('n_')}\n" for n in counts if n]
    above = _block_header([blocks.get(name, "") for name in table.names]) if blocks else ""
    shown = replace(table, names=[names.get(name, name) for name in table.names])
    return _tabular(shown, above) + "".join(comments)


def display_names(catalog: Catalog, frame: pd.DataFrame) -> dict[str, str]:
    """Map the columns of a leaderboard to their names in papers: `Model`, `nDCG@10`."""
    specs = {column: parse_spec(column) for column in marked_columns(frame)}
    names = {
        column: catalog.display_name(spec)
        for column, spec in specs.items()
        if spec.metric in catalog.metrics  # it may be of templates that the catalog lacks
    }
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


def _tabular(cells: Rows, above: str = "") -> str:
    """Lay out a table of names, which are escaped, and of values that are escaped already."""

    def line(row: Iterable[str]) -> str:
        text = " & ".join(row) + " \\\\\n"
        # LaTeX would read [ or * as an argument of the \\ that ends the row above
        return "{}" + text if text.startswith(("[", "*")) else text

    sides = "".join("l" if kind in (TEXT, PROSE) else "r" for kind in cells.kinds)
    header = line(map(_escape, cells.names))
    body = (
        "\\toprule\n"
        + above
        + header
        + "\\midrule\n"
        + "".join(map(line, cells.values))
        + "\\bottomrule\n"
    )
    return f"% \\usepackage{{booktabs}}\n\\begin{{tabular}}{{{sides}}}\n{body}\\end{{tabular}}\n"
