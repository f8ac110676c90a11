"""The page of a report in a browser, with the network off and hostile names in every field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sqlmetrics.report.page import page as html_of
from tests.browser.made_up import CLOSING, HOSTILE, IMAGE, METRICS, RTL, SCRIPT, TEMPLATE, content

if TYPE_CHECKING:
    from playwright.sync_api import Page

Open = Callable[..., "Page"]
Keep = Callable[["Page", str], None]

CHARTS = 3
MARKS = "svg .mark-symbol.role-mark path"


def positions(page: Page) -> list[str | None]:
    """Return where the points of the first chart are."""
    marks = page.locator("#figure-values .chart").locator(MARKS)
    return [mark.get_attribute("transform") for mark in marks.all()]


def test_hostile_texts_are_only_text(opened: Open) -> None:
    page = opened()
    page.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    text = page.locator("body").inner_text()
    for hostile in (SCRIPT, IMAGE, CLOSING, TEMPLATE, RTL):
        assert hostile in text
    n_scripts = 2 + CHARTS  # the page's, Vega's, and data
    assert page.locator("script").count() == n_scripts
    assert page.locator("img, iframe, object, embed, link, base, [onerror], [onload]").count() == 0
    assert page.title() == f"Report on {SCRIPT}"


def test_every_chart_is_drawn(opened: Open) -> None:
    page = opened()
    assert page.locator("html").get_attribute("data-drawn") == str(CHARTS)
    for chart in page.locator(".chart").all():
        assert chart.locator("svg .role-mark path, svg .role-mark line").count() > 0
        assert chart.get_attribute("role") == "img"
        assert IMAGE in (chart.get_attribute("aria-label") or "")
    labels = page.locator("#figure-values svg .role-axis-label text").all_text_contents()
    assert {SCRIPT, TEMPLATE} <= set(labels)


def test_nothing_of_a_chart_is_cut_off(opened: Open) -> None:
    page = opened()
    for width in (1280, 700, 360):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(400)
        outside = page.evaluate(
            """() => [...document.querySelectorAll(".chart svg")].flatMap((svg) => {
              const place = svg.getBoundingClientRect();
              const drawn = svg.querySelector("g").getBoundingClientRect();
              const fits = drawn.top > place.top - 3 && drawn.bottom < place.bottom + 3
                && drawn.left > place.left - 3 && drawn.right < place.right + 3;
              const wide = Math.abs(place.width - svg.closest(".chart").clientWidth) < 2;
              return fits && wide ? [] : [JSON.stringify([place, drawn])];
            })"""
        )
        assert outside == [], width


def test_a_select_changes_what_is_drawn(opened: Open) -> None:
    page = opened()
    select = page.get_by_role("combobox", name="Metric")
    assert select.locator("option").all_text_contents() == list(METRICS)
    before = positions(page)
    select.select_option(label=METRICS[2])
    page.wait_for_timeout(200)
    assert len(before) == len(positions(page)) == len(HOSTILE)
    assert positions(page) != before
    box = select.bounding_box()
    assert box is not None
    assert box["height"] >= 24


def test_a_tooltip_is_text(opened: Open) -> None:
    page = opened()
    for n, name in enumerate(HOSTILE[:4]):
        page.locator("#figure-values .chart").locator(MARKS).nth(n).hover(force=True)
        tooltip = page.locator("#vg-tooltip-element.visible")
        tooltip.wait_for()
        assert name in tooltip.inner_text()
        assert tooltip.locator("script, img").count() == 0


@pytest.mark.parametrize("clipboard", [True, False])
def test_copy(opened: Open, clipboard: bool) -> None:
    without = "Object.defineProperty(navigator, 'clipboard', {value: undefined})"
    granted = {"permissions": ["clipboard-read", "clipboard-write"]}
    page = opened("" if clipboard else without, **granted)
    page.evaluate(
        "document.addEventListener('copy', () => (window.asked = String(getSelection())))"
    )
    page.get_by_text("Show the statement").click()
    page.get_by_role("button", name="Copy the complete statement").click()
    page.get_by_role("status").get_by_text("Copied").wait_for(state="attached")
    copied = page.evaluate("navigator.clipboard?.readText() ?? window.asked")
    assert copied == content().statement


def test_what_cannot_be_copied_is_selected(opened: Open) -> None:
    page = opened(
        "Object.defineProperty(navigator, 'clipboard', {value: undefined});"
        "document.execCommand = () => false"
    )
    page.get_by_text("Show the statement").click()
    page.get_by_role("button", name="Copy the complete statement").click()
    page.get_by_role("status").get_by_text("Selected").wait_for(state="attached")
    assert page.evaluate("String(getSelection())") == content().statement


def colors(page: Page) -> tuple[str, str, str]:
    """Return the computed colours of the page, its text, and a mark."""
    mark = page.locator("#figure-values .chart").locator(MARKS).first
    fill = "(element) => getComputedStyle(element).fill"
    of_body = "(name) => getComputedStyle(document.body)[name]"
    paper, ink = page.evaluate(of_body, "backgroundColor"), page.evaluate(of_body, "color")
    return paper, ink, mark.evaluate(fill)


def test_the_theme_changes_all_colours_and_is_kept(opened: Open) -> None:
    page = opened(color_scheme="light")
    button = page.get_by_role("button", name="Theme")
    light = colors(page)
    button.click()
    assert (button.inner_text(), colors(page)) == ("Theme: light", light)
    button.click()
    dark = colors(page)
    assert button.inner_text() == "Theme: dark"
    assert all(one != other for one, other in zip(light, dark, strict=True))
    page.reload()
    page.wait_for_selector("html[data-drawn]")
    assert colors(page) == dark
    assert colors(opened(color_scheme="dark")) == dark


def test_a_browser_that_keeps_nothing(opened: Open) -> None:
    page = opened(
        "Object.defineProperty(window, 'localStorage', {get() { throw new Error('refused') }})"
    )
    button = page.get_by_role("button", name="Theme")
    button.click()
    assert button.inner_text() == "Theme: light"


def test_the_keyboard_reaches_every_control(opened: Open) -> None:
    page = opened(viewport={"width": 360, "height": 800})
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                """() => {
                  const element = document.activeElement;
                  const style = getComputedStyle(element);
                  const seen = style.outlineStyle !== "none" ? "" : " without outline";
                  return (element.className || element.tagName.toLowerCase()) + seen;
                }"""
            )
        )
    assert reached[0] == "skip"
    assert {"theme", "scroll", "summary", "select", "a"} <= set(reached)
    assert [name for name in reached if "without outline" in name and "body" not in name] == []


def test_a_phone_does_not_scroll_sideways(opened: Open, keep_picture: Keep) -> None:
    page = opened(viewport={"width": 360, "height": 800})
    keep_picture(page, "phone")
    page.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_print_is_light_and_without_controls(opened: Open) -> None:
    light = colors(opened(color_scheme="light"))
    page = opened(color_scheme="dark")
    page.get_by_role("button", name="Theme").click(click_count=2)
    page.emulate_media(media="print")
    paper, ink, mark = colors(page)
    assert (paper, ink, mark) == (light[0], "rgb(0, 0, 0)", light[2])
    for hidden in (".theme", ".bar", ".controls", ".copy", "#statement", ".numbers > summary"):
        assert not any(element.is_visible() for element in page.locator(hidden).all()), hidden
    assert len(page.pdf()) > 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(opened: Open, keep_picture: Keep, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = opened(color_scheme=scheme, bypass_csp=True, reduced_motion="reduce")
    keep_picture(page, scheme)
    page.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    results = Axe().run(page)
    assert [
        (violation["id"], [node["html"][:200] for node in violation["nodes"]])
        for violation in results.response["violations"]
    ] == []


def test_a_chart_that_cannot_be_drawn_says_so(opened: Open, tmp_path: Path) -> None:
    made_up = content()
    section = made_up.sections[0]
    broken = replace(section.figures[0], chart={"mark": "no such mark", "encoding": {}})
    sections = [replace(section, figures=[broken])]
    path = tmp_path / "broken.html"
    path.write_text(html_of(replace(made_up, sections=sections)), encoding="utf-8")
    page = opened(path=path)
    assert "could not be drawn" in page.locator("#figure-values .chart").inner_text()
