"""Find the convention that gives a reported number: compute a metric in many ways, and compare."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from sqlmetrics.describe.ways import (
    REFUSED,
    NoWay,
    Way,
    differing,
    no_convention_has,
    under_conventions,
    values_to_try,
    with_one_change,
)
from sqlmetrics.errors import DataError, MissingTableError, SqlmetricsError, UsageError, suggestion
from sqlmetrics.metrics.conventions import EVERY, STANDARD, Convention, load_all
from sqlmetrics.metrics.definitions import Cutoffs
from sqlmetrics.metrics.reported import Numbers, Reading, ReportedNumber, read_numbers
from sqlmetrics.metrics.requests import MetricRequest, calls_of
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import MetricSpec, Value, expand_cutoffs, unique
from sqlmetrics.plan.request import PlannedRun, reads_of
from sqlmetrics.plan.results import results_of
from sqlmetrics.plan.summary import summary
from sqlmetrics.run.path import own_templates_named, ready, validate
from sqlmetrics.run.session import Session
from sqlmetrics.sql.query_graph import Plan
from sqlmetrics.texts.messages import SEVERAL_MODELS, Message

MOST_THRESHOLDS = 20  # relevances that are tried as the smallest one of a relevant item
CUTOFFS = (1, 3, 5, 10, 20, 50, 100)  # of lists, for a number without a cutoff
NEAREST = 3  # values that are shown where none is the number
_SAME = 1e-12  # differences of values that are equal but for their last digits

_Conventions: TypeAlias = str | Path | Iterable[str | Path]


def identify(
    session: Session,
    numbers: Numbers,
    k: Cutoffs = None,
    convention: _Conventions = EVERY,
    nearest: int = NEAREST,
    skip_missing: bool = False,
) -> pd.DataFrame:
    """Find the conventions that give reported numbers: see `Evaluator.identify`."""
    if isinstance(convention, Iterable) and not isinstance(convention, str):
        convention = list(convention)
    if isinstance(nearest, bool) or not isinstance(nearest, int) or nearest < 1:
        raise UsageError(f"nearest is a positive whole number, not {nearest!r}")
    questions = _questions(session, numbers, k)
    assert session.call is not None
    tried = _settings_tried(session, convention)
    tries_all = EVERY in _names(convention)
    search = _Search(session, questions, tried, tries_all)
    with own_templates_named(session):
        search.try_conventions(skip_missing)
        of_conventions = list(session.call.runs)
        search.try_single_precision()
        cut = list(_of_cut_lists(search))
        search.try_changes(of_standard=True)
        search.try_changes(of_standard=False)
        found = [(one, one.found(nearest)) for one in (search, *cut)]
        frame = pd.concat([_frame(one, rows) for one, rows in found], ignore_index=True)
        session.call.runs = of_conventions  # data checks ignore settings that the search changed
    about = [message for one, rows in found for message in _about(one, rows)]
    session.warn([*search.messages(), *about])
    return frame


def _of_cut_lists(search: _Search) -> Iterator[_Search]:
    """Search for numbers of whole lists, which no way gives, with the lists cut.

    Numbers that are found so are no longer questions of the first search.
    """
    for question in list(search.questions):
        if question.cutoffs != (None,) or any(search._matching(question)):
            continue
        cut = replace(question, cutoffs=CUTOFFS)
        one = _Search(search.session, [cut], search.tried, search.tries_all)
        try:
            one.try_conventions(skip_missing=False)
        except SqlmetricsError:  # the metric has no cutoff
            continue
        if any(one._matching(cut)):
            search.questions = [other for other in search.questions if other is not question]
            yield one


@dataclass(frozen=True)
class _Question:
    """A reported number, its metric and its cutoffs; one of them is that of the number.

    `spec` has no cutoff.
    """

    number: ReportedNumber
    spec: MetricSpec
    cutoffs: tuple[int | None, ...]
    readings: tuple[Reading, ...]
    largest: float | None

    def reading(self, value: float) -> Reading:
        """Return the reading that a computed value is nearest to."""
        return min(self.readings, key=lambda reading: abs(reading.value - value))

    def matches(self, value: float) -> bool:
        """Return whether a computed value is the number."""
        return any(reading.matches(value) for reading in self.readings)

    def is_about(self, model: str | None) -> bool:
        """Return whether the number can be that of a model."""
        return self.number.model in (None, model)


def _questions(session: Session, numbers: Numbers, k: Cutoffs) -> list[_Question]:
    """Parse the reported numbers into one question each."""
    questions = []
    for number in read_numbers(numbers):
        if number.model is not None and not session.planner.several_models:
            raise UsageError(
                f"{number}: models are not named here; name them with ", SEVERAL_MODELS,
                remedy="or omit the name before the colon",
            )  # fmt: skip
        metric, _ = session.catalog.metric(number.spec.metric, number.spec.typed)
        largest = None if metric.range is None else metric.range[1]
        cutoffs = tuple(expand_cutoffs([number.spec], k)[number.spec])
        spec = replace(number.spec, cutoff=None)
        readings = tuple(number.readings(largest))
        questions.append(_Question(number, spec, cutoffs, readings, largest))
    return questions


def _settings_tried(session: Session, convention: _Conventions) -> list[Settings]:
    """Read the conventions to try: those named; with `all`, also those of the session."""
    given = session.definitions.first.given
    loaded = load_all(convention)
    if EVERY in _names(convention):
        own = [settings.convention for settings in session.definitions.conventions]
        loaded += [one for one in own if one.name not in {known.name for known in loaded}]
    return [Settings(session.catalog, one, given) for one in loaded]


def _names(convention: _Conventions) -> list[str]:
    return list(map(str, [convention] if isinstance(convention, str | Path) else convention))


@dataclass(frozen=True)
class _Found:
    """A value that is a reported number, or one of the nearest.

    `n_matched`: how many of all reported numbers its convention, with the same change, gives.
    """

    question: _Question
    model: str | None
    k: int | None
    way: Way
    value: float
    matches: bool
    distance: float
    n_matched: int
    rank: int = 0


@dataclass
class _Search:
    """Computes metrics in more and more ways, until every reported number is one of the values.

    `tries_all`: whether the user asked for `all` conventions, not for some by name.
    """

    session: Session
    questions: Sequence[_Question]
    tried: Sequence[Settings]
    tries_all: bool = False
    ways: dict[MetricSpec, list[Way]] = field(default_factory=dict)  # of conventions
    changes: dict[MetricSpec, list[Way]] = field(default_factory=dict)
    refused: dict[MetricSpec, list[Way]] = field(default_factory=dict)  # for rows of the tables
    # bases whose changes are not tried, and bases that have the same numbers with the same changes
    alike: dict[MetricSpec, list[tuple[Way, Way]]] = field(default_factory=dict)
    failures: list[NoWay] = field(default_factory=list)
    models: list[str | None] = field(default_factory=list)
    # by model, identity of a way, and cutoff
    values: dict[tuple[str | None, str, int | None], float] = field(default_factory=dict)
    # by metric, convention and spec
    _settings: dict[tuple[MetricSpec, str, str], dict[str, str]] = field(default_factory=dict)

    @cached_property
    def specs(self) -> dict[MetricSpec, list[int | None]]:
        """The metrics asked for, each with the cutoffs of all numbers of the same metric."""
        name_of = {q.spec: self.session.catalog.metric(q.spec.metric)[0].name
                   for q in self.questions}  # fmt: skip
        by_metric: dict[str, list[int | None]] = {}
        for question in self.questions:
            by_metric.setdefault(name_of[question.spec], []).extend(question.cutoffs)
        return {spec: unique(by_metric[name]) for spec, name in name_of.items()}

    @cached_property
    def standard(self) -> dict[MetricSpec, MetricRequest]:
        """The metrics asked for, under the standard convention."""
        given = self.session.definitions.first.given
        settings = Settings(self.session.catalog, Convention.load(STANDARD), given)
        has_rank = self.session.planner.has_rank
        return {spec: settings.request(spec, has_rank) for spec in self.specs}

    @cached_property
    def strict(self) -> dict[MetricSpec, bool]:
        """Does the standard refuse no row of the tables? By metric."""
        return {spec: self._passes(request) for spec, request in self.standard.items()}

    def _passes(self, request: MetricRequest) -> bool:
        try:
            validate(self.session, reads_of(self.session.planner, [request]))
        except SqlmetricsError:
            return False
        return True

    # ---- what is computed ----------------------------------------------------------------------

    def try_conventions(self, skip_missing: bool) -> None:
        """Compute the metrics under every convention.

        `skip_missing`: omit numbers of metrics that lack a table or column everywhere.

        Raises:
            UsageError, DataError: there is none under which a metric can be computed.
        """
        missing: list[MissingTableError] = []
        for spec, cutoffs in self.specs.items():
            there, failures = under_conventions(self.session.planner, spec, cutoffs, self.tried)
            self.failures += failures
            self.ways[spec], refusals = self._valid(there)
            self.refused[spec] = [way for way, _ in refusals]
            self.failures += [NoWay(w.convention, w.call.metric.name, e) for w, e in refusals]
            if not self.ways[spec]:
                errors = [*(e for _, e in refusals), *(f.error for f in failures if f.error)]
                error = errors[0] if errors else no_convention_has(spec.metric, self.tried)
                if not (skip_missing and isinstance(error, MissingTableError)):
                    raise error
                missing.append(error)
        self.questions = [question for question in self.questions if self.ways[question.spec]]
        if not self.questions:
            raise missing[0]
        self._compute(way for ways in self.ways.values() for way in ways)
        self._check_models()

    def try_single_precision(self) -> None:
        """Read a number that no convention gives to all of its digits in single precision."""
        for question in self.questions:
            single = tuple(reading.in_single_precision() for reading in question.readings)
            looser = replace(question, readings=single)
            if (
                question.number.may_be_single
                and not any(self._matching(question))
                and any(self._matching(looser))
            ):
                self.questions = [other if other is not question else looser
                                  for other in self.questions]  # fmt: skip

    def _check_models(self) -> None:
        known = [model for model in self.models if model is not None]
        for number in (question.number for question in self.questions):
            if number.model is not None and number.model not in known:
                close = suggestion(number.model, known)
                there_are = ", ".join(known)
                raise UsageError(
                    f"{number}: there is no model {number.model!r}; there are {there_are}{close}"
                )

    def try_changes(self, of_standard: bool) -> None:
        """Compute the metrics of numbers that no way gives yet, with single settings changed.

        `of_standard`: settings of the standard convention; else, of all others. A value of a
        setting that does not change the number of the standard is not tried with the others.
        """
        planner = self.session.planner
        unmatched = [question for question in self.questions if not any(self._matching(question))]
        for spec in dict.fromkeys(question.spec for question in unmatched):
            bases = [*self.ways[spec], *self.refused[spec]]
            strict = self.strict[spec]
            thresholds = self._thresholds if "relevant_from" in bases[0].call.values else ()
            values_of = values_to_try(planner, bases, spec, strict, thresholds)
            first = [base for base in bases if base.convention == STANDARD]
            tried = [(base, values_of) for base in first]
            if not of_standard:
                others = [base for base in bases if base.convention != STANDARD]
                tried = [(base, values_of) for base in others]
                if strict and first:
                    tried = list(self._different(spec, first[0], others, values_of))
            ways = (way for base, values in tried for way in with_one_change(planner, base, values))
            self.changes.setdefault(spec, []).extend(self._valid(ways)[0])
        self._compute(way for ways in self.changes.values() for way in ways)
        for question in unmatched:
            for way in list(self._matching(question)):
                self._complete(way)
        self._compute(way for ways in self.changes.values() for way in ways)

    def _different(
        self,
        spec: MetricSpec,
        standard: Way,
        others: Iterable[Way],
        values_of: Mapping[str, Sequence[Value]],
    ) -> Iterator[tuple[Way, dict[str, list[Value]]]]:
        """Find the bases that differ from each other, and the changes that no other base has.

        Values of a setting with which the standard has the same number are one value here.
        """
        params = {**self.session.catalog.stage_params, **standard.call.metric.params}
        # what repeated rows mean makes no difference
        names = [name for name, param in params.items() if REFUSED not in param.choices]
        of_standard = self._numbers(standard)
        effects = {(name, standard.call.values[name]): of_standard for name in names}
        for way in self.changes.get(spec, ()):
            if way.convention == STANDARD and way.changed is not None:
                effects[way.changed] = self._numbers(way)

        def effects_of(base: Way) -> dict[str, object]:
            # a value that is not known leaves the query of the standard as it is
            return {name: effects.get((name, base.call.values[name])) or of_standard
                    for name in names}  # fmt: skip

        known: dict[tuple[tuple[object, ...], int], Way] = {}
        marks: dict[object, list[tuple[str, ...]]] = {}
        for base in (standard, *others):
            own = tuple(effects_of(base).values())
            # equal settings and another number: a setting that has no effect in the standard
            numbers = marks.setdefault(own, [])
            if self._numbers(base) not in numbers:
                numbers.append(self._numbers(base))
            mark = numbers.index(self._numbers(base))
            like = known.setdefault((own, mark), base)
            if like is not base:
                self.alike.setdefault(spec, []).append((base, like))
        tried = set(known)
        for (_, mark), base in known.items():
            different: dict[str, list[Value]] = {}
            for name, values in values_of.items():
                for value in values:
                    effect = effects.get((name, value), (name, value))
                    changed = tuple({**effects_of(base), name: effect}.values()), mark
                    if changed not in tried:
                        tried.add(changed)
                        different.setdefault(name, []).append(value)
            if base is not standard:
                yield base, different

    def _numbers(self, way: Way) -> tuple[str, ...]:
        """Return all values of a way, without their last digits."""
        ks = [request.k for request in way.call.requests]
        keys = [(model, way.identity, k) for model in self.models for k in ks]
        return tuple(f"{self.values.get(key, math.nan):.11g}" for key in keys)

    @cached_property
    def _thresholds(self) -> list[Value]:
        """Relevances of the interactions, at most `MOST_THRESHOLDS`, at even distances."""
        planner = self.session.planner
        table = planner.tables.get("interactions")
        if table is None or "relevance" not in table.columns:
            return []
        read = {
            "interactions": planner.node("interactions", self.session.definitions.first.values())
        }
        query = planner.rendered("thresholds", read, most=MOST_THRESHOLDS)
        rows = self.session.engine.rows(self.session.physical(Plan(query)))
        return [value for (value,) in rows.values if math.isfinite(value)]

    def _complete(self, change: Way) -> None:
        """Find what a change makes of other numbers, and of conventions alike."""
        assert change.changed is not None
        name, value = change.changed
        for spec in self.specs:
            same = [base for base, like in self.alike.get(spec, ())
                    if like.convention == change.convention]  # fmt: skip
            own = [base for base in self.ways[spec] if base.convention == change.convention]
            for base in (*own, *same):
                known = {(way.convention, way.changed) for way in self.changes.get(spec, ())}
                if (base.convention, change.changed) not in known:
                    ways = with_one_change(self.session.planner, base, {name: [value]})
                    self.changes.setdefault(spec, []).extend(self._valid(ways)[0])

    def _valid(self, ways: Iterable[Way]) -> tuple[list[Way], list[tuple[Way, DataError]]]:
        """Part ways from those that refuse rows of the tables."""
        valid, refused = [], []
        for way in ways:
            try:
                validate(self.session, reads_of(self.session.planner, way.call.requests))
            except DataError as error:
                refused.append((way, error))
            else:
                valid.append(way)
        return valid, refused

    def _compute(self, ways: Iterable[Way]) -> None:
        """Compute the values of ways in one statement, those that compute the same once."""
        known = {(identity, k) for _, identity, k in self.values}
        requests: list[MetricRequest] = []
        identities: dict[tuple[str, str, int | None], str] = {}
        for way in ways:
            for request in way.call.requests:
                if (way.identity, request.k) not in known:
                    known.add((way.identity, request.k))
                    requests.append(request)
                    identities[request.label] = way.identity
        if not requests:
            return
        results = results_of(self.session.planner, requests, with_convention=True)
        # the rows of the tables were checked for each way
        run = PlannedRun(summary(results), tuple(results.requests), ())
        frame = self.session.engine.frame(ready(self.session, run))
        names = frame["model"].astype(str) if "model" in frame.columns else [None] * len(frame)
        for model, label, metric, k, value in zip(
            names, frame["convention"], frame["metric"], frame["k"], frame["value"], strict=True
        ):
            cutoff = None if pd.isna(k) else int(k)
            self.values[model, identities[label, metric, cutoff], cutoff] = float(value)
            if model not in self.models:
                self.models.append(model)

    # ---- what was found ------------------------------------------------------------------------

    def _candidates(
        self, question: _Question, ways: Iterable[Way]
    ) -> Iterator[tuple[str | None, int | None, Way, float]]:
        """List the values of ways, without those that are undefined."""
        for way in ways:
            for model in filter(question.is_about, self.models):
                for k in question.cutoffs:
                    value = self.values[model, way.identity, k]
                    if value == value:
                        yield model, k, way, value

    def _matching(self, question: _Question, model: str | None = None) -> Iterator[Way]:
        """List the ways that give a number, to some model or to the one named."""
        ways = [*self.ways[question.spec], *self.changes.get(question.spec, ())]
        for other, _, way, value in self._candidates(question, ways):
            if (model is None or model == other) and question.matches(value):
                yield way

    def _n_matched(self, model: str | None) -> dict[tuple[str, Any], int]:
        """Count the numbers that a convention, with a change or without, gives to a model.

        A number of another model counts if the convention gives it to that one.
        """
        counts: dict[tuple[str, Any], int] = {}
        changed = {(w.convention, w.changed) for ways in self.changes.values() for w in ways}
        for question in self.questions:
            owner = question.number.model or model
            given = {(w.convention, w.changed) for w in self._matching(question, owner)}
            # a change that a metric does not know leaves its value as it is
            differs = {(w.convention, w.changed) for w in self.changes.get(question.spec, ())}
            given |= {key for key in changed - differs if (key[0], None) in given}
            for key in given:
                counts[key] = counts.get(key, 0) + 1
        return counts

    def found(self, nearest: int) -> list[_Found]:
        """Find the ways that give each number, else the nearest; the best first."""
        n_matched = {model: self._n_matched(model) for model in self.models}
        found: list[_Found] = []
        for question in self.questions:
            conventions = self.ways[question.spec]
            seen = {way.identity for way in conventions}
            changes = {way.identity: way for way in reversed(self.changes.get(question.spec, []))}
            others = [way for key, way in reversed(changes.items()) if key not in seen]
            rows = [
                _Found(
                    question,
                    model,
                    k,
                    way,
                    value,
                    question.matches(value),
                    question.reading(value).distance(value),
                    n_matched[model].get((way.convention, way.changed), 0),
                )
                for model, k, way, value in self._candidates(question, [*conventions, *others])
            ]
            if any(row.matches and row.way.changed is None for row in rows):
                rows = [row for row in rows if row.way.changed is None]
            matching = [row for row in rows if row.matches]
            ranked = _ranked(matching or rows)
            shown = ranked if matching else [row for row in ranked if row.rank <= nearest]
            found += self._simplest(shown)
        return found

    def _simplest(self, rows: Sequence[_Found]) -> list[_Found]:
        """Omit changes if a simpler way gives the same value.

        A convention is simpler than a change; fewer settings that differ from standard are simpler.
        """
        fewest: dict[tuple[str | None, int | None, int], int] = {}

        def n_settings(row: _Found) -> int:
            return 0 if row.way.changed is None else len(self.settings_of(row))

        for row in rows:
            place = (row.model, row.k, row.rank)
            fewest[place] = min(fewest.get(place, n_settings(row)), n_settings(row))
        return [row for row in rows if n_settings(row) <= fewest[row.model, row.k, row.rank]]

    def settings_of(self, row: _Found) -> dict[str, str]:
        """Find the settings in which a way differs from the standard."""
        spec, way = row.question.spec, row.way
        key = (spec, way.convention, way.call.name)
        if key not in self._settings:
            of_way = [replace(self.standard[spec], k=request.k) for request in way.call.requests]
            (standard,) = calls_of(of_way)
            planner, strict = self.session.planner, self.strict[spec]
            self._settings[key] = differing(planner, standard, way, strict)
        return self._settings[key]

    def messages(self) -> Iterator[Message]:
        """Say which conventions were omitted, and why.

        Libraries without the metric are named only if the user chose their conventions.
        """
        by_reason: dict[tuple[str, Message], list[str]] = {}
        for failure in self.failures:
            if failure.error is None and self.tries_all:
                continue
            place = (failure.metric, _reason(failure))
            by_reason.setdefault(place, []).append(failure.convention)
        for (metric, reason), names in by_reason.items():
            yield Message(f"{metric}: omitted {', '.join(unique(names))}: ", reason)


def _reason(failure: NoWay) -> Message:
    error = failure.error
    if error is None:
        return Message("there is no such metric there")
    if isinstance(error, MissingTableError):
        return error.what
    return error.found


def _ranked(rows: Sequence[_Found]) -> list[_Found]:
    """Number rows by how well they match; equals have the same rank, and keep their order.

    Values that are equal but for the last digit, which depends on threads, are equals.
    """

    def place(row: _Found) -> tuple[bool, int, float]:
        return not row.matches, -row.n_matched if row.matches else 0, row.distance

    ranks: dict[int, int] = {}  # position of a row -> its rank
    rank, before = 0, (False, 0, -1.0)
    for position in sorted(range(len(rows)), key=lambda position: place(rows[position])):
        here, value = place(rows[position]), rows[position].value
        if here[:2] != before[:2] or here[2] - before[2] > _SAME * max(1.0, abs(value)):
            rank, before = rank + 1, here
        ranks[position] = rank
    ranked = [replace(row, rank=ranks[position]) for position, row in enumerate(rows)]
    return sorted(ranked, key=lambda row: row.rank)


def _frame(search: _Search, found: Sequence[_Found]) -> pd.DataFrame:
    columns: dict[str, list[Any]] = {}
    if search.session.planner.several_models:
        columns["model"] = [row.model for row in found]
    columns |= {
        "metric": [search.standard[row.question.spec].name for row in found],
        "k": [row.k for row in found],
        "reported": [row.question.number.text for row in found],
        "rank": [row.rank for row in found],
        "convention": [row.way.convention for row in found],
        "theirs": [", ".join(row.way.theirs) for row in found],
        "value": [row.value for row in found],
        "difference": [row.value - row.question.reading(row.value).value for row in found],
        "matches": [row.matches for row in found],
        "n_matched": [row.n_matched for row in found],
        "change": [row.way.change for row in found],
        "settings": [
            ", ".join(f"{name}={value}" for name, value in search.settings_of(row).items())
            for row in found
        ],
    }
    frame = pd.DataFrame(columns)
    return frame.astype({"k": "Int64", "value": "float64", "difference": "float64"})


def _about(search: _Search, found: Sequence[_Found]) -> Iterator[Message]:
    """Say how numbers were read, and which of them no convention gives."""
    for question in search.questions:
        number = question.number
        rows = [row for row in found if row.question is question]
        if not number.in_percent and len(question.readings) > 1:
            yield Message(
                f"{number}: {number.text} is more than {question.largest:g}, the largest value of "
                f"{number.spec.metric}; it is also read as a percentage"
            )
        if question.cutoffs is CUTOFFS:
            yield Message(
                f"no convention gives {number} for whole lists; the rows for it cut lists"
            )
        if question.readings != tuple(number.readings(question.largest)):
            yield Message(f"{number}: equal to six digits, as sums in single precision are")
        if not rows:
            yield Message(f"{number}: no convention gives a value")
        elif not rows[0].matches:
            nearest = rows[0]
            way = nearest.way
            name = f"{way.convention} with {way.change}" if way.change else way.convention
            yield Message(
                f"no convention gives {number}, nor does any with one setting changed; the nearest "
                f"value is {nearest.value:.6g} ({name}). The tables, the cutoff or more than one "
                "setting may differ"
            )
        elif rows[0].way.changed is not None:
            yield Message(
                f"no convention gives {number} as it is; the rows for it change one setting of a "
                "convention"
            )
        yield from _mistakes(search, rows)
    most = max((row.n_matched for row in found), default=0)
    if len(search.questions) > 1 and 0 < most < len(search.questions):
        yield Message(
            f"no convention gives all {len(search.questions)} numbers; the most that one gives is "
            f"{most}"
        )


def _mistakes(search: _Search, rows: Sequence[_Found]) -> Iterator[Message]:
    """Name the best row of a number whose definition is a known mistake, and the right value."""
    for row in rows:
        for name, value in row.way.call.values.items():
            param = row.way.call.metric.params.get(name)
            mistake = param and param.mistakes.get(str(value))
            if not mistake or not row.matches or row.rank > 1:
                continue
            right = [
                search.values[row.model, way.identity, row.k]
                for way in search.ways[row.question.spec]
                if way.convention == STANDARD
            ]
            instead = "".join(f"; {STANDARD}: {value:.6g}" for value in right[:1])
            yield Message(
                f"{row.question.number}: {row.way.convention} has {name}={value}: {mistake} (a "
                f"known mistake{instead})"
            )
            return
