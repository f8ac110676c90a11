"""Hashes of texts and files."""

from __future__ import annotations

import hashlib
from pathlib import Path


def of_texts(*texts: str) -> str:
    """Return one hash of several texts, which depends on their order."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def of_file(path: Path) -> str:
    """Return the hash of the contents of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
