"""Gates of results: parse them with the definitions of a session, and judge the rows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from sqlmetrics.errors import GateError, UsageError
from sqlmetrics.metrics.requests import MetricRequest
from sqlmetrics.metrics.spec import MetricSpec
from sqlmetrics.past.settings import fingerprints
from sqlmetrics.plan.slices import Attribute, Frame
from sqlmetrics.record.record import plain, settings_of
from sqlmetrics.rows import Rows
from sqlmetrics.run.public_calls import OnSession
from sqlmetrics.run.session import Session
from sqlmetrics.stats.gates import Gate, Gated, Verdict, parse_gate, verdicts


def read(session: Session, texts: str | Iterable[str], of: Gated) -> list[Gate]:
    """Parse gates, with their metrics spelled as in results.

    Raises:
        UsageError: a text is not a gate.
    """
    definitions = session.definitions

    def canonical(spec: MetricSpec) -> str:
        without_cutoff = replace(spec, cutoff=None)
        return definitions.first.request(without_cutoff, definitions.has_rank).name

    session.verdicts = []
    if not isinstance(texts, Iterable):
        raise UsageError(f"gates must be expressions such as {of.examples[0]!r}, not {texts!r}")
    texts = [texts] if isinstance(texts, str) else texts
    return [parse_gate(text, canonical, of) for text in texts]


def last_verdicts(opened: object) -> list[Verdict]:
    """Return the verdicts of the gates of the last result, by gate and row."""
    return opened._session.verdicts if isinstance(opened, OnSession) else []


def columns_of_slices(session: Session, attributes: Iterable[Attribute]) -> list[str]:
    """Return the names of the columns of a result that gates can select rows by."""
    conventions = ["convention"] if session.definitions.are_named else []
    return [*conventions, *(attribute.name for attribute in attributes)]


def named_models(session: Session) -> list[str] | None:
    """Return the models with names; None if a column contains the names."""
    lists = session.of_models
    if lists is None or not session.planner.several_models:
        return []
    return lists.models or None


def passed(
    session: Session,
    result: Frame,
    gates: Sequence[Gate],
    of: Gated,
    requests: Sequence[MetricRequest] = (),
    past: str | Path | None = None,
) -> Frame:
    """Return a result whose gates all pass; the session keeps the verdicts.

    `past` is the history that gates of an evaluation, of these requests, compare it with.

    Raises:
        GateError: the result fails a gate; the error has the result.
        UsageError: a gate applies to no row.
    """
    if not gates:
        return result
    rows: Rows = Rows.of(result)
    with contextlib.ExitStack() as stack:
        of_past = None
        if past is not None and any(gate.past for gate in gates):
            from sqlmetrics.past.numbers import of_past as opened
            from sqlmetrics.past.place import place_of

            slices = [
                name
                for name in rows.names[: [*rows.names].index("metric")]
                if name not in ("model", "convention")
            ]
            marks = fingerprints(*settings_of(requests), plain(session.recorder.given["where"]))
            convention = requests[0].convention
            of_past = stack.enter_context(opened(place_of(past), slices, marks, convention))
        session.verdicts = verdicts(rows, gates, of, of_past)
    failed: list[str] = [verdict.sentence for verdict in session.verdicts if verdict.problem]
    if failed:
        text = "\n  ".join([f"the {of.name} fails", *failed])
        raise GateError(text, frame=result, reasons=failed)
    return result
