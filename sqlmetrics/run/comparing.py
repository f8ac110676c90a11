"""Compare models: comparisons with a baseline, gates and leaderboards."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlmetrics.errors import UsageError, callers_level, check_choice, suggestion
from sqlmetrics.metrics.requests import MetricRequest
from sqlmetrics.metrics.spec import parse_spec
from sqlmetrics.plan.comparison import changes, check_comparable, comparison
from sqlmetrics.plan.request import Request, planned, reads_of, resolve
from sqlmetrics.plan.slices import Attribute
from sqlmetrics.run import gating
from sqlmetrics.run.path import (
    evaluate,
    further,
    own_templates_named,
    present,
    ready,
    results,
    validate,
)
from sqlmetrics.run.session import Session
from sqlmetrics.stats import paired_tests
from sqlmetrics.stats.decisions import ATTRIBUTE as DECISIONS
from sqlmetrics.stats.decisions import are_few, decisions
from sqlmetrics.stats.gates import COMPARISON, OF_RUNS_COMPARED, Gate, check_known
from sqlmetrics.stats.over_runs import OVER, over_runs
from sqlmetrics.stats.power import Power
from sqlmetrics.texts.messages import SEVERAL_MODELS, Argument, Message, map_column
from sqlmetrics.texts.wording import listed

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Testing:
    """The significance test, and its power; see `Evaluator.compare` for the attributes.

    Raises:
        UsageError: the test or correction is unknown, or scipy is not installed.
    """

    test: str = "t"
    correction: str = "holm"
    interval: str = "normal"
    power: Power | None = None
    over: str = "users"

    def __post_init__(self) -> None:
        check_choice("over", self.over, OVER)
        paired_tests.checked(test=self.test, correction=self.correction)
        paired_tests.check_scipy(test=self.test, interval=self.interval)


def models(session: Session) -> list[str]:
    """Return the names of the evaluated models; empty if the models have no names."""
    named = gating.named_models(session)
    if named is not None:
        return named
    there = session.physical(session.planner.stage("models", session.definitions.values))
    return sorted({str(row["model"]) for row in session.engine.records(there)})


def compare(
    session: Session,
    asked: Request,
    baseline: str | None,
    testing: Testing,
    fail_if: str | Iterable[str] = (),
) -> pd.DataFrame:
    """Compare every model with a baseline model, user by user.

    Args:
        session: the tables and the engine.
        asked: the metrics and slices.
        baseline: the baseline model; None for the baseline of the session.
        testing: the significance test.
        fail_if: gates that the result has to pass.

    Raises:
        GateError: the result fails a gate; the error has the result.
        UsageError, DataError: see `Evaluator.compare`.
    """
    session.engine.check_comparisons()
    gates = gating.read(session, fail_if, COMPARISON)
    if testing.over != "users":
        return _compare_runs(session, asked, baseline, testing, gates)
    with own_templates_named(session):
        of = results(session, asked)
        check_comparable(of)  # before reading any table
        _check_over_runs(of.slicing.of_lists if of.slicing else ())
        if of.audit is not None:
            _check_audited(testing)
        chosen = _baseline(session, baseline, of.requests)
        run = planned(of, comparison(of, chosen, testing.test))
        attributes = () if of.slicing is None else of.slicing.attributes
        _check_gates(session, gates, of.requests, chosen, attributes, testing, further(run))
        frame = session.engine.comparison(ready(session, run), run.of_users, callers_level())
    frame = present(session, frame, run)
    leading = [name for name in frame.columns if name != "model"]
    place = leading.index("k") + 1
    frame = frame[[*leading[:place], "model", *leading[place:]]]
    frame["model"] = frame["model"].astype(str)  # the baseline is a text, too
    power = testing.power
    if are_few(frame) and importlib.util.find_spec("scipy") is not None:
        power = power or Power()  # for the decisions
    frame = paired_tests.finished(
        frame,
        test=testing.test,
        interval=testing.interval,
        confidence=asked.interval.confidence,
        correction=testing.correction,
        power=power,
    )
    frame = _decided(frame, of.requests, asked, testing, power)
    return gating.passed(session, frame, gates, COMPARISON)


def _check_gates(
    session: Session,
    gates: Sequence[Gate],
    requests: Sequence[MetricRequest],
    baseline: str,
    attributes: Sequence[Attribute],
    testing: Testing,
    further: Sequence[str] = (),
) -> None:
    """Check that every gate applies to a row of the comparison; see `gates.check_known`."""
    if not gates:
        return
    others = [model for model in models(session) if model != baseline]
    computed = [(request.name, request.k) for request in requests]
    slices = gating.columns_of_slices(session, attributes)
    further = [*further, *_of_power(testing, "n_clusters" in further)]
    check_known(gates, computed, others, interval=testing.interval, slices=slices, further=further)


def _decided(
    frame: pd.DataFrame,
    requests: Sequence[MetricRequest],
    asked: Request,
    testing: Testing,
    power: Power | None,
) -> pd.DataFrame:
    """Add the sentences for decisions; `power` is that of the column `mde`, if there is one."""
    sentences: list[str] = []
    if power is not None:
        better = {request.name: request.higher_is_better for request in requests}
        of_rounds = any(request.metric.grain == "round" for request in requests)
        sentences = decisions(
            frame, better, 1 - asked.interval.confidence, power, testing.correction,
            "rounds" if of_rounds else "users",
        )  # fmt: skip
        if testing.power is None:
            frame = frame.drop(columns=["mde", "mde_relative"])
    frame.attrs[DECISIONS] = sentences
    return frame


def _compare_runs(
    session: Session, asked: Request, baseline: str | None, testing: Testing, gates: list[Gate]
) -> pd.DataFrame:
    over = Argument("over", testing.over)
    refused = {
        "test": testing.test != "t", "ci": testing.interval == "bootstrap",
        "cluster": asked.cluster is not None, "combinations": asked.combinations,
    }  # fmt: skip
    for name, is_given in refused.items():
        if is_given:
            raise UsageError(over, " cannot be combined with ", Argument(name))
    if not session.planner.several_runs:
        raise UsageError(
            over, " needs several runs of a model",
            remedy=Message("map a column with ", map_column("recommendations", "run")),
        )  # fmt: skip
    resolved = resolve(session.definitions, session.planner, asked)
    _check_over_runs([one for one in resolved.attributes if one.of == "lists"])
    chosen = _baseline(session, baseline, resolved.requests)
    for gate in gates:
        if gate.column == "n_users":
            raise UsageError(
                f"the gate {gate.text!r} names {gate.column}, which a comparison over runs lacks"
            )
    of = resolved.requests, chosen, resolved.attributes, testing, OF_RUNS_COMPARED
    _check_gates(session, gates, *of)
    by = [asked.by] if isinstance(asked.by, str) else list(asked.by or ())
    none = replace(asked.interval, kind="none")
    values = evaluate(session, replace(asked, by=["run", *by], interval=none))
    power = testing.power
    if are_few(values.drop(columns=["model", "run"])):
        power = power or Power()  # for the decisions
    frame = over_runs(
        values,
        chosen,
        paired=testing.over == "paired_runs",
        interval=testing.interval != "none",
        confidence=asked.interval.confidence,
        correction=testing.correction,
        power=power,
    )
    frame = _decided(frame, resolved.requests, asked, testing, power)
    if bool((frame[["n_runs", "baseline_runs"]] < 2).any().any()):
        single = frame.loc[frame["n_runs"] < 2, "model"].tolist()
        single += frame.loc[frame["baseline_runs"] < 2, "baseline"].tolist()
        session.warn([Message(
            "differences are not tested for models with a single run: "
            f"{listed(dict.fromkeys(single))}"
        )])  # fmt: skip
    return gating.passed(session, frame, gates, COMPARISON)


def _check_over_runs(of_lists: Sequence[Attribute]) -> None:
    """Check that runs are not compared one by one: seed 1 of one model is no pair of another's."""
    if of_lists:
        raise UsageError(
            "by: models are compared by the means of users over all runs; omit run, or use "
            "evaluate for a row per run"
        )


def changed_users(
    session: Session, asked: Request, baseline: str | None, n: int | None, by_gain: bool
) -> pd.DataFrame:
    """Return the users with the largest losses or gains; see `Evaluator.changed_users`."""
    if n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 1):
        raise UsageError(f"n must be a whole number of at least 1, not {n!r}")
    if not session.engine.fetches_users:
        raise UsageError("users cannot be collected from Spark into this process; use compare")
    with own_templates_named(session):
        of = results(session, asked)
        check_comparable(of)
        request = of.only_request()
        if request.higher_is_better is None:
            raise UsageError(
                f"{request.spec}: neither higher nor lower values are better, so that no user has "
                "lost or gained"
            )
        chosen = _baseline(session, baseline, of.requests)
        run = replace(planned(of, changes(of, chosen, n, by_gain)), assumes_independence=False)
        frame = session.engine.frame(ready(session, run))
    frame["model"] = frame["model"].astype(str)
    frame.insert(list(frame.columns).index("value"), "baseline", chosen)
    return frame


def _of_power(testing: Testing, clustered: bool) -> list[str]:
    if testing.power is None:
        return []
    unit = "runs" if testing.over != "users" else "clusters" if clustered else "users"
    return ["mde", "mde_relative", *([] if testing.power.detect is None else [f"{unit}_needed"])]


def _check_audited(testing: Testing) -> None:
    if testing.test != "t":
        raise UsageError(
            Argument("audit"), " has standard errors, but no resamples or ranks; it cannot be "
            "combined with ", Argument("test", testing.test),
        )  # fmt: skip
    if testing.power is not None and testing.power.detect is not None:
        raise UsageError(
            "more users and more audited users have different effects; ", Argument("audit"),
            " cannot be combined with ", Argument("detect"),
        )  # fmt: skip


def _baseline(session: Session, baseline: str | None, requests: Sequence[MetricRequest]) -> str:
    planner = session.planner
    chosen = planner.baseline_model if baseline is None else str(baseline)
    if not planner.several_models:
        raise UsageError(_needs_several(session, requests))
    if session.of_models is None or not session.of_models.models:
        # the names of the models are read from the table
        validate(session, reads_of(planner, requests))
    known = models(session)
    if len(known) < 2:
        raise UsageError(_needs_several(session, requests), f"; the only model is {known[0]}")
    return _check_model(chosen, known, "baseline")


def _needs_several(session: Session, requests: Sequence[MetricRequest]) -> Message:
    inputs, several, replaced = session.planner.inputs, SEVERAL_MODELS, ""
    if requests[0].metric.grain == "round" and "recommendations" not in inputs.tables:
        several, replaced = Argument("policy", ..., "NAME"), inputs.replaced
    return Message(
        "a comparison needs several models; give ", several, " for each, or a column model",
        replaced,
    )  # fmt: skip


def _check_model(chosen: str | None, known: Sequence[str], argument: str) -> str:
    if chosen is None or chosen not in known:
        problem = "no baseline given" if chosen is None else f"there is no model {chosen!r}"
        close = "" if chosen is None else suggestion(chosen, known).rstrip("?")
        raise UsageError(
            f"{problem}{close}; choose one of {listed(known)} with ",
            Argument(argument, "NAME"),
        )
    return chosen


def leaderboard(
    session: Session, asked: Request, testing: Testing, alpha: float, against: str | None = None
) -> pd.DataFrame:
    """Rank the models: compare each with the best model of every metric, and mark the results.

    With `against`, compare each with that model instead.

    Raises:
        UsageError, DataError: see `Evaluator.leaderboard`.
    """
    import pandas as pd

    from sqlmetrics.stats.leaderboard import best_models
    from sqlmetrics.stats.leaderboard import leaderboard as ranked

    session.engine.check_comparisons()
    attributes = resolve(session.definitions, session.planner, asked).attributes
    _check_over_runs([attribute for attribute in attributes if attribute.of == "lists"])
    if against is not None and (named := gating.named_models(session)):
        _check_model(against, named, "against")
    values = evaluate(session, asked)
    definitions = session.definitions
    requests = definitions.requests(definitions.specs(asked.metrics, asked.k))
    if "model" not in values.columns:
        raise UsageError(_needs_several(session, requests))
    values["model"] = values["model"].astype(str)
    better = {request.name: request.higher_is_better for request in requests}
    means = {
        (request.name, request.k)
        for request in requests
        if request.metric.grain != "run" and request.values["aggregate"] == "mean"
    }
    if against is None:
        baselines = best_models(values, better)
    else:
        _check_model(against, list(dict.fromkeys(values["model"])), "against")
        baselines = {against: [(request.name, request.k) for request in requests]}
    compared = []
    uncorrected = replace(testing, correction="none")
    for model, best_at in baselines.items():
        calls = [
            # implied, because some conventions may lack the metric
            replace(parse_spec(metric), cutoff=cutoff, implied=True)
            for metric, cutoff in best_at
            if (metric, cutoff) in means
        ]
        if calls:
            interval = replace(asked.interval, kind="none", of_runs=False)  # of differences
            of_best = replace(
                asked, metrics=calls, k=None, interval=interval, per_user=True, skip_missing=False
            )
            compared.append(compare(session, of_best, model, uncorrected))
    comparisons = pd.concat(compared, ignore_index=True) if compared else pd.DataFrame()
    intervals = asked.interval.kind != "none"
    return ranked(values, comparisons, better, alpha, testing.correction, against, intervals)
