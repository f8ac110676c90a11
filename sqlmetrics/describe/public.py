"""The lists and descriptions of metrics, slices, stages and conventions, for Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlmetrics.describe import listing
from sqlmetrics.describe.conventions import describe_convention
from sqlmetrics.describe.conventions import listing as conventions_of
from sqlmetrics.describe.metric import describe_metric, describe_slice
from sqlmetrics.describe.stage import describe_stage
from sqlmetrics.errors import UsageError, suggestion
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.conventions import STANDARD, Convention, conventions
from sqlmetrics.metrics.other_names import elsewhere
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import parse_spec

if TYPE_CHECKING:
    import pandas as pd

Templates: TypeAlias = str | Path | Iterable[str | Path]


class Description(str):
    """A text that Python and notebooks show as it is, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def list_metrics(templates: Templates = ()) -> pd.DataFrame:
    """Return a row per metric: `metric, aliases, family, title, settings`.

    `templates`: directories with the user's own templates.
    """
    return _frame(listing.metrics, templates)


def list_slices(templates: Templates = ()) -> pd.DataFrame:
    """Return a row per built-in slice of `by`: `slice, of, title, settings`."""
    return _frame(listing.slices, templates)


def list_stages(templates: Templates = ()) -> pd.DataFrame:
    """Return a row per stage that templates can read: `stage, title`."""
    return _frame(listing.stages, templates)


def list_conventions() -> pd.DataFrame:
    """Return a row per convention: `convention, release, metrics, title`."""
    return _frame(conventions_of, ())


def description(
    name: str, convention: str | Path = STANDARD, templates: Templates = ()
) -> Description:
    """Describe a metric, slice, stage or convention, as `sqlmetrics describe` does.

    Args:
        name: a name or a metric with settings, such as `"ndcg(gain=exponential)@10"`.
        convention: the convention that defines the settings and the query of a metric or stage.
        templates: directories with the user's own templates.

    Raises:
        UsageError: nothing has this name, or the convention does not cover the metric.
    """
    catalog = _catalog(templates)
    if name in conventions():
        return Description(describe_convention(catalog, name))
    return Description(describe(catalog, name, convention))


def describe(catalog: Catalog, name: str, convention: str | Path = STANDARD) -> str:
    """Describe the metric, slice and stage with a name.

    Raises:
        UsageError: nothing has this name, or the convention does not cover the metric.
    """
    texts = []
    spec = parse_spec(name)
    plain = spec.metric
    is_slice, is_stage = plain in catalog.slices, plain in catalog.stages
    named = Settings(catalog, Convention.load(convention), {}).translated(spec)
    known = [*catalog.metrics, *catalog.aliases, *catalog.slices, *catalog.stages]
    if named.metric not in known:
        hint = elsewhere(plain) or suggestion(plain, known)
        raise UsageError(f"unknown metric, slice or stage {plain!r}", hint)
    if not (is_slice or is_stage) or plain in catalog.metrics:
        texts.append(describe_metric(catalog, name, convention))
    if is_slice:
        texts.append(describe_slice(catalog, plain))
    if is_stage:
        texts.append(describe_stage(catalog, plain, convention))
    return "\n".join(texts)


def _catalog(templates: Templates) -> Catalog:
    return Catalog.load([templates] if isinstance(templates, str | Path) else templates)


def _frame(listed: Callable[[Catalog], list[dict[str, Any]]], templates: Templates) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(listed(_catalog(templates)))
