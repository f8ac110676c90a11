"""Append results to a history, and show trends."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlmetrics.cli.arguments import asked_of, evaluator_of, names_of, pairs_of
from sqlmetrics.cli.formats import rendered
from sqlmetrics.cli.output import Gates, record_kept, write
from sqlmetrics.errors import UsageError
from sqlmetrics.metrics.spec import labelled, unique
from sqlmetrics.stats.leaderboard import keys_of
from sqlmetrics.texts.terminal import one_line, say

if TYPE_CHECKING:
    import pandas as pd

_BLOCKS = "▁▂▃▄▅▆▇█"
_SHOWN = ["value", "change", "low", "high", "n_users"]
# of slices; other formats have all columns
_OF_SLICES = ["value", "n_users", "change", "within", "mix"]
_OF_SLICES_OF_ONE_RUN = ["appeared", "disappeared"]  # shown if there are such slices


def is_appended(options: Mapping[str, Any]) -> bool:
    """Return whether the result is appended to a history.

    Raises:
        UsageError: the options contradict each other.
    """
    if options["append"]:
        if options["output"] in (None, "", "-"):
            raise UsageError("--append needs the place of the history: -o FILE.duckdb:TABLE")
        for name in ("kind", "digits", "force"):
            if options[name]:
                option = {"kind": "format"}.get(name, name)
                raise UsageError(f"--{option} does not apply to --append; remove it")
        return True
    for name, option in (("tags", "--tag"), ("per_user", "--per-user")):
        if options[name]:
            raise UsageError(f"{option} applies to --append only; add it or remove {option}")
    path, _, table = str(options["output"]).rpartition(":")
    if path.endswith(".duckdb") and table:
        raise UsageError(f"-o {options['output']}: add --append to add the rows to the table")
    return False


def append_values(metrics: Sequence[str], options: Mapping[str, Any]) -> None:
    """Compute means over users, and append them to a history, also if they fail a gate."""
    from sqlmetrics.evaluator import Evaluator
    from sqlmetrics.past.append import append
    from sqlmetrics.past.place import place_of

    place = place_of(options["output"])
    tags = pairs_of("--tag", options["tags"])
    asked = asked_of(Evaluator.evaluate, metrics, options) | {"past": place.text}
    gates, per_user = Gates(options), None
    with record_kept(options) as keep:
        with evaluator_of({**options, "output": None}) as evaluator:
            result = gates.result_of(lambda opened: opened.evaluate(**asked), evaluator)
            keep(evaluator, result)
            if options["per_user"]:
                slices = {name: asked[name] for name in ("by", "by_item")}
                per_user = evaluator.per_user(_of_users(result), **slices)
        append(result, place.text, tags=tags, per_user=per_user)
    gates.check()


def _of_users(result: pd.DataFrame) -> list[str]:
    """Return the metrics of a result that have values of users, with their cutoffs."""
    found = unique(keys_of(result[result["n_users"].notna()]))
    if not found:
        raise UsageError("--per-user: no metric has per-user values; remove the option")
    return [labelled(*one) for one in found]


def show_trend(history: str, metric: str, options: Mapping[str, Any]) -> None:
    """Show the trend of a metric."""
    from sqlmetrics.past.trend import trend

    by, plot = names_of(options["by"]), options["plot"]
    if plot is not None:
        from sqlmetrics.report.chart_file import check_chart, save_chart
        from sqlmetrics.report.trend import chart_of_trend

        check_chart(plot)

    def compute(_: Any) -> pd.DataFrame:
        frame = trend(
            history,
            metric,
            by=by,
            last=options["last"],
            tags=pairs_of("--tag", options["tags"]),
            confidence=options["confidence"],
        )
        if plot is not None:
            save_chart(chart_of_trend(frame, metric, by), plot, options["force"])
        return frame

    def render(frame: pd.DataFrame, kind: str, digits: int | None) -> str:
        _say_of(frame)
        if kind != "table":
            texts = frame.assign(tags=frame["tags"].map(_tags_text))
            return rendered(texts, kind, digits)
        return "".join(_charts(frame, by)) + rendered(_short(frame, by), kind, digits)

    write(options, compute, render=render, opened=contextlib.nullcontext())


def _say_of(frame: pd.DataFrame) -> None:
    """Say what the intervals assume, and where settings changed."""
    if (frame["n_both"].isna() & frame["change_low"].notna()).any():
        say(
            "intervals of changes without n_both take the runs as independent samples, which is "
            "conservative; keep per-user values with evaluate --append --per-user"
        )
    changed = frame.loc[(~frame["same_settings"]).fillna(False), "run_at"]
    for moment in dict.fromkeys(changed):
        say(f"the settings of the metric changed before the run of {moment:%Y-%m-%d %H:%M}")


def _tags_text(tags: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in dict(tags).items())


def _short(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the columns for a terminal."""
    several = [name for name in ("convention", "model") if frame[name].nunique() > 1]
    shown = frame.assign(
        run_at=frame["run_at"].dt.strftime("%Y-%m-%d %H:%M"), tags=frame["tags"].map(_tags_text)
    )
    shown = shown.rename(columns={"change_low": "low", "change_high": "high"})
    tags = ["tags"] if shown["tags"].nunique() > 1 else []
    moved = shown[[*_OF_SLICES_OF_ONE_RUN]].fillna(0).ne(0).any(axis=None) if by else False
    numbers = [*_OF_SLICES, *(_OF_SLICES_OF_ONE_RUN if moved else [])] if by else _SHOWN
    return shown[["run_at", *tags, *several, *by, *numbers]]


def _charts(frame: pd.DataFrame, by: Sequence[str]) -> Iterator[str]:
    keys = ["convention", "model", *by]
    for names, rows in frame.groupby(keys, sort=False, dropna=False):
        values = [float(value) for value in rows["value"]]
        known = [value for value in values if value == value]
        if len(known) < 2:
            continue
        low, high = min(known), max(known)
        blocks = "".join(
            " " if value != value else _BLOCKS[round(7 * (value - low) / ((high - low) or 1))]
            for value in values
        )
        label = " ".join(
            str(name)
            for key, name in zip(keys, names, strict=True)
            if key in by or frame[key].nunique() > 1
        )
        text = f"{label} {blocks} {low:.4g} to {high:.4g}"
        yield one_line(text.strip()) + "\n"
