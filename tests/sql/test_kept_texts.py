"""Texts of macros are kept between processes, unless they name addresses."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlmetrics.sql import kept_texts, templates
from sqlmetrics.sql.kept_texts import kept_macro

CAN_KEEP = kept_texts._can_keep  # before tests/conftest.py replaces it


@pytest.fixture
def rendered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Return the names of the macros that Jinja renders, while texts are kept."""
    names: list[str] = []

    def noted(name: str) -> object:
        names.append(name)
        return templates.macro(name)

    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: tmp_path / "cache")
    monkeypatch.setattr(kept_texts, "_can_keep", CAN_KEEP)
    monkeypatch.setattr(kept_texts, "macro", noted)
    kept_texts._cache.cache_clear()
    yield names
    kept_texts._cache.cache_clear()


def test_a_text_is_rendered_once_for_each_choice_of_arguments(rendered: list[str]) -> None:
    first = kept_macro("source_parquet")("a.parquet", None)
    assert first == "read_parquet('a.parquet')"
    assert kept_macro("source_parquet")("a.parquet", None) == first
    assert rendered == ["source_parquet"]
    assert "b.parquet" in kept_macro("source_parquet")(["a.parquet", "b.parquet"], None)
    assert "file_row_number" in kept_macro("source_parquet")("a.parquet", None, in_order=True)
    assert len(rendered) == 3


def test_texts_about_addresses_are_not_kept(rendered: list[str], tmp_path: Path) -> None:
    for _ in range(2):
        assert "secret" in kept_macro("source_parquet")("https://me:secret@host/a.parquet", None)
    assert len(rendered) == 2
    assert not list(tmp_path.rglob("*.pickle"))


def test_a_text_of_other_templates_is_not_read(
    rendered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept_macro("row_in_parquet")()
    kept_texts._cache.cache_clear()
    monkeypatch.setattr(kept_texts, "state_of_sources", lambda: "a template was edited")
    kept_macro("row_in_parquet")()
    assert len(rendered) == 2
