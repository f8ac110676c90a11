"""Find the prose of the repository, and the turns of phrase that it should not use."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.support.paths import ROOT

# a fenced block, an HTML comment, the target of a link, a URL, code between backticks
_NOT_PROSE_IN_MARKDOWN = re.compile(
    r"^(?P<fence> *(?:```|~~~))[^\n]*\n.*?^(?P=fence) *$"
    r"|<!--.*?-->|(?<=\])\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)|https?://\S+|(?P<ticks>`+).+?(?P=ticks)",
    re.DOTALL | re.MULTILINE,
)
_NOT_PROSE_IN_TEXT = re.compile(r"(?P<ticks>`+).+?(?P=ticks)|https?://\S+", re.DOTALL)
_MARGIN = re.compile(r"^[ \t]*(?:#|--|//)[ \t]?", re.MULTILINE)


@dataclass(frozen=True)
class Phrase:
    """A turn of phrase that a regular expression finds, and what to write instead."""

    pattern: str
    instead: str
    ignore_case: bool = True

    def compiled(self) -> re.Pattern[str]:
        """Compile the pattern; a space in it also matches a line break."""
        flags = re.IGNORECASE if self.ignore_case else re.NOFLAG
        return re.compile(self.pattern.replace(" ", r"\s+"), flags)


@dataclass(frozen=True)
class Passage:
    """A stretch of prose: a page, a string literal or a comment."""

    file: str
    line: int
    text: str


def find(passages: Iterable[Passage], phrases: Iterable[Phrase]) -> list[str]:
    """Return one line per occurrence: file, line, the words found and what to write instead."""
    compiled = [(phrase, phrase.compiled()) for phrase in phrases]
    found = []
    for passage in passages:
        for phrase, pattern in compiled:
            for match in pattern.finditer(passage.text):
                line = passage.line + passage.text.count("\n", 0, match.start())
                words = " ".join(match.group().split())
                found.append(f"{passage.file}:{line}: {words!r}: write {phrase.instead}")
    return sorted(found)


def markdown(file: str, text: str) -> Passage:
    """Return a page without code, comments and addresses; its line numbers stay the same."""
    return Passage(file, 1, _NOT_PROSE_IN_MARKDOWN.sub(_blank, text))


def python(file: str, source: str) -> Iterator[Passage]:
    """Return the docstrings, the other string literals and the comments of a module."""
    in_f_strings = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            parts = [
                part.value if isinstance(part, ast.Constant) else "`…`" for part in node.values
            ]
            in_f_strings |= {id(part) for part in node.values}
            yield _passage(file, node.lineno, "".join(map(str, parts)))
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in in_f_strings
            and " " in node.value
        ):
            yield _passage(file, node.lineno, node.value)
    for kind, text, (line, _), _, _ in tokenize.generate_tokens(io.StringIO(source).readline):
        if kind == tokenize.COMMENT:
            yield _passage(file, line, text.lstrip("# "))


def template(file: str, source: str) -> Passage:
    """Return the front matter and the comments of a template; the SQL is blank."""
    prose = re.compile(r"\{#.*?#\}|--[^\n]*", re.DOTALL)
    kept = []
    end = 0
    for match in prose.finditer(source):
        kept += ["\n" * source.count("\n", end, match.start()), _MARGIN.sub("", match.group())]
        end = match.end()
    return _passage(file, 1, "".join(kept))


def pages() -> list[Passage]:
    """Return README.md, CHANGELOG.md, GLOSSARY.md and the pages of docs."""
    files = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "GLOSSARY.md"]
    files += sorted((ROOT / "docs").rglob("*.md"))
    return [
        markdown(file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8"))
        for file in files
    ]


def package() -> list[Passage]:
    """Return the texts of sqlmetrics and sql_templates, help texts and messages among them."""
    passages: list[Passage] = []
    for file in sorted((ROOT / "sqlmetrics").rglob("*.py")):
        passages += python(file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8"))
    for file in sorted((ROOT / "sql_templates").rglob("*.*")):
        if file.suffix in {".j2", ".sql"}:
            text = file.read_text(encoding="utf-8")
            passages.append(template(file.relative_to(ROOT).as_posix(), text))
    return passages


def _passage(file: str, line: int, text: str) -> Passage:
    return Passage(file, line, _NOT_PROSE_IN_TEXT.sub(_blank, text))


def _blank(match: re.Match[str]) -> str:
    return "`…`" + "\n" * match.group().count("\n")
