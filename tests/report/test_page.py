"""Parse the HTML of a report: users' names are only text, and the page loads nothing.

tests/browser opens the same page in a browser.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from sqlmetrics.errors import UsageError
from sqlmetrics.report import page as laid_out
from tests.support.report_html import HOSTILE, Read, content


@pytest.fixture
def html(bundle: None) -> str:  # noqa: ARG001
    return laid_out.page(content(HOSTILE))


def test_hostile_texts_stand_only_as_text(html: str) -> None:
    hostile, plain = Read(html), Read(laid_out.page(content("harmless")))
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in plain.tags]
    assert [sorted(of) for _, of in hostile.tags] == [sorted(of) for _, of in plain.tags]
    whole = "\0".join(hostile.texts)
    assert whole.count(HOSTILE) == "\0".join(plain.texts).count("harmless")
    assert hostile.inside.count("script") == 0


def test_the_data_of_charts_is_read_as_it_was_written(html: str) -> None:
    data = [text for attributes, text in Read(html).scripts if attributes.get("type")]
    assert [json.loads(text) for text in data] == [content(HOSTILE).sections[0].figures[0].chart]
    assert not any(char in text for text in data for char in "<>&\u2028\u2029")


def test_the_policy_allows_the_scripts_of_the_page_and_no_others(html: str) -> None:
    read = Read(html)
    policy = next(of["content"] for _, of in read.tags if "http-equiv" in of) or ""
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    scripts = [text for attributes, text in read.scripts if not attributes.get("type")]
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    assert rules["script-src"].split() == [f"'sha256-{one}'" for one in hashes]
    assert rules["default-src"] == "'none'"
    assert len(scripts) == 2
    tags = [tag for tag, _ in read.tags]
    assert tags.index("meta") < tags.index("script")


def test_nothing_comes_from_elsewhere(html: str) -> None:
    for tag, attributes in Read(html).tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form"), tag
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")
        assert not any(name.startswith("on") or name == "style" for name in attributes)
    assert not re.search(r"url\(|@import", laid_out._file("page.css"))


def test_a_page_is_small() -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    html = laid_out.page(content("harmless"))
    assert 500_000 < len(html.encode()) < 2_000_000
    assert len(Read(html).scripts) == 3


def test_ids_are_unique_and_links_lead_somewhere(html: str) -> None:
    attributes = [of for _, of in Read(html).tags]
    ids = [of["id"] for of in attributes if "id" in of]
    assert len(ids) == len(set(ids))
    named = {(of.get("href") or "")[1:] for of in attributes if "href" in of}
    named |= {of["aria-labelledby"] or "" for of in attributes if "aria-labelledby" in of}
    assert named <= set(ids)


def test_headings_are_in_order(html: str) -> None:
    levels = [int(tag[1]) for tag, _ in Read(html).tags if re.fullmatch(r"h\d", tag)]
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))


def test_empty_parts_leave_no_headings(html: str) -> None:
    assert "No recommendations." not in html
    bare = Read(laid_out.page(content("harmless", bare=True)))
    headings = [tag for tag, _ in bare.tags if re.fullmatch(r"h\d", tag)]
    assert headings == ["h1", "h2"]
    assert [text for text in bare.texts if "no warnings" in text]
    assert len(bare.scripts) == 1  # no charts, no Vega


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, "–"),
        (float("nan"), "–"),
        ("a", "a"),
        (1234567, "1,234,567"),
        (-3, "−3"),
        (0.0, "0"),
        (0.25, "0.2500"),
        (0.99999, "1.000"),
        (-0.0123456, "−0.01235"),
        (12345.678, "12,346"),
        (1.5e-7, "1.500e−07"),
        (float("inf"), "∞"),
    ],
)
def test_cells(cell: Any, text: str) -> None:
    assert laid_out.shown(cell) == text


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        ([0.1603, 0.04161, 0.009694], ["0.1603", "0.0416", "0.0097"]),
        ([0.5, 0.0, None, 1.2e-7], ["0.5000", "0.0000", "–", "1.200e−07"]),
        ([-12.346, 1234.5, 0.2], ["−12", "1,234", "0.2000"]),
        ([0.99999, 0.5], ["1.000", "0.500"]),
        ([3, 1200], ["3", "1,200"]),
        ([1e-9, 2e-9], ["1.000e−09", "2.000e−09"]),
    ],
)
def test_numbers_of_a_column_are_aligned(column: list[Any], texts: list[str]) -> None:
    places = laid_out._places(column)
    assert [laid_out.shown(cell, places) for cell in column] == texts


def test_the_result_and_what_differs_are_at_the_top() -> None:
    html = laid_out.page(
        replace(content("harmless"), result=f"{HOSTILE} is best", differs="ties = row")
    )
    texts = Read(html).texts
    assert texts.index(f"{HOSTILE} is best") < texts.index("ties = row")
    assert 'class="result"' not in laid_out.page(content("harmless"))


def test_a_number_that_json_lacks_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        laid_out._as_json({"value": float("nan")})


@pytest.mark.parametrize("name", ["altair", "vl_convert"])
def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    other = {"altair": "vl_convert", "vl_convert": "altair"}[name]
    monkeypatch.setitem(sys.modules, other, sys)  # any module
    laid_out._vega.cache_clear()
    with pytest.raises(UsageError, match=r"pip install 'sqlmetrics\[report\]'"):
        laid_out.page(content("harmless"))
