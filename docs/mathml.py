"""Turns the ```math blocks of pages into MathML, which browsers draw without scripts or fonts."""

from __future__ import annotations

from typing import Any

from latex2mathml.converter import convert


def fence(source: str, *_: Any, **__: Any) -> str:
    """Return the formula of a block as MathML; TeX without the dollar signs."""
    return f'<div class="formula">{convert(source.strip(), display="block")}</div>'
