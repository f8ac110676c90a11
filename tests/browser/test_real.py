"""A report of real tables, whose names are hostile: all of its charts and controls work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from sqlmetrics import DataWarning, Evaluator
from tests.browser.made_up import HOSTILE
from tests.support.paths import DATA

if TYPE_CHECKING:
    from playwright.sync_api import Page

Open = Callable[..., "Page"]
MODELS = ("als", "item_knn", "popular")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of the demo data, of which names are hostile."""
    lists = pd.concat(
        pd.read_parquet(DATA / f"recommendations_{model}.parquet").assign(model=name)
        for model, name in zip(MODELS, HOSTILE, strict=False)
    )
    users = pd.read_parquet(DATA / "users.parquet")
    countries = sorted(users["country"].unique())
    users["country"] = users["country"].map(dict(zip(countries, HOSTILE * 3, strict=False)))
    items = pd.read_parquet(DATA / "items.parquet")
    items["title"] = [HOSTILE[number % len(HOSTILE)] for number in range(len(items))]
    groups = sorted(items["item_group"].unique())
    items["item_group"] = items["item_group"].map(dict(zip(groups, HOSTILE * 4, strict=False)))
    path = tmp_path_factory.mktemp("real") / "report.html"
    with Evaluator(
        lists,
        DATA / "interactions.parquet",
        history=DATA / "history.parquet",
        items=items,
        users=users,
    ) as evaluator:
        with pytest.warns(DataWarning):  # of seen items, ties and low grades
            report = evaluator.report(title=HOSTILE[0])
        report.save(path)
    return path


def drawn(page: Page) -> list[str]:
    """Return what every chart shows, as SVG."""
    return [str(chart.inner_html()) for chart in page.locator(".chart svg").all()]


def test_every_chart_is_drawn_and_every_control_works(opened: Open, real: Path) -> None:
    page = opened(path=real)
    n_charts = page.locator(".chart").count()
    assert n_charts > 15
    assert page.locator("html").get_attribute("data-drawn") == str(n_charts)
    for chart in page.locator(".chart").all():
        assert chart.locator("svg .role-mark path, svg .role-mark line").count() > 0
    selects = page.locator("figure select").all()
    assert len(selects) >= 10
    for select in selects:
        n_options = select.locator("option").count()
        assert n_options > 1
        before = drawn(page)
        select.select_option(index=n_options - 1)
        page.wait_for_timeout(100)
        assert sum(one != other for one, other in zip(before, drawn(page), strict=True)) == 1
    assert page.locator("img, iframe, object, embed, link, base, [onerror]").count() == 0
    page.set_viewport_size({"width": 360, "height": 800})
    page.wait_for_timeout(400)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_every_column_of_the_leaderboard_is_visible(opened: Open, real: Path) -> None:
    page = opened(path=real, viewport={"width": 1280, "height": 800})
    board = page.locator("#leaderboard .scroll")
    assert board.locator("thead th").count() >= 10
    assert board.evaluate("(board) => board.scrollWidth <= board.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("header .result").inner_text().startswith(HOSTILE[0])


def test_hidden_pages_of_notebooks_work(opened: Open, real: Path, tmp_path: Path) -> None:
    """In a notebook the page is in a frame without an origin, which may store nothing."""
    import html

    frame = html.escape(real.read_text(encoding="utf-8"))
    path = tmp_path / "notebook.html"
    path.write_text(
        "<!doctype html><html data-drawn='1'><title>notebook</title>"
        f'<iframe srcdoc="{frame}" sandbox="allow-scripts allow-popups" style="width: 900px; '
        'height: 700px"></iframe>',
        encoding="utf-8",
    )
    page = opened(path=path)
    inner = page.frame_locator("iframe")
    inner.locator("html[data-drawn]").wait_for()
    assert inner.locator(".chart svg").count() > 15
