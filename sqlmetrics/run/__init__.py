"""Run requests: resolve, plan, validate, execute and present."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlmetrics.lazy import lazy

if not TYPE_CHECKING:  # an evaluation needs none of these modules
    comparing, looking, printing = lazy(
        "sqlmetrics.run.comparing", "sqlmetrics.run.looking", "sqlmetrics.run.printing"
    )
