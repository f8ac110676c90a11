"""A report with a text in every place, and its HTML read by a parser."""

from __future__ import annotations

from html.parser import HTMLParser

from sqlmetrics.report.content import (
    Content,
    Definition,
    Example,
    ExampleList,
    Figure,
    FigureTable,
    Leaderboard,
    Listed,
    Score,
    Section,
    Warned,
)

HOSTILE = (
    "</script></style></pre><!--<script>alert('1')</script>"
    '<img src=x onerror="a">&amp;{{7*7}}\u2028'
)
BUNDLE = "window.vegaEmbed = (a, b) => '</script><!--<script>';"


class Read(HTMLParser):
    """Collects the tags, attributes, scripts and texts of a page."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.texts: list[str] = []
        self.inside: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside.append(tag)
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        assert tag in self.inside, tag
        while self.inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self.inside and self.inside[-1] == "script":
            attributes, text = self.scripts.pop()
            self.scripts.append((attributes, text + data))
        else:
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def content(text: str, *, bare: bool = False) -> Content:
    """Return a report with the text wherever a user's may stand."""
    chart = {"data": {"values": [{"model": text, "value": 1.5}]}, "mark": "bar", "title": text}
    table = FigureTable((text, "value"), [(text, 1.5), (text, None)])
    sections = [
        Section("one", text, text, [Figure("a", text, text, chart, text, table, text)]),
        Section("two", text, "", [Figure("b", text, table=table)]),
        Section("none", "Nothing", "", []),
    ]
    lists = [ExampleList(text, 0.5, [Listed(1, text, True), Listed(2, text, False)])]
    return Content(
        title=text,
        facts=[] if bare else [(text, text)],
        warnings=[] if bare else [Warned("warning", text, text, text)],
        leaderboard=Leaderboard([text], [(text, 7, [Score(0.5, 0.4, 0.6, "best")])], text),
        sections=[] if bare else sections,
        definitions=[]
        if bare
        else [Definition(text, text, text, [(text, text)], [(text, text)], text)],
        statement="" if bare else text,
        made_by=text,
        examples=() if bare else [Example(text, "best", 3, [text], lists)],
        examples_text=text,
    )
