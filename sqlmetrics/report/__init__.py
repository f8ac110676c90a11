"""The report of a run: one HTML file with the leaderboard, charts, examples and SQL."""

from __future__ import annotations

import functools
import html
from dataclasses import dataclass
from pathlib import Path

from sqlmetrics.errors import UsageError
from sqlmetrics.files import whole_file
from sqlmetrics.report.content import Content

_HEIGHT = 900  # pixels of the frame in a notebook; the page scrolls inside it


@dataclass(frozen=True, repr=False)
class Report:
    """A report: its content and its HTML page.

    Notebooks display it as the last value of a cell. It stays usable after the evaluator is closed
    and the tables are gone.
    """

    content: Content

    @functools.cached_property
    def html(self) -> str:
        """The page as one self-contained HTML document."""
        from sqlmetrics.report.page import page

        return page(self.content)

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the page to a file; a failed write leaves no partial file.

        Args:
            path: the file name, which must end in .html or .htm.
            force: overwrite an existing file.

        Raises:
            UsageError: the file name does not end in .html.
            DataError: the file exists and `force` is not set, or the file cannot be written.
        """
        check_name(path)
        with whole_file(Path(path), force) as temporary:
            temporary.write_text(self.html, encoding="utf-8", newline="")

    def __repr__(self) -> str:
        return f"<Report {self.content.title!r}: call save(path) to write it to a file>"

    def _repr_html_(self) -> str:
        # a frame keeps the styles and scripts of the page and the notebook apart
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" title="{html.escape(self.content.title)}" '
            f'style="width: 100%; height: {_HEIGHT}px; border: 0" '
            'sandbox="allow-scripts allow-popups"></iframe>'
        )


def check_name(path: str | Path) -> None:
    """Check that a report can be saved under this file name.

    Raises:
        UsageError: the name does not end in .html.
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{path}: a report is an HTML file; use a file name that ends in .html")
