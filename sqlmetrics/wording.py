"""Values and names as messages show them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

_LONGEST = 80  # characters


def shown(value: Any) -> str:
    """Return a value as JSON, cut to a length that fits into a message."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "…"


def and_more(names: Sequence[Any], most: int = 1) -> str:
    """List the first names, and the number of the others."""
    listed = ", ".join(map(str, names[:most]))
    return f"{listed} and {len(names) - most} more" if len(names) > most else listed
