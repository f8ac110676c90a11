"""Compiled templates are kept between processes, and never trusted blindly."""

from __future__ import annotations

import sys
from pathlib import Path

import jinja2
import pytest

from sqlmetrics.sql.compiled_templates import CompiledTemplates


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: tmp_path / "cache")
    return tmp_path / "cache" / "compiled"


def rendered(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, int]:
    """Render a template in a new environment; return the result and how often it was compiled."""
    environment = jinja2.Environment(
        loader=jinja2.DictLoader({"one": text}),
        bytecode_cache=CompiledTemplates(),
        autoescape=False,
    )
    compiled: list[str] = []
    usual = jinja2.Environment.compile

    def counted(self: jinja2.Environment, source: str, *args: object, **more: object) -> object:
        compiled.append(source)
        return usual(self, source, *args, **more)  # type: ignore[call-overload]

    with monkeypatch.context() as patch:
        patch.setattr(jinja2.Environment, "compile", counted)
        return environment.get_template("one").render(), len(compiled)


def test_a_template_is_compiled_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rendered("{{ 1 + 1 }}", monkeypatch) == ("2", 1)
    assert rendered("{{ 1 + 1 }}", monkeypatch) == ("2", 0)
    assert rendered("{{ 1 + 2 }}", monkeypatch) == ("3", 1)  # another text of this name
    assert folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("rest", [0, 3, 20, -1, None])
def test_a_damaged_file_is_compiled_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, rest: int | None
) -> None:
    rendered("{{ 1 + 1 }}", monkeypatch)
    (file,) = folder.iterdir()
    content = file.read_bytes()
    flipped = content[:-20] + bytes([content[-20] ^ 1]) + content[-19:]
    file.write_bytes(flipped if rest is None else content[:rest])
    assert rendered("{{ 1 + 1 }}", monkeypatch) == ("2", 1)
    assert rendered("{{ 1 + 1 }}", monkeypatch) == ("2", 0)


def test_a_directory_that_others_can_write_to_is_not_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered("{{ 1 + 1 }}", monkeypatch)
    folder.chmod(0o777)
    assert rendered("{{ 1 + 1 }}", monkeypatch) == ("2", 1)


def test_no_cache_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.parent.write_text("a file, where the directory would be")
    assert rendered("{{ 1 + 1 }}", monkeypatch) == ("2", 1)


def test_nothing_is_written_if_python_writes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert rendered("{{ 1 + 1 }}", monkeypatch) == ("2", 1)
    assert not folder.exists()
