"""Hashes of texts."""

from __future__ import annotations

import hashlib


def of_texts(*texts: str) -> str:
    """Return one hash of several texts, which depends on their order."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()
