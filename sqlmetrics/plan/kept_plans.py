"""Plans kept between processes in the user's cache directory.

A plan depends on the code and templates of sqlmetrics, on the versions of the libraries that read
and print SQL, on the tables as described by their columns and paths, and on the request. Plans from
the user's own templates, which change often, and from databases and addresses are not kept.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import fields
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from sqlmetrics.disk_cache import DiskCache
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.sql.kept_texts import state_of_sources

if TYPE_CHECKING:
    from sqlmetrics.plan.planner import Planner

_MOST_PLANS = 500  # of one planner; more come from programs that try many requests

_NOT_DESCRIBED = ("catalog", "stages", "_memo")


class Memo(dict[Any, Any]):
    """The plans of a planner; the first `n_kept` were read from or written to the cache."""

    n_kept: int = 0


def load(planner: Planner) -> None:
    """Add the kept plans of an equal planner to the memo of a planner."""
    if planner._memo or not _can_keep(planner):
        return
    match _cache().load(_key(planner)):
        case described, {**plans} if described == _description(planner):
            planner._memo.update(plans)
            planner._memo.n_kept = len(plans)


def save(planner: Planner) -> None:
    """Keep the plans of a planner, if there are new ones."""
    memo = planner._memo
    if memo.n_kept < len(memo) <= _MOST_PLANS and _can_keep(planner):
        plans = dict(memo)
        memo.n_kept = len(plans)
        _cache().save(_key(planner), (_description(planner), plans))


def _can_keep(planner: Planner) -> bool:
    """Return whether a planner reads only files and frames, with built-in templates.

    Addresses of files and databases elsewhere may contain passwords, which must not be kept.
    """
    sources = [source for table in planner.tables.values() for source in table.sources]
    return planner.catalog is Catalog.load() and all(
        source.is_held and "://" not in source.relation + source.label for source in sources
    )


def _description(planner: Planner) -> Mapping[str, Any]:
    names = (field.name for field in fields(planner) if field.name not in _NOT_DESCRIBED)
    return {name: getattr(planner, name) for name in names}


def _key(planner: Planner) -> str:
    return repr(_description(planner))


@functools.cache
def _cache() -> DiskCache:
    catalog = Catalog.load()
    kinds = (catalog.metrics, catalog.stages, catalog.checks, catalog.slices)
    templates = [template for kind in kinds for template in kind.values()]
    return DiskCache(
        "plans",
        [
            # importing the packages for their versions would cost more than reading the plans
            version("jinja2"),
            version("sqlglot"),
            state_of_sources(),
        ],
        {str(template.path): template for template in [*templates, *catalog.alternatives]},
    )
