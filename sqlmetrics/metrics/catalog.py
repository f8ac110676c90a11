"""The catalog: all built-in and user-defined templates and settings."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sqlmetrics.errors import TemplateError, UsageError, suggestion
from sqlmetrics.metrics.front_matter import (
    SUFFIX,
    Alternative,
    Check,
    Metric,
    Slice,
    Stage,
    Template,
    read_params,
    read_template,
    template_root,
)
from sqlmetrics.metrics.other_names import elsewhere
from sqlmetrics.metrics.spec import MetricSpec
from sqlmetrics.texts.messages import Message

EVERYTHING = "all"  # as a metric name: every metric with `in_all`


class Catalog:
    """All templates of a run, by name."""

    def __init__(
        self,
        metrics: Iterable[Metric],
        stages: Iterable[Stage],
        checks: Iterable[Check],
        slices: Iterable[Slice] = (),
        alternatives: Iterable[Alternative] = (),
    ):
        self.metrics: dict[str, Metric] = {}
        self.stages = {stage.name: stage for stage in stages}
        self.checks = {check.name: check for check in sorted(checks, key=lambda c: c.order)}
        self.slices = {slice_.name: slice_ for slice_ in slices}
        self.alternatives = list(alternatives)
        self.aliases: dict[str, tuple[str, Mapping[str, Any]]] = {}
        for metric in metrics:
            self._add(metric)
        self.stage_params = {
            name: param for stage in self.stages.values() for name, param in stage.params.items()
        }

    @classmethod
    def load(cls, folders: Iterable[str | Path] = ()) -> Catalog:
        """Read the built-in templates and those in the user's folders.

        A file `NAME.sql.j2` in a user's folder defines a metric; in the sub-folders `stages`,
        `slices` and `checks`, it defines a stage, a slice or a check.

        Raises:
            TemplateError: a folder or front matter cannot be read, or a name is taken.
        """
        own = [Path(folder) for folder in folders]
        known = _built_in()
        if not own:
            return known
        catalog = cls(
            known.metrics.values(),
            known.stages.values(),
            known.checks.values(),
            known.slices.values(),
            known.alternatives,
        )
        catalog.stage_params.update(known.stage_params)
        kinds: dict[str, tuple[type[Template], dict[str, Any]]] = {
            "stages": (Stage, catalog.stages),
            "slices": (Slice, catalog.slices),
            "checks": (Check, catalog.checks),
        }
        for folder in own:
            if not folder.is_dir():
                raise TemplateError(f"the template folder {folder} does not exist")
            for path in _files(folder):
                kind, there = kinds.get(path.parent.name, (Metric, {}))
                template = read_template(kind, path)
                if template.name in there:
                    what = path.parent.name.removesuffix("s")
                    raise TemplateError(
                        f"{path}: a {what} {template.name} already exists; rename the file"
                    )
                there[template.name] = template
                if isinstance(template, Metric):
                    catalog._add(template)
                elif isinstance(template, Stage):
                    catalog.stage_params.update(template.params)
        return catalog

    def _add(self, metric: Metric) -> None:
        for name in (metric.name, *metric.aliases):
            if name == EVERYTHING:
                raise TemplateError(
                    f"{metric.path}: the name {name} is reserved and stands for every metric"
                )
            if name in self.metrics or name in self.aliases:
                raise TemplateError(
                    f"{metric.path}: the name {name} is already taken by another metric"
                )
        self.metrics[metric.name] = metric
        for alias, params in metric.aliases.items():
            for name, value in params.items():
                if name not in metric.params:
                    raise TemplateError(
                        f"{metric.path}: alias {alias} sets {name}, which is not a param"
                    )
                metric.params[name].parse(value, f"{metric.path}: alias {alias}")
            self.aliases[alias] = (metric.name, params)

    def _with_cutoff(self, name: str) -> Message:
        """Return a hint for a name that ends with a cutoff, such as P_10 and ndcg_cut_10."""
        parts = re.fullmatch(r"(.+?)(?:_at|_cut)?_(\d+)", name)
        if parts is None:
            return Message()
        base = parts[1]
        is_known = base.lower() in self.metrics or base.lower() in self.aliases
        theirs = Message() if is_known else elsewhere(base)
        if not (is_known or theirs):
            return Message()
        return Message(f"; a cutoff is written with @: {base}@{parts[2]}", theirs)

    def metric(self, name: str, typed: str = "") -> tuple[Metric, Mapping[str, Any]]:
        """Return a metric by name or alias, with the parameters that the alias sets.

        `typed`: the name as the user typed it, for messages.

        Raises:
            UsageError: there is no such metric; the message suggests similar names.
        """
        canonical, params = self.aliases.get(name.lower(), (name.lower(), {}))
        if canonical not in self.metrics:
            family = [m.name for m in self.metrics.values() if m.family == name.lower()]
            hint: Any = elsewhere(name) or self._with_cutoff(name)
            hint = hint or suggestion(name, [*self.metrics, *self.aliases])
            if family:
                hint = f"; metrics of {name} are {', '.join(family)}"
            raise UsageError(
                f"unknown metric {(typed or name)!r}", hint, " (`sqlmetrics list` shows all)"
            )
        return self.metrics[canonical], params

    def display_name(self, spec: MetricSpec) -> str:
        """Return the name of a metric for papers: `nDCG@10 (gain=exponential)`."""
        metric, _ = self.metric(spec.metric)
        cutoff = "" if spec.cutoff is None else f"@{spec.cutoff}"
        settings = spec.name.removeprefix(spec.metric)
        return f"{metric.short or metric.title}{cutoff} {settings}".rstrip()

    @functools.cached_property
    def own(self) -> list[Template]:
        """The templates of the user."""
        kinds = (self.metrics, self.stages, self.slices, self.checks)
        root = template_root()
        templates = (template for kind in kinds for template in kind.values())
        return [template for template in templates if root not in template.path.parents]

    def default_set(self) -> list[str]:
        """Return the names of the metrics that are computed by default."""
        return [metric.name for metric in self.metrics.values() if metric.in_default_set]

    def known_settings(self) -> set[str]:
        """Return the names of all settings, of stages and of metrics."""
        own = {name for metric in self.metrics.values() for name in metric.params}
        return own | set(self.stage_params)


@functools.cache
def _built_in() -> Catalog:
    """Return the templates of the package, which all evaluators without own templates share."""
    root = template_root()
    settings, physical = root / "settings.toml", root / "physical"
    catalog = Catalog(
        metrics=[
            read_template(Metric, path, family=path.parent.name)
            for path in _files(root / "metrics")
        ],
        stages=[
            read_template(Stage, path)
            for folder in (root / "stages", physical / "stages")
            for path in _files(folder)
        ],
        checks=[read_template(Check, path) for path in _files(root / "checks")],
        slices=[read_template(Slice, path) for path in _files(root / "slices")],
        alternatives=[
            read_template(Alternative, path, engine=path.parent.relative_to(physical).name)
            for path in _files(physical)
            if path.parent != physical / "stages"
        ],
    )
    params = read_params(settings, tomllib.loads(settings.read_text(encoding="utf-8")))
    catalog.stage_params.update(params)
    return catalog


def _files(folder: Path) -> list[Path]:
    return sorted(folder.rglob(f"*{SUFFIX}"))
