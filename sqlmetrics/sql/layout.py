"""Lay out printed SQL: join lines that fit into one, and break expressions that do not.

The parser's printer writes every expression on a separate line and indents nested expressions.
This module joins such lines again, up to the maximum line length. An expression that is longer is
broken by its structure: at its weakest operators, or where its brackets open.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sqlmetrics.sql.dialects import NATIVE, has_escapes

WIDTH = 100
_STEP = 4
_SHORT = 20  # a break before the next term would leave a very short line
# names and text literals, but not those inside of comments
_COMMENTED = r"--[^\n]*|/\*.*?\*/|"
_QUOTED = _COMMENTED + r"""(?P<quoted>'[^']*'|"[^"]*"|`[^`]*`)"""
_ESCAPED = _COMMENTED + r"""(?P<quoted>'(\\.|[^'\\])*'|"(\\.|[^"\\])*"|`(\\.|[^`\\])*`)"""
_HIDDEN, _REST = "\ue000", "\ue001"  # instead of their characters; private characters mean nothing
_COMMENT = re.compile(r"\s*/\*\s*(.*?)\s*\*/")
_LISTS = ("SELECT", "SELECT DISTINCT", "GROUP BY", "ORDER BY")
_CLAUSE = re.compile(
    r"(SELECT|FROM|WHERE|GROUP|HAVING|QUALIFY|ORDER|LIMIT|ON|UNION|EXCEPT|INTERSECT"
    r"|([A-Z]+ )*JOIN)\b"
)
_OPENING, _CLOSING = ("(", "[", "CASE"), (")", "]", "END")
# where an expression is broken, the weakest operators first
_KEYWORDS = (
    "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "ROWS", "RANGE", "WHEN", "THEN", "ELSE"
)  # fmt: skip
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
_LOGICAL = (("OR",), ("AND",))
_BREAKS = (
    _KEYWORDS, *_LOGICAL, _COMPARISONS, ("||",), ("+", "-"), ("*", "/"), ("OVER",),
)  # fmt: skip
_TOKENS = re.compile(
    r"[(\[\])]|\bCASE\b(?: \w+(?= WHEN))?|\bEND\b|,|(?<!DISTINCT)(?<!WITHIN) (?:BETWEEN|AS|"
    + "|".join(re.escape(word) for words in _BREAKS for word in words)
    + ")(?= )"
)


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


def laid_out(text: str, indent: int = 0, dialect: str = NATIVE) -> list[str]:
    """Lay out a query that was printed with one expression per line.

    `indent` is the indentation of the query. A returned line contains the line breaks of its names
    and text literals.
    """
    hidden, quoted = _hidden(text, dialect)
    lines = hidden.split("\n")
    with contextlib.suppress(RecursionError):  # of deeply nested brackets
        lines = _joined_lines(lines, indent)
    return [_shown(line, quoted) for line in lines]


def indented(sql: str, by: str, dialect: str = NATIVE) -> str:
    """Indent the lines after the first, but not within names and text literals."""
    hidden, quoted = _hidden(sql, dialect)
    return _shown(re.sub(r"\n(?!\n)", "\n" + by, hidden), quoted)


def _hidden(sql: str, dialect: str) -> tuple[str, Iterator[str]]:
    """Replace names and text literals, which may hold anything, by as many private characters."""
    quoted: list[str] = []

    def hidden(match: re.Match[str]) -> str:
        if match["quoted"] is None:
            return match[0]
        quoted.append(match[0])
        return _HIDDEN + _REST * (len(match[0]) - 1)

    pattern = _ESCAPED if has_escapes(dialect) else _QUOTED
    return re.sub(pattern, hidden, sql, flags=re.DOTALL), iter(quoted)


def _shown(line: str, quoted: Iterator[str]) -> str:
    return re.sub(f"{_HIDDEN}{_REST}*", lambda _: next(quoted), line)


def _joined_lines(lines: Sequence[str], indent: int) -> list[str]:
    parts = _parts(lines)
    whole = " ".join(part.joined for part in parts)
    if _fits(whole, indent) and not _COMMENT.search(whole):
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
        if parts and part.head.startswith((")", "END")) and _is_open(parts[-1]):
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
    words = re.findall(r"\bCASE\b|\bEND\b", text)
    return text.count("(") - text.count(")") + words.count("CASE") - words.count("END")


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
    if not comments and (_fits(joined, indent) or not _CLAUSE.match(part.head)):
        yield from _expression(joined, indent)
        return
    yield from _expression(part.head, indent)
    yield from (" " * _STEP + line for line in _inner_lines(part, indent + _STEP))
    for child in part.closing:
        yield from _lines(child, indent)


def _inner_lines(part: _Part, indent: int) -> Iterator[str]:
    if part.head in _LISTS:
        yield from _filled(part.inner, indent)
        return
    whole = " ".join(child.joined for child in part.inner)
    if _fits(whole, indent) and not _COMMENT.search(whole):
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
        if len(lines) == 1 and _fits(together, indent):
            line = together
            continue
        if line:
            yield line
        line = lines[0] if len(lines) == 1 else ""
        yield from lines if len(lines) > 1 else ()
    if line:
        yield line


def _fits(line: str, indent: int) -> bool:
    return len(line) + indent <= WIDTH


@dataclass
class _Places:
    """Where an expression can be broken, outside brackets and CASE.

    `groups`: the starts and ends of the contents of brackets and CASEs. `words`: for each operator
    and keyword, the places of the spaces before it. `commas`: the places behind commas.
    """

    groups: list[tuple[int, int]] = field(default_factory=list)
    words: dict[str, list[int]] = field(default_factory=dict)
    commas: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, text: str) -> _Places:
        """Find the places of a text."""
        places, depth, start, is_between = cls(), 0, 0, False
        for match in _TOKENS.finditer(text):
            word = match[0].strip()
            if word.startswith(_OPENING):
                start, depth = match.end() if depth == 0 else start, depth + 1
            elif word in _CLOSING:
                depth -= 1
                if depth == 0:
                    places.groups.append((start, match.start()))
            elif depth == 0 and word == ",":
                places.commas.append(match.end())
            elif depth == 0 and not (is_between and word == "AND"):
                places.words.setdefault(word, []).append(match.start())
                is_between = word == "BETWEEN"
        return places


def _expression(text: str, indent: int) -> list[str]:
    """Lay out an expression; its alias stays on the last line if it fits."""
    if _fits(text, indent):
        return [text]
    words = _Places.of(text).words
    if "AS" not in words or not words.keys().isdisjoint(_KEYWORDS):
        return [*_broken(text, indent)]
    place = words["AS"][-1]
    *lines, last = _broken(text[:place], indent)
    alias = text[place:]
    if _fits(last + alias, indent):
        return [*lines, last + alias]
    return [*lines, last, *_moved([alias.strip()], _STEP)]


@functools.lru_cache(maxsize=1024)  # the terms inside of terms are tried more than once
def _broken(text: str, indent: int) -> tuple[str, ...]:
    """Break an expression at operators outside brackets, or else open its longest brackets."""
    if _fits(text, indent):
        return (text,)
    places = _Places.of(text)
    splits = [
        (words, _pieces(text, [at for word in words for at in places.words.get(word, ())]))
        for words in _BREAKS
        if not places.words.keys().isdisjoint(words)
    ]
    if splits and splits[0][0] in (_KEYWORDS, *_LOGICAL):  # every part on a line
        words, (first, *others) = splits[0]
        step = 0 if words == _KEYWORDS else _STEP
        below = (_moved(_expression(part, indent + step), step) for part in others)
        return *_expression(first, indent), *itertools.chain(*below)
    for _, terms in splits:
        fit = _fits(terms[0], indent) and all(_fits(term, indent + _STEP) for term in terms[1:])
        if fit or len(terms[0]) >= _SHORT:
            return tuple(_terms(terms, indent))
    if splits:
        return tuple(_terms(splits[0][1], indent))
    if any(at < len(text) for at in places.commas):  # keys
        return tuple(_terms(_pieces(text, places.commas), indent))
    if not places.groups:
        return (text,)
    start, end = max(places.groups, key=lambda group: group[1] - group[0])
    inner = _contents(text[start:end].strip(), indent + _STEP)
    return text[:start], *_moved(inner, _STEP), text[end:]


def _terms(terms: Sequence[str], indent: int) -> list[str]:
    """Lay out the terms of an operation: as many per line as fit, long ones in open brackets."""
    lines, step = [*_broken(terms[0], indent)], 0
    for term in terms[1:]:
        together = f"{lines[-1]} {term}"
        if _fits(together, indent):
            lines[-1] = together
            continue
        opened = _broken(term, indent + step)
        if len(opened) == 1:  # too long on a line of its own
            opened = _broken(term, indent + _STEP)
        together = f"{lines[-1]} {opened[0]}"
        if opened[0].endswith(_OPENING) and _fits(together, indent):
            lines[-1:] = [together, *_moved(opened[1:], step)]
        else:
            step = _STEP
            lines += _moved(_broken(term, indent + step), step)
    return lines


def _contents(text: str, indent: int) -> list[str]:
    """Lay out the contents of brackets: in one line, or every argument on a line."""
    places = _Places.of(text)
    if _fits(text, indent) or not places.words.keys().isdisjoint(_KEYWORDS):
        return _expression(text, indent)
    return [line for piece in _pieces(text, places.commas) for line in _expression(piece, indent)]


def _pieces(text: str, places: Iterable[int]) -> list[str]:
    ends = [*sorted(places), len(text)]
    return [text[start:end].strip() for start, end in itertools.pairwise([0, *ends])]


def _moved(lines: Iterable[str], by: int) -> list[str]:
    return [" " * by + line for line in lines]
