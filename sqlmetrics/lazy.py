"""Modules that are imported at the first use of one of their names.

Start-up takes most of the time of an evaluation of small tables. Modules that such an evaluation
usually does not need are lazy; type checkers see an ordinary import.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any


class _Lazy(ModuleType):
    def __getattr__(self, name: str) -> Any:
        module = importlib.import_module(self.__name__)
        names = {known: value for known, value in vars(module).items() if known[:2] != "__"}
        self.__dict__.update(names)  # later uses find the names here
        return getattr(module, name)


def lazy(*names: str) -> Any:
    """Return modules, each of which is imported when one of its names is used."""
    return [_Lazy(name) for name in names]
