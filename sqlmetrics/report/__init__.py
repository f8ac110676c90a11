"""A report of a run: one HTML file with the leaderboard, charts, examples and the SQL."""

from __future__ import annotations

import functools
import html
from dataclasses import dataclass
from pathlib import Path

from sqlmetrics.errors import UsageError
from sqlmetrics.files import whole_file
from sqlmetrics.report.content import Content

_HEIGHT = 900  # pixels that a report takes in a notebook; the rest scrolls


@dataclass(frozen=True, repr=False)
class Report:
    """A report: its content, and the page that shows it.

    In a notebook it shows itself. It needs neither the evaluator nor the tables any more.
    """

    content: Content

    @functools.cached_property
    def html(self) -> str:
        """The page: one HTML file that loads nothing."""
        from sqlmetrics.report.page import page

        return page(self.content)

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the page to a file, whole or not at all; an existing one only with `force`.

        Raises:
            UsageError: the name does not end in .html.
            DataError: the file exists, or cannot be written.
        """
        check_name(path)
        with whole_file(Path(path), force) as temporary:
            temporary.write_text(self.html, encoding="utf-8")

    def __repr__(self) -> str:
        return f"<Report {self.content.title!r}: save(path) writes it>"

    def _repr_html_(self) -> str:
        # in a frame, the styles and scripts of the page and of the notebook do not meet
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" title="{html.escape(self.content.title)}" '
            f'style="width: 100%; height: {_HEIGHT}px; border: 0" '
            'sandbox="allow-scripts allow-popups"></iframe>'
        )


def check_name(path: str | Path) -> None:
    """Check that a report can have this name.

    Raises:
        UsageError: it does not end in .html.
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{path}: a report is a page; end its name in .html")
