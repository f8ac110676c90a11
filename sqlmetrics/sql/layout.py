"""Lay out printed SQL: join lines that fit into one.

The parser's printer writes every expression on a separate line and indents nested expressions.
This module joins such lines again, up to the maximum line length.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

WIDTH = 100
_STEP = 4
_QUOTED = re.compile(r"""--[^\n]*|/\*.*?\*/|(?P<quoted>'[^']*'|"[^"]*")""", re.DOTALL)
_BREAK = "\ue000"  # a line break in a name or a text literal; private characters mean nothing
_COMMENT = re.compile(r"\s*/\*\s*(.*?)\s*\*/")
_CLOSING = (")", "END")
_LISTS = ("SELECT", "SELECT DISTINCT", "GROUP BY", "ORDER BY")


@dataclass
class _Part:
    """A line, the lines nested in it, and the lines that close it."""

    head: str
    inner: list[_Part] = field(default_factory=list)
    closing: list[_Part] = field(default_factory=list)

    @property
    def joined(self) -> str:
        """Return the part in one line."""
        text = self.head
        for part in (*self.inner, *self.closing):
            tight = text.endswith("(") or part.head.startswith(")")
            text += ("" if tight else " ") + part.joined
        return text


def laid_out(text: str, indent: int = 0) -> list[str]:
    """Lay out a query that was printed with one expression per line.

    `indent` is the indentation of the query. A returned line contains the line breaks of its names
    and text literals.
    """
    lines = _protected(text).split("\n")
    quoted = "".join(match["quoted"] or "" for match in _QUOTED.finditer(text))
    if "/*" not in quoted:  # no comment
        lines = _joined_lines(lines, indent)
    return [line.replace(_BREAK, "\n") for line in lines]


def indented(sql: str, by: str) -> str:
    """Indent the lines after the first, but not within names and text literals."""
    return re.sub(r"\n(?!\n)", "\n" + by, _protected(sql)).replace(_BREAK, "\n")


def _protected(sql: str) -> str:
    """Replace the line breaks in names and text literals."""
    return _QUOTED.sub(
        lambda match: match[0].replace("\n", _BREAK) if match["quoted"] else match[0], sql
    )


def _joined_lines(lines: Sequence[str], indent: int) -> list[str]:
    parts = _parts(lines)
    whole = " ".join(part.joined for part in parts)
    if len(whole) + indent <= WIDTH and not _COMMENT.search(whole):
        return [whole]
    return [line for part in parts for line in _lines(part, indent)]


def title_lines(title: str, indent: int = 0) -> list[str]:
    """Lay out a comment that describes the rows of a query."""
    if not title:
        return []
    return [f"-- {line}" for line in textwrap.wrap(title, WIDTH - indent - 3)]


def _parts(lines: Sequence[str]) -> list[_Part]:
    parts: list[_Part] = []
    place = 0
    while place < len(lines):
        line = lines[place]
        depth = _depth(line)
        end = place + 1
        while end < len(lines) and _depth(lines[end]) > depth:
            end += 1
        part = _Part(line.strip(), _parts(lines[place + 1 : end]))
        if parts and part.head.startswith(_CLOSING) and _is_open(parts[-1]):
            parts[-1].closing.append(part)
        else:
            parts.append(part)
        place = end
    return parts


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _is_open(part: _Part) -> bool:
    """Return whether a bracket or CASE is open at the end of a part."""
    return _n_open(part.joined) > 0


def _n_open(text: str) -> int:
    """Count the brackets and CASEs that are open at the end of a text."""
    text = _without_texts(text)
    words = re.findall(r"\bCASE\b|\bEND\b", text)
    return text.count("(") - text.count(")") + words.count("CASE") - words.count("END")


def _without_texts(text: str) -> str:
    """Replace text literals and names in quotes, which may hold anything, by as many letters."""
    return _QUOTED.sub(lambda match: "x" * len(match[0]) if match["quoted"] else match[0], text)


def _lines(part: _Part, indent: int) -> Iterator[str]:
    joined = part.joined
    comments = _COMMENT.findall(joined)
    if comments and not part.inner:
        for comment in comments:
            yield from title_lines(comment, indent)
        rest = _COMMENT.sub("", part.head).strip()
        if rest:
            yield rest
        return
    if len(joined) + indent <= WIDTH and not comments:
        yield joined
        return
    if not part.inner and not part.closing:
        yield from _broken(part.head, indent)
        return
    behind = [child for child in part.closing if _goes_on(child)]
    if behind:
        lines = list(_broken(joined, indent))
        is_product = any(child.inner for child in behind)  # of sums in brackets
        is_outside = all(_n_open(line) == 0 for line in lines)
        if (is_product or is_outside) and all(len(line) + indent <= WIDTH for line in lines):
            yield from lines
            return
    yield from _broken(part.head, indent)
    yield from (" " * _STEP + line for line in _inner_lines(part, indent + _STEP))
    for child in part.closing:
        yield from _lines(child, indent)


def _goes_on(closing: _Part) -> bool:
    """Does an expression go on behind its closing bracket?"""
    return closing.head.startswith(")") and (bool(closing.inner) or " " in closing.head)


def _inner_lines(part: _Part, indent: int) -> Iterator[str]:
    if part.head in _LISTS:
        yield from _filled(part.inner, indent)
        return
    whole = " ".join(child.joined for child in part.inner)
    if len(whole) + indent <= WIDTH and not _COMMENT.search(whole):
        yield whole
        return
    for child in part.inner:
        yield from _lines(child, indent)


def _filled(items: Sequence[_Part], indent: int) -> Iterator[str]:
    """Print the items of a list, several short ones per line."""
    line = ""
    for item in items:
        lines = list(_lines(item, indent))
        together = f"{line} {lines[0]}" if line else lines[0]
        if len(lines) == 1 and len(together) + indent <= WIDTH:
            line = together
            continue
        if line:
            yield line
        line = lines[0] if len(lines) == 1 else ""
        yield from lines if len(lines) > 1 else ()
    if line:
        yield line


_BREAKS = re.compile(r" (?:AND|OR|OVER|AS|\+|-|\*|/|\|\|) ")


def _broken(line: str, indent: int) -> Iterator[str]:
    """Break a long line before an operator, as far outside brackets and CASE as possible."""
    start = ""
    while len(start + line) + indent > WIDTH:
        places = [
            (
                _n_open(line[: match.start()]),
                match[0] == " OVER ",
                _joins_factors(match),
                -match.start(),
            )
            for match in _BREAKS.finditer(_without_texts(line))
            if 0 < match.start() <= WIDTH - indent - len(start)
        ]
        if not places:
            break
        place = -min(places)[-1]
        yield start + line[:place]
        start, line = " " * _STEP, line[place + 1 :]
    yield start + line


def _joins_factors(match: re.Match[str]) -> bool:
    """Would a break leave a product in two, or a very short line?"""
    return match[0] in (" * ", " / ") or match.start() < 5 * _STEP
