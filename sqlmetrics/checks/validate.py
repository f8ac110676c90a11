"""Input validation: reject tables that would give wrong results, with examples of invalid rows.

The counts come from the profile stages, which read each table once; the invalid rows are looked up
only if a count is not 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from string import Formatter
from typing import Any

from sqlmetrics.engines.base import Engine
from sqlmetrics.errors import (
    DataError,
    DataWarning,
    RowsError,
    TemplateError,
    UnreadableError,
    UsageError,
)
from sqlmetrics.metrics.front_matter import Check
from sqlmetrics.metrics.spec import Value, value_text
from sqlmetrics.plan.audit import READ_AS_INTERACTIONS
from sqlmetrics.plan.audit import TABLE as AUDIT
from sqlmetrics.plan.physical import physical
from sqlmetrics.plan.planner import Planner, as_given
from sqlmetrics.plan.request import Audited, Reads, Sliced
from sqlmetrics.plan.slices import Attribute
from sqlmetrics.sql.query_graph import Node, Plan, Query
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.tables.csv_quotes import check_lines
from sqlmetrics.tables.models import pattern_of_models
from sqlmetrics.tables.schema import Source, Table
from sqlmetrics.texts.messages import TABLES, Argument, Command, Message, filled, give, set_to
from sqlmetrics.texts.wording import listed

# for each table, the check that counts the rows that its other checks look for
TOTALS = {"recommendations": "recommendation_totals", "interactions": "interaction_totals"}
EMPTY = "empty_table"  # the check for tables without rows
_TRUST = Message(
    ". If an empty overlap is correct, add ", Argument("trust_input", True),
    ", which skips all checks of rows",
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """The result of a check that found a problem: its place, examples and a remedy.

    `n`: the number of rows, lists or users; None if the problem is not about single rows.
    `identity`: the identity of the query that found the problem.
    """

    level: str
    check: str
    table: str
    found: str | Message
    n: int | None = None
    remedy: str | Message = ""
    examples: Sequence[Mapping[str, Any]] = ()
    column: str = ""
    where: str = ""
    identity: str = ""

    @property
    def text(self) -> str:
        """The message of the error, spelled for Python."""
        return str(self.error())

    def warning(self) -> DataWarning:
        """Create the warning, with the finding and its remedy in one line."""
        return DataWarning(
            self._located,
            table=self.table,
            column=self.column,
            remedy=self.remedy,
            after=".",
            check=self.check,
        )

    def error(self) -> DataError:
        """Create the error that rejects the table."""
        return (RowsError if self.examples else DataError)(
            self._located,
            table=self.table,
            column=self.column,
            examples=self.examples,
            remedy=self.remedy,
        )

    @property
    def _located(self) -> Message:
        return Message(f"{self.where or self.table}: ", self.found)


class OfTables:
    """Checks of the tables of a planner, which an engine runs."""

    engine: Engine
    planner: Planner

    def records(self, plan: Plan) -> list[dict[str, Any]]:
        """Run the query of a check."""
        return self.engine.records(physical(self.planner, plan, self.engine))


@dataclass(frozen=True)
class Rules(OfTables):
    """Checks the tables of results, by each rule once.

    Attributes:
        engine, planner: run and plan the checks.
        passed: the checks that have passed; newly passed checks are added.
        trusted: skip the checks of rows.
    """

    engine: Engine
    planner: Planner
    passed: set[str] = field(default_factory=set)
    trusted: bool = False

    def check(self, reads: Iterable[Reads], slices: Iterable[Sliced] = ()) -> None:
        """Check the tables that a result reads.

        Args:
            reads: the queries of each metric call.
            slices: the attributes to slice by, with their checks.

        Raises:
            UsageError: a table is only a name, for printed statements.
            DataError: the first broken rule, with examples and a remedy.
        """
        for call_reads in reads:
            try:
                self._check_reads(call_reads)
            except DataError as error:
                if not call_reads.where:
                    raise
                raise error.with_text(f"\nThis applies {call_reads.where}.") from error
        for sliced in () if self.trusted else slices:
            if sliced.reads is not None:
                self._check_reads(sliced.reads)
            for plan, refusal in (
                (sliced.uneven, _uneven if sliced.unassigned is None else _uneven_cluster),
                (sliced.named_missing, _named_missing),
                (sliced.unassigned, _unassigned),
            ):
                if plan is not None and (rows := self._new_records(plan)):
                    raise refusal(sliced.attribute, rows)

    def check_audit(self, audit: Audited) -> None:
        """Check the labels by people, which give the same users values as the other labels.

        Raises:
            UsageError, DataError: see `check`; or an audited user has one of two values, or a list
                with items that people have not judged.
        """
        of_audit = replace(self, planner=audit.planner)
        try:
            of_audit.check(audit.reads)
        except DataError as error:
            raise error.with_text(f"\n{READ_AS_INTERACTIONS}") from error
        for plans, problem, remedy in (
            (
                audit.unjudged,
                "{n} {n:item|items} in the lists of audited users {n:has|have} no judgement",
                Message(
                    "judge these lists up to the largest cutoff (relevance 0 for an item that is "
                    "not relevant), lower the cutoff, or remove the user from audit"
                ),
            ),
            (
                audit.unpaired,
                "{n} {n:list|lists} of audited users {n:has|have} a value by one kind of labels "
                "only",
                Message(
                    "include users without a relevant item with ",
                    set_to("audience", "judged"),
                    ", add the missing labels, or remove these users from both tables",
                ),
            ),
        ):  # fmt: skip
            for plan in () if self.trusted else plans:
                if rows := of_audit._new_records(plan):
                    raise RowsError(
                        _counted("audit", problem, rows),
                        table="audit",
                        examples=_examples(rows),
                        remedy=remedy,
                    )

    def _check_reads(self, reads: Reads) -> None:
        """Check the tables that some queries read, once per relevant set of settings."""
        for node in reads.nodes.values():
            table = self.planner.tables.get(node.table) if isinstance(node, Query) else None
            if table is not None and any(source.only_named for source in table.sources):
                raise UsageError(
                    f"{table.name}: {table.sources[0].label} is only a name, which ",
                    Command("sql"),
                    " puts into statements",
                    table=table.name,
                    remedy="to compute results, pass a file or a table that can be read",
                )
        for finding in () if self.trusted else self.broken(reads.values, reads.nodes):
            raise finding.error()

    def broken(self, values: Mapping[str, Value], nodes: Mapping[str, Node]) -> Iterator[Finding]:
        """Yield the rules broken by the tables that the nodes of a metric read.

        Raises:
            DataError: a table cannot be read.
        """
        read = [node.name for node in nodes.values() if node.is_input]
        given = as_given(values)
        found: dict[str, bool] = {}  # of cheaper queries

        def is_implied(check: Check) -> bool:
            """Return whether a cheaper query shows that no row breaks a rule."""
            if check.implied_by and check.implied_by not in found:
                plan = self.planner.check(self.planner.catalog.checks[check.implied_by], values)
                is_shown = plan.root.key in self.passed or bool(self.records(plan))
                self.passed.update([plan.root.key] if is_shown else ())
                found[check.implied_by] = is_shown
            return found.get(check.implied_by, False)

        for table in self.planner.tables:  # also those that the nodes do not read
            if table in TOTALS and table in read:
                yield from self._totals(given, table)
            else:
                yield from self._not_empty(given, table)
        if set(TOTALS) <= set(read):
            users = self.planner.catalog.checks["common_users"]
            common = self.planner.check(users, values)
            if (
                common.root.key not in self.passed
                and not is_implied(users)
                and not self.records(common)[0]["n_common"]
            ):
                yield Finding(
                    "error",
                    "common_users",
                    "recommendations",
                    f"no user in common with interactions: {self._some_users(given)}",
                    remedy="check that both tables have the same kind of user id",
                    identity=common.root.key,
                )
            self.passed.add(common.root.key)
        for check, plan in planned_checks(self.planner, values, nodes):
            is_passed = plan.root.key in self.passed or is_implied(check)
            rows = [] if is_passed else self.records(plan)
            if rows:
                yield finding_of(
                    self.planner, check, values, {"n": rows[0]["n_found"]}, rows, plan.root.key
                )
            self.passed.add(plan.root.key)
        for table in read:
            if self.planner.inputs.removed_by(table, values):
                yield from self._some_left(values, table)

    def _totals(self, values: Mapping[str, Value], table: str) -> Iterator[Finding]:
        given = self.planner.tables[table]
        plan = self.planner.check(self.planner.catalog.checks[TOTALS[table]], values)
        if plan.root.key in self.passed:
            return
        try:
            counts = self.records(plan)[0]
        except UnreadableError as error:
            for source in given.sources:
                if source.format.startswith("trec"):
                    shown = [*map(self.engine.shown, source.files)]
                    check_lines(table, source.files, shown, None, error)
            files = listed(dict.fromkeys(source.label for source in given.sources))
            raise DataError(
                f"{table}: {files} cannot be read: {error.reason}", table=table
            ) from error
        if counts["n_rows"] == 0:
            yield from self._not_empty(values, table)
        named = {_of_source(s) for s in given.sources if s.model is not None or s.run is not None}
        if len(named) > 1:
            found = self.records(self.planner.stage("models", values))
            named -= {of for row in found for of in _of_row(row)}
            settings = self.planner.inputs.removed_by(table, values)
            what = "run" if self.planner.several_runs else "model"
            for of in sorted(named):
                yield (
                    _all_removed(table, of, settings) if settings
                    else _empty(table, of, f"leave the {what} out")
                )  # fmt: skip
        for check in self.planner.catalog.checks.values():
            if check.table == table and check.count and counts[check.count]:
                numbers = {
                    "n": counts[check.count],
                    "rows": counts["n_rows"],
                    "lists": counts.get("n_lists", 0),
                }
                # none, if equal hashes come from different items: see the macro sorted_hashes
                if examples := self.records(self.planner.check(check, values)):
                    yield finding_of(self.planner, check, values, numbers, examples, plan.root.key)
        self.passed.add(plan.root.key)

    def _not_empty(self, values: Mapping[str, Value], table: str) -> Iterator[Finding]:
        plan = self.planner.some_row(table, values)
        if plan.root.key not in self.passed and not self.records(plan):
            settings = self.planner.inputs.removed_by(table, values)
            remedy = "" if table in TOTALS else "omit it, or give a table with rows"
            yield _all_removed(table, "", settings) if settings else _empty(table, "", remedy)
        self.passed.add(plan.root.key)

    def _some_left(self, values: Mapping[str, Value], table: str) -> Iterator[Finding]:
        """Yield findings about settings that remove all rows, or all rows of a model."""
        settings = self.planner.inputs.removed_by(table, values)
        left = self.planner.some_row(table, values)
        if left.root.key in self.passed:
            return
        if not self.records(left):
            yield _all_removed(table, "", settings)
        elif table == "recommendations" and self.planner.several_models:
            there = self.planner.stage("models", values)
            given = self.planner.stage("models", {**as_given(values), "masked_scores": "error"})
            models, left_over = (
                {row["model"] for row in self.records(plan)} for plan in (given, there)
            )
            for model in sorted(models - left_over):
                yield _all_removed(table, f" of {model}", settings)
        self.passed.add(left.root.key)

    def _some_users(self, values: Mapping[str, Value]) -> str:
        texts = []
        for table in ("recommendation", "interaction"):
            plan = self.planner.some_users(f"{table}_profile", values, n_users=3)
            rows, keys = self.records(plan), self.planner.user_keys
            users = [[row[key] for key in keys] for row in rows]
            shown = ", ".join(" ".join(map(repr, user)) for user in users)
            texts.append(f"{table}s has {shown}, …")
        return "; ".join(texts)

    def _new_records(self, plan: Plan) -> list[dict[str, Any]]:
        """Run the query of a check unless it has passed, and note whether it passes."""
        if plan.root.key in self.passed:
            return []
        rows = self.records(plan)
        if not rows:
            self.passed.add(plan.root.key)
        return rows


def planned_checks(
    planner: Planner, values: Mapping[str, Value], nodes: Mapping[str, Node]
) -> Iterator[tuple[Check, Plan]]:
    """Plan the checks of rows that belong to the nodes of a metric, without running them."""
    for check in planner.catalog.checks.values():
        absent = check.table in TABLES and check.table not in planner.tables
        is_read = not absent and nodes.keys() & set(check.on)
        if is_read and planner.applies(check, values):
            yield check, planner.check(check, values)


def _examples(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{name: row[name] for name in row if name != "n_found"} for row in rows]


def _counted(where: str, found: str, rows: Sequence[Mapping[str, Any]]) -> Message:
    return Message(f"{where}: ", filled(found, {"n": _number_text(rows[0]["n_found"])}))


def _place(attribute: Attribute) -> str:
    return f"{attribute.table}, column {attribute.name}"


def _uneven(attribute: Attribute, rows: Sequence[Mapping[str, Any]]) -> RowsError:
    template, of_users = attribute.template, attribute.of == "users"
    where = _place(attribute) if template is None else str(template.path)
    who = "{n:user has|users have}" if of_users else "{n:item|items} of users {n:has|have}"
    return RowsError(
        _counted(where, f"{{n}} {who} several values", rows),
        table=attribute.table,
        column=attribute.name,
        examples=_examples(rows),
        remedy=_one_value(attribute),
    )


def _uneven_cluster(attribute: Attribute, rows: Sequence[Mapping[str, Any]]) -> RowsError:
    return RowsError(
        _counted(_place(attribute), "{n} {n:user is|users are} in several clusters", rows),
        table=attribute.table,
        column=attribute.name,
        examples=_examples(rows),
        remedy="a cluster holds whole lists: name a column with one value per list, or add the "
        "column to the key",
    )


def _unassigned(attribute: Attribute, rows: Sequence[Mapping[str, Any]]) -> RowsError:
    return RowsError(
        _counted(_place(attribute), "{n} {n:user has|users have} no cluster", rows),
        table=attribute.table,
        column=attribute.name,
        examples=_examples(rows),
        remedy="fill in the column; a list that is alone has a cluster of its own",
    )


def _named_missing(attribute: Attribute, rows: Sequence[Mapping[str, Any]]) -> RowsError:
    return RowsError(
        _counted(_place(attribute), "{n} {n:row has|rows have} the text ", rows),
        f"{attribute.missing}, which is the name of the slice without a value",
        table=attribute.table,
        column=attribute.name,
        remedy="leave these values empty (NULL) if they mean that; if not, change the text",
    )


def _one_value(attribute: Attribute) -> Message:
    if attribute.of != "users":
        return Message("export one row per user and item, or slice by a column with one value")
    remedy = "slice by a column with one value per user, or export one row per user as the table "
    if attribute.table != "interactions":
        return Message(remedy + "users")
    by_item = Argument("by_item", f"interactions.{attribute.name}")
    return Message(remedy + "users; to slice the relevant items, write ", by_item)


def _of_source(source: Source) -> str:
    """Return the model and run of a source for messages: ` of als, run 3`."""
    of_model = "" if source.model is None else f" of {source.model}"
    return of_model + ("" if source.run is None else f", run {source.run}")


def _of_row(row: Mapping[str, Any]) -> list[str]:
    """Return the spellings of the model and run of a row as in messages about sources."""
    models = ["", f" of {row['model']}"]
    return [*models, *(f"{model}, run {row['run']}" for model in models if "run" in row)]


def _all_removed(table: str, of: str, settings: Sequence[str]) -> Finding:
    problem = f"{' and '.join(settings)} removed all rows"
    remedy = f"remove the setting, or omit {'the model' if of else 'the lists'}"
    return Finding(
        "error", "empty_table", table, problem, None, remedy, where=f"{table}{of}",
        identity=f"{table}{of}: {' '.join(settings)}",
    )  # fmt: skip


def _empty(table: str, of: str, remedy: str) -> Finding:
    problem = "the table is empty" if of else Message("the table is empty (", give(table), ")")
    return Finding(
        "error", EMPTY, table, problem, None, remedy, where=f"{table}{of}", identity=table + of
    )


def finding_of(
    planner: Planner,
    check: Check,
    values: Mapping[str, Value],
    counts: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    identity: str,
) -> Finding:
    """Describe a broken rule: the table, rows that break the rule, and a remedy.

    `counts`: numbers for the text of the check. Columns that the text names, such as a total, are
    not repeated in the examples.
    """
    table, column = (text.format_map(values) for text in (check.table, check.column))
    where = table
    if column:
        where += f", column {planner.tables[table].describe_column(column)}"
    known = {**rows[0], **counts}
    texts: dict[str, str | Message] = {
        **{name: value_text(value) for name, value in values.items()},
        **{name: _number_text(value) for name, value in known.items()},
        "of_policy": _of_row(known)[-1] if "model" in known else "",
        "nullable": ", ".join([*planner.keys.models, "user or item"]),
        "or_models": f" or the column {' or '.join(models)}"
        if (models := planner.keys.models)
        else "",
        # trust_input also skips the checks that pair the labels of an audit
        "or_trust": "" if any(t.name == AUDIT for t in planner.tables.values()) else _TRUST,
    }
    if table in planner.tables:
        found = planner.tables[table].sources[0].find(column)
        texts["source_column"] = identifier(column if found is None else found.source)
        texts["models_in_files"] = _models_in_files(planner.tables[table])
    try:
        problem, remedy = filled(check.found, texts), filled(check.remedy, texts)
    except (ValueError, LookupError, AttributeError) as error:
        raise TemplateError(
            f"{check.path}: found and remedy may name only n, columns of the query and settings "
            f"in braces: {error}"
        ) from error
    named = [*Formatter().parse(check.found), *Formatter().parse(check.remedy)]
    hidden = {"n_found"} | {name for _, name, _, _ in named if name}
    examples = [{n: v for n, v in row.items() if n not in hidden} for row in rows]
    return Finding(
        check.level,
        check.name,
        table,
        problem,
        counts["n"],
        remedy,
        examples if any(examples) else (),
        column,
        where,
        identity,
    )


def _number_text(value: Any) -> str:
    """Return a number of a check; some engines return sums of whole numbers as 600.0."""
    if isinstance(value, float | Decimal) and value == value // 1:
        value = int(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _models_in_files(table: Table) -> Message:
    """Return the beginning of a remedy if each of several files may be a model, else nothing."""
    source = table.sources[0]
    pattern = pattern_of_models(source.files) if source.model is None else ""
    if table.name != "recommendations" or "model" in table.columns or not pattern:
        return Message()
    named = Argument("recommendations", pattern)
    return Message(
        f"if each of the {len(source.files):,} files is a model, write ", named, "; otherwise "
    )
