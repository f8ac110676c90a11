"""Every template, rendered in every choice, and the plans that use them."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import jinja2.meta
import pytest

from sqlmetrics.errors import DataError, MissingTableError, UsageError
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.conventions import Convention
from sqlmetrics.metrics.definitions import Definitions
from sqlmetrics.metrics.front_matter import (
    Alternative,
    Check,
    Param,
    Template,
    template_root,
)
from sqlmetrics.metrics.requests import MetricRequest, calls_of
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import MetricSpec, Specs, parse_spec
from sqlmetrics.plan.clusters import Clusters
from sqlmetrics.plan.comparison import changes, comparison
from sqlmetrics.plan.one_user import extremes, one_user
from sqlmetrics.plan.per_user import per_user, per_user_long
from sqlmetrics.plan.physical import physical
from sqlmetrics.plan.planner import Planner
from sqlmetrics.plan.results import Results, results_of
from sqlmetrics.plan.rounds import planner_of
from sqlmetrics.plan.slices import Attribute, Slicing, attribute_of_clusters, attributes_of
from sqlmetrics.plan.split import DROPS, EVENTS, ROUNDINGS, Events, Rule
from sqlmetrics.plan.summary import summary
from sqlmetrics.record import fingerprints
from sqlmetrics.report.analysis import Question
from sqlmetrics.report.examples import examples
from sqlmetrics.report.figures import KINDS
from sqlmetrics.run import demo
from sqlmetrics.sql.dialects import NATIVE
from sqlmetrics.sql.query_graph import Node, Plan, Query, Rendered
from sqlmetrics.sql.template_names import Keys
from sqlmetrics.sql.templates import environment, render_file
from sqlmetrics.stats.gaps import GAPS
from sqlmetrics.stats.intervals import Interval
from sqlmetrics.tables.schema import ATTRIBUTES, Source, SourceColumn, Table
from tests.support.calls import studied
from tests.support.evaluators import Evaluator
from tests.support.paths import DATA

ROOT = template_root()
FILES = sorted(ROOT.rglob("*.sql.j2"))
MACROS = {
    found[1]: found[0]
    for path in sorted(ROOT.glob("macros/*.sql"))
    for found in re.finditer(
        r"{%-? macro (\w+)\(.*?endmacro", path.read_text(encoding="utf-8"), re.S
    )
}
CATALOG = Catalog.load()
STANDARD = Settings(CATALOG, Convention.load("standard"), {})
METRICS = list(CATALOG.metrics.values())
STAGES = list(CATALOG.stages.values())
METRIC_PARAMS = {name: param for metric in METRICS for name, param in metric.params.items()}
SLICES = list(CATALOG.slices.values())
# those that replace stages are rendered as stages are; the others are of results
ALTERNATIVES = [
    one for one in CATALOG.alternatives if one.name in {*CATALOG.stages, *CATALOG.metrics}
]
LOGICAL: list[Template] = [
    one
    for one in [*METRICS, *STAGES, *CATALOG.checks.values(), *SLICES]
    if ROOT / "physical" not in one.path.parents
]
TEMPLATES: list[Template] = [
    *LOGICAL,
    *(stage for stage in STAGES if stage not in LOGICAL),
    *ALTERNATIVES,
]
# templates in place of stages: of the truth for slices of items, of lists for populations
INSTEAD = ("by_item", "by_round", "by_user")
MODEL_NAMES = set(Keys(model="als").context)  # what several models change
NUMBERS: dict[str, list[float | None]] = {
    "relevant_from": [None, float("-inf"), -1, 2.5],
    "judged_from": [None, -1],
    "beta": [0.5, 1, 2],
    "alpha": [0, 0.5],
    "break_probability": [0, 0.15],
    "p": [0.8, 1],
    "head": [0.8, 1],
    "gamma": [2, 0],
    "a": [0.55],
    "b": [1.5],
    "smoothing": [0.01, 1],
    "js_smoothing": [0, 0.1],
    "history_patience": [0.85],
    "tail": [0.2],
    "iqr_coef": [1.5],
    "baseline_k": [None, 3],
    "at_most": [1],
    "precision": [0.5, 1],
    "target": [1, 2.5],
    "recall": [0, 0.5],
    "patience": [0.85, 0.5],
    "at_least": [1, None],
    "missing_value": [0, 2.5],
    "eps": [1e-15, 0.2],
    "n_bins": [10, 1],
    "max_grade": [None, 4],
    "max_weight": [None, 20],
    "sample_users": [None, 100],
    "runs": [1, 3],
    "seed": [1],
    "warm_from": [20],
    "groups": [4],
    "head_share": [0.2],
    "lambda": [0.5],
    "within": [7],
    "list_k": [None, 10],
}
RECURSIVE = ("duckdb", "clickhouse", "datafusion", "postgres")  # with windows in the recursion
READS_COLUMNS = {"comparable_times", "has", "has_user", "need", "need_time", "rank_is_whole"}
TIMES = ("timestamp", "created_at")  # columns
TIMED = ("month", "time")  # slices with units
UNIT_READS = {"timestamp": "TIMESTAMP", "seconds": "BIGINT", "milliseconds": "BIGINT"}
CUTOFFS = [
    {"cutoffs": [5, 10], "max_cutoff": 10},
    {"cutoffs": [10, None], "max_cutoff": None},
]


def table(
    name: str, columns: Mapping[str, str], models: tuple[str | None, ...] = (None,), **more: Any
) -> Table:
    sources = tuple(
        Source(
            f"{name}_file",
            f"{name}_file_in_order",
            tuple(SourceColumn(column, column, kind) for column, kind in columns.items()),
            name,
            model,
            **more,
        )
        for model in models
    )
    return Table(name, sources, columns)


KEYS = {"user_id": "BIGINT", "item_id": "BIGINT"}
RICH = {
    "recommendations": {"score": "DOUBLE", "rank": "BIGINT", "timestamp": "TIMESTAMP"},
    "interactions": {"relevance": "INTEGER", "timestamp": "TIMESTAMP"},
    "history": {"timestamp": "TIMESTAMP", "weight": "DOUBLE"},
    "items": {
        "price": "DOUBLE",
        "category": "VARCHAR[]",
        "item_group": "VARCHAR[]",
        "features": "FLOAT[]",
        "propensity": "DOUBLE",
        "group_target": "DOUBLE",
        "created_at": "TIMESTAMP",
    },
    "users": {"country": "VARCHAR", "weight": "DOUBLE"},
    "aspects": {"aspect": "VARCHAR"},
    "baseline": {"score": "DOUBLE"},
    "logs": {
        "round_id": "BIGINT",
        "reward": "INTEGER",
        "propensity": "DOUBLE",
        "target_propensity": "DOUBLE",
        "position": "BIGINT",
        "examination": "DOUBLE",
    },
    "policy": {"round_id": "BIGINT", "probability": "DOUBLE", "predicted": "DOUBLE"},
}
POOR: dict[str, dict[str, str]] = {
    **{name: {} for name in RICH},
    "recommendations": {"rank": "DOUBLE"},
    "logs": {"reward": "INTEGER"},
    "policy": {"probability": "DOUBLE"},
}


def planner(
    several_models: bool = False,
    poor: bool = False,
    checked: bool = False,
    fuse: bool = True,
    baseline: str = "score",
    timestamp: str = "TIMESTAMP",
    ids: str = "BIGINT",
    dialect: str = NATIVE,
    several_runs: bool = False,
) -> Planner:
    """Make a planner for tables with all columns that there are, or with as few as possible.

    `baseline`: the column that orders the baseline lists, or "row". `timestamp`: the type of the
    columns of that name. `ids`: the type of users and items.
    """
    models = ("als", "popular") if several_models else (None,)
    order: dict[str, str] = {} if baseline == "row" else {baseline: "BIGINT"}
    tables = {}
    for name, columns in {**(POOR if poor else RICH), "baseline": order}.items():
        of_users = name != "items" and not (poor and name == "aspects")
        keys = dict.fromkeys(KEYS if of_users else ["item_id"], ids)
        parts = models if name == "recommendations" else (None,)
        columns = {key: timestamp if key in TIMES else columns[key] for key in columns}
        runs = {"run": "BIGINT"} if several_runs and name == "recommendations" else {}
        tables[name] = table(name, {**keys, **runs, **columns}, parts)
    return Planner(
        CATALOG,
        tables,
        several_models=several_models,
        several_runs=several_runs,
        checked=checked,
        fuse=fuse,
        dialect=dialect,
    )


def values_of(param: Param) -> list[Any]:
    if param.choices:
        return [choice for choice in param.choices if choice != "auto"]
    return NUMBERS[param.name]


def told_apart(values: list[Any], source: str) -> list[Any]:
    """Return values; of the choices that a template does not name, only the first."""
    unnamed = [one for one in values if isinstance(one, str) and f'"{one}"' not in source]
    return [one for one in values if one not in unnamed[1:]]


@functools.cache  # parsing a template takes longer than rendering it
def names_in(source: str) -> frozenset[str]:
    """Find the names that a template is given, also by templates that it extends or includes."""
    tree = environment().parse(source)
    names = jinja2.meta.find_undeclared_variables(tree)
    for other in tree.find_all((jinja2.nodes.Extends, jinja2.nodes.Include)):
        names |= names_in((ROOT / other.template.value).read_text(encoding="utf-8"))
    return frozenset(names)


def names_read(template: Template) -> frozenset[str]:
    """Find the names that a template reads, also in the condition of a check."""
    when = template.when if isinstance(template, Check) else ""
    return names_in(template.body) | (names_in(f"{{{{ {when} }}}}") if when else frozenset())


@functools.cache
def with_parts(source: str) -> str:
    """Return a template with the templates and macros that it reads, and those that these read."""
    kinds = (jinja2.nodes.Extends, jinja2.nodes.Include)
    parts = [one.template.value for one in environment().parse(source).find_all(kinds)]
    texts = [with_parts((ROOT / part).read_text(encoding="utf-8")) for part in parts]
    left, text = dict(MACROS), "\n".join([source, *texts])
    while called := [name for name in left if re.search(rf"\b{name}\(", text)]:
        text = "\n".join([text, *map(left.pop, called)])
    return text


def names_set_in(source: str) -> set[str]:
    """Find the names that a template sets, perhaps only in a branch."""
    names: set[str] = set()
    for kind in (jinja2.nodes.Assign, jinja2.nodes.AssignBlock):
        for assigned in environment().parse(source).find_all(kind):
            targets = [assigned.target, *assigned.target.find_all(jinja2.nodes.Name)]
            names |= {name.name for name in targets if isinstance(name, jinja2.nodes.Name)}
    return names


def renderings(
    template: Template, briefly: bool = False, dialect: str = NATIVE
) -> Iterator[tuple[str, str]]:
    """Yield the SQL of a template for every choice that it looks at, and what was chosen.

    `briefly`: several models only where they change more than the list of keys, and of many
    combinations those in which two choices at most are not the first. Templates with many choices
    get those that they tell apart; with very many, they are rendered for one model in any case, and
    briefly at the second pair of cutoffs.
    """
    used = names_in(template.body)
    params = {**METRIC_PARAMS, **CATALOG.stage_params, **template.params}
    choices = {name: values_of(params[name]) for name in params if name in used}
    if math.prod(map(len, choices.values())) > 50:
        source = with_parts(template.body)
        choices = {name: told_apart(values, source) for name, values in choices.items()}
    if "score_is_read" in used:
        choices["order"] = values_of(params["order"])
    has_many = math.prod(map(len, choices.values())) > 500
    model_names = {"several_models", "model_of"} if briefly or has_many else MODEL_NAMES
    facts = {
        "checked": [False, True] if "checked" in used else [False],
        "poor": [False, True] if used & READS_COLUMNS else [False],
        "several_models": [False, True] if used & model_names else [False],
        "baseline": ["rank", "score", "row"] if "order_of" in used else ["score"],
        "timestamp": ["TIMESTAMP", "BIGINT"] if "need_time" in used else ["TIMESTAMP"],
        "ids": ["VARCHAR"] if used & {"is_text", "text_ids"} else ["BIGINT"],
    }
    cutoffs = CUTOFFS if used & {"cutoffs", "max_cutoff"} else CUTOFFS[:1]
    defaults = {name: param.default for name, param in params.items()}
    for fact_values in itertools.product(*facts.values()):
        fact = dict(zip(facts, fact_values, strict=True))
        plans = planner(**fact, dialect=dialect)
        for cutoff in cutoffs:
            chosen_values = list(itertools.product(*choices.values()))
            if (briefly and len(chosen_values) > 40) or (has_many and cutoff is CUTOFFS[1]):
                chosen_values = [c for c in chosen_values if n_unusual(c, choices) <= 2]
            for chosen in chosen_values:
                choice = dict(zip(choices, chosen, strict=True))
                values = {**defaults, **choice, **cutoff, "chosen_settings": tuple(choice)}
                label = f"{template.name} {fact} {cutoff} {choice}"
                asked = {**choice, **cutoff, "dialect": dialect}
                if (expected := refusal(template, fact, asked)) is None:
                    yield label, text_of(template, plans, values)
                else:
                    error, message = expected
                    with pytest.raises(error, match=message):
                        text_of(template, plans, values)


def n_unusual(chosen: tuple[Any, ...], choices: Mapping[str, list[Any]]) -> int:
    """Count the choices that are not the first of their setting."""
    return sum(value != of[0] for value, of in zip(chosen, choices.values(), strict=True))


# a call of refuse_setting: the name of the setting, and the values that mean nothing there
REFUSED = re.compile(r'refuse_setting\(\s*"(?P<name>\w+)", \w+,\s+\[(?P<values>[^]]*)\]')
# calls that the template of a metric makes only under other settings
REFUSED_ONLY_WITH = {
    ("ndcg", "ties"): {"ideal": ["hits", "hits_of_list"], "order": ["score"]},
    ("rbp", "ties"): {"output": ["residual"], "order": ["score"]},
    ("rbp", "unjudged"): {"output": ["residual"]},
    ("intra_list_diversity", "distance"): {"over": ["features"]},
    ("serendipity", "no_hits"): {"combined": ["sum"]},
    ("awrf", "target"): {"groups": ["popularity"]},
    ("ndkl", "target"): {"groups": ["popularity"]},
}


def refusal(
    template: Template, fact: Mapping[str, Any], choice: Mapping[str, Any]
) -> tuple[type[Exception], str] | None:
    """Say how a template refuses tables or settings, None if it takes them."""
    poor = fact["poor"]
    needs = {"need", "need_time"} & names_in(template.body)
    of_residual = choice.get("output") == "residual"  # which reads no relevance
    if poor and needs and choice.get("gain") != "binary" and not of_residual:
        return MissingTableError, "needs the column"
    unit = choice.get("unit" if template.name in TIMED else "times")
    if "need_time" in names_in(template.body) and UNIT_READS[unit] != fact["timestamp"]:
        return (
            DataError,
            rf"column (timestamp|created_at): the type in .* is {fact['timestamp']}, not",
        )
    if template.name == "relevant" and poor and (choice["relevant_from"] or 0) > 1:
        return DataError, "relevant_from is 2.5"
    threshold = choice.get("relevant_from", 0)
    if choice.get("gain") == "exponential_from" and (threshold is None or threshold < 0):
        return UsageError, "needs a relevant_from of 0 or more"
    for found in REFUSED.finditer(template.body):
        only_with = REFUSED_ONLY_WITH.get((template.name, found["name"]), {})
        refuses = all(choice[name] in values for name, values in only_with.items())
        if refuses and f'"{choice[found["name"]]}"' in found["values"].split(", "):
            return UsageError, "has no meaning for"
    if template.name == "cut_list_hits" and choice["list_k"] is None:
        return DataError, "needs ideal=hits_of_list and list_k"
    if template.name == "ndcg" and choice["ideal"] == "hits_of_list":
        depth, k = choice["list_k"], choice["max_cutoff"]
        if depth is not None and (k is None or k > depth):
            return UsageError, "needs cutoffs of at most"
    if template.name == "sampled_users" and choice["sample_users"] is None:
        return DataError, "needs sample_users"
    if template.name == "diverse_ideal" and isinstance(template, Alternative):
        return (UsageError, "Give cutoffs") if choice["max_cutoff"] is None else None
    if template.name in TIMED and choice["dialect"] != NATIVE and choice["unit"] != "timestamp":
        return UsageError, "pass a view with a timestamp"
    return None


def text_of(template: Template, plans: Planner, values: Mapping[str, Any]) -> str:
    return plans.text(template, values).sql


def under_standard(plans: Planner, specs: Specs) -> list[MetricRequest]:
    """Resolve specs at their cutoffs under the standard convention."""
    return Definitions(CATALOG, [STANDARD], has_rank=plans.has_rank).requests(specs)


def wanted(plans: Planner, *calls: str, k: Iterable[int | None] = (5, None)) -> list[MetricRequest]:
    """Ask for calls at cutoffs."""
    specs: dict[MetricSpec, list[int | None]] = {parse_spec(call): list(k) for call in calls}
    if plans.dialect not in RECURSIVE:  # the others refuse whole lists of it
        specs |= {spec: [cutoff for cutoff in k if cutoff] for spec in specs
                  if spec.metric == "alpha_ndcg"}  # fmt: skip
    return under_standard(plans, specs)


def slicing(
    plans: Planner, by: Iterable[str] = (), by_item: Iterable[str] = (), combinations: bool = False
) -> Slicing:
    attributes = attributes_of(by, by_item, CATALOG, plans.tables, plans.user_keys)
    values = STANDARD.values()
    return Slicing(plans, attributes, combinations, values)


NORMAL, NONE = Interval(), Interval("none")
BOOTSTRAP, RUN_CI = Interval("bootstrap"), Interval("bootstrap", of_runs=True)
ALL_AGGREGATES = [f"hit_rate(aggregate={a})" for a in CATALOG.stage_params["aggregate"].choices]
PER_USER = [
    *("ndcg", "map@5", "mrr(audience=recommended)", "alpha_ndcg", "money_recall"),
    *("intra_list_diversity(over=category)", *ALL_AGGREGATES),
]
PER_RUN = ["coverage", "ips", "snips"]
OF_JUDGED = ["ndcg", "recall(audience=judged)"]  # what slices of items are for
BY_USER: list[dict[str, Any]] = [
    {"by": ["country"]},
    {"by": ["recommendations.score(groups=4)"]},
    {"by": ["recommendations.score(bins=0|1.5)"]},
    {"by": ["country", "activity"], "combinations": True},
]
BY_ITEM: list[dict[str, Any]] = [
    {"by_item": ["category", "popularity"]},
    {"by": ["month"], "combinations": True},
    {"by": ["activity_group"], "by_item": ["category"]},
]
TESTS = ["t", "wilcoxon", "randomization", "bootstrap"]


def plans() -> Iterator[tuple[str, Plan]]:
    """Yield plans that need every template but those of stages, metrics and the like."""
    yield from plans_of_calls()
    yield from plans_of_engines()
    yield from plans_of_inputs()
    yield from plans_of_records()
    yield from plans_of_reports()
    yield from plans_of_runs()
    yield from plans_of_clusters()
    yield from plans_of_audits()
    yield from plans_of_rounds()
    yield from plans_of_splits()


def plans_of_calls(dialect: str = NATIVE) -> Iterator[tuple[str, Plan]]:
    """Yield plans of results for calls of metrics, and looks at stages."""
    for several_models, fuse in itertools.product([False, True], repeat=2):
        plans = planner(several_models, fuse=fuse, dialect=dialect)
        where = f"several_models={several_models} fuse={fuse}"
        of_users, of_runs = wanted(plans, *PER_USER), wanted(plans, *PER_RUN)
        yield f"summary {where}", summary(results_of(plans, [*of_users, *of_runs]))
        yield f"summary of runs {where}", summary(results_of(plans, of_runs))
        yield f"per user {where}", per_user(results_of(plans, of_users))
        yield f"long per user {where}", per_user(results_of(plans, of_users), long=True)
        yield f"one per user {where}", per_user(results_of(plans, of_users[:1]))
        yield from long_plans(f"long {where}", results_of(plans, [*of_users, *of_runs]))
        values = STANDARD.values()
        yield "look", plans.stage("hits", values)
        yield "short look", plans.stage("ranked", {**values, "ties": "item_desc"}, limit=5)
        yield "is there a row", plans.some_row("recommendations", values)
        checks = [CATALOG.checks["few_common_users"], CATALOG.checks["lists_identical"]]
        queries = {check.name: plans.check(check, values).root for check in checks}
        yield "which checks find something", plans.found(queries)
        if plans.several_models:
            rows = plans.check(CATALOG.checks["recommendations_seen"], values).root
            assert isinstance(rows, Query)
            yield "rows that a check finds by model", plans.found_by_model(rows)
        yield "some users", plans.some_users("interaction_profile", values, n_users=3)
    for several_models in (False, True):
        plans = planner(several_models, dialect=dialect)
        yield from plans_of_results(plans)
        yield from plans_of_users(plans, f"{several_models=}")


def plans_of_users(plans: Planner, where: str) -> Iterator[tuple[str, Plan]]:
    """Yield what explains one user, and finds users."""
    prices = [Attribute("price", "items", "items")]
    for metrics in (["ndcg", "calibration"], ["recall"]):
        of = results_of(plans, wanted(plans, *metrics))
        planned = one_user(of, {"user_id": 1}, prices)
        for name, plan in planned.plans.items():
            yield f"{name} of a user {where}", plan
    of = results_of(plans, wanted(plans, "recall", k=[5]))
    for highest in (False, True):
        yield f"extreme users {where}", extremes(of, 3, highest)
        for n in (3, None) if plans.several_models else ():
            yield f"changed users {n=} {where}", changes(of, "als", n, highest)


def plans_of_engines() -> Iterator[tuple[str, Plan]]:
    """Yield what engines run: plans that need every alternative of a template of results."""
    for dialect, several_models, fuse in itertools.product((NATIVE, "spark"), *[[False, True]] * 2):
        plans = planner(several_models, fuse=fuse, dialect=dialect)
        requests = wanted(plans, "ndcg", "alpha_ndcg", "kendall_tau", *PER_RUN)
        for interval in (NORMAL, RUN_CI):
            plan = summary(results_of(plans, requests, interval=interval))
            yield f"{interval.kind} in {dialect}, {several_models=} {fuse=}", physical(plans, plan)


def long_plans(label: str, results: Results) -> Iterator[tuple[str, Plan]]:
    """Yield the plan of values of users in rows."""
    plan = per_user_long(results)
    assert plan is not None
    yield label, plan
    if not results.of_runs:
        yield f"a row per cutoff, {label}", per_user(results, long=True)


def plans_of_results(plans: Planner) -> Iterator[tuple[str, Plan]]:
    """Yield plans of slices, intervals and comparisons, for one convention and for two."""
    where = f"several_models={plans.several_models}"
    few, of_runs = wanted(plans, "ndcg", "mrr(audience=recommended)"), wanted(plans, *PER_RUN)
    two = [STANDARD, Settings(CATALOG, Convention.load("recommenders"), {})]
    both = Definitions(CATALOG, two, has_rank=plans.has_rank).requests({parse_spec("map"): [5]})
    for interval in (NONE, BOOTSTRAP, RUN_CI):
        label = f"{interval.kind} of_runs={interval.of_runs} {where}"
        yield label, summary(results_of(plans, [*few, *of_runs], interval=interval))
    for sliced in (None, *BY_USER):
        slices = slicing(plans, **sliced) if sliced else None
        for interval in (NORMAL, RUN_CI) if sliced else ():
            results = results_of(plans, [*few, *of_runs], slicing=slices, interval=interval)
            yield f"{interval.kind} {sliced} {where}", summary(results)
        results = results_of(plans, both, with_convention=True, slicing=slices)
        yield f"two conventions {sliced} {where}", summary(results)
        yield f"two conventions per user {sliced} {where}", per_user(results)
        yield from long_plans(f"two conventions long {sliced} {where}", results)
    for sliced in BY_ITEM:
        requests = wanted(plans, *OF_JUDGED, k=(5, 10))
        for interval in (NORMAL, BOOTSTRAP):
            results = results_of(
                plans, requests, slicing=slicing(plans, **sliced), interval=interval
            )
            yield f"{interval.kind} {sliced} {where}", summary(results)
        yield f"per user {sliced} {where}", per_user(results)
        yield from long_plans(f"long {sliced} {where}", results)
    for sliced, gaps in itertools.product((BY_USER[0], BY_ITEM[0]), (["difference"], GAPS)):
        of = [*few, *of_runs] if "by" in sliced else wanted(plans, *OF_JUDGED)
        for interval in (NORMAL, RUN_CI):
            results = results_of(
                plans, of, slicing=slicing(plans, **sliced), interval=interval, gaps=gaps
            )
            yield f"gaps {gaps} {interval.kind} {sliced} {where}", summary(results)
    many = results_of(plans, wanted(plans, "ndcg", "map", k=range(1, 50)), interval=BOOTSTRAP)
    yield f"many cutoffs {where}", summary(many)
    for long in (False, True):
        yield f"many cutoffs per user {long=} {where}", per_user(many, long)
    for name in ("country", "recommendations.score", "activity"):
        slices = slicing(plans, [name])
        yield f"uneven {name} {where}", slices.uneven(slices.of_users[0])
    if "relevance" in plans.tables["interactions"].columns:
        read = {"interactions": plans.node("interactions", STANDARD.values())}
        yield f"thresholds {where}", Plan(plans.rendered("thresholds", read, most=20))
    yield (
        f"named missing {where}",
        slicing(plans, ["country"]).named_missing(slicing(plans, ["country"]).of_users[0]),
    )
    for test, interval in itertools.product(
        TESTS if plans.several_models and plans.dialect == NATIVE else (), (NORMAL, BOOTSTRAP)
    ):
        label = f"{test} {interval.kind}"
        yield label, comparison(results_of(plans, few, interval=interval), "als", test)
        results = results_of(
            plans,
            both,
            with_convention=True,
            slicing=slicing(plans, **BY_USER[1]),
            interval=interval,
        )
        yield f"two conventions {label}", comparison(results, "als", test)


def plans_of_runs() -> Iterator[tuple[str, Plan]]:
    """Yield plans of results for models with several runs."""
    for several_models, dialect in itertools.product((False, True), (NATIVE, "spark")):
        plans = planner(several_models, dialect=dialect, several_runs=True)
        where = f"runs, several_models={several_models} {dialect}"
        requests = wanted(plans, "ndcg", "mrr(aggregate=median)", *PER_RUN)
        by_run = {"by": ["run", *BY_USER[0]["by"]]}
        for sliced, interval in ((None, RUN_CI), (BY_USER[0], NORMAL), (by_run, RUN_CI)):
            slices = slicing(plans, **sliced) if sliced else None
            results = results_of(plans, requests, slicing=slices, interval=interval)
            yield f"{interval.kind} {sliced} {where}", summary(results)
        logs = {name: kind for name, kind in RICH["logs"].items() if name != "target_propensity"}
        tables = {"logs": table("logs", {**KEYS, **logs})}
        tables |= {name: plans.tables[name] for name in ("recommendations", "users")}
        of_logs = replace(plans, tables=tables)
        requests_of_rounds = wanted(of_logs, "ipw", "snipw", "ess", k=[None])
        of_rounds = planner_of(of_logs, requests_of_rounds)
        for by in (None, ["run"], ["country"]):
            slices = slicing(of_rounds, by) if by else None
            results = results_of(of_rounds, requests_of_rounds, slicing=slices)
            yield f"rounds {by} {where}", summary(results)
            if several_models and by != ["run"]:
                few = results.narrowed(requests_of_rounds[:2])
                yield f"comparison of rounds {by} {where}", comparison(few, "als", "t")
    yield "comparison of runs", comparison(results_of(plans, requests[:1]), "als", "t")


def plans_of_clusters() -> Iterator[tuple[str, Plan]]:
    """Yield plans of results whose lists are in clusters: by a column of users, and of the key."""
    for several_models, dialect in itertools.product((False, True), (NATIVE, "spark")):
        plans = planner(several_models, dialect=dialect)
        few = wanted(plans, "ndcg", "mrr(aggregate=weighted_mean)", k=[5])
        requests = [*few, *wanted(plans, *PER_RUN, k=[5])]
        for column, (sliced, interval) in itertools.product(
            ("country", "user_id"), ((None, NORMAL), (BY_USER[1], NORMAL), (BY_USER[0], RUN_CI))
        ):
            where = f"clusters by {column}, {sliced} {several_models=} {dialect}"
            attribute = attribute_of_clusters(column, CATALOG, plans.tables, plans.user_keys)
            clusters = Clusters.of(plans, attribute, STANDARD.values())
            slices = slicing(plans, **sliced) if sliced else None
            results = results_of(
                plans, requests, slicing=slices, interval=interval, clusters=clusters,
                gaps=["difference"] if interval is RUN_CI else (),
            )  # fmt: skip
            yield f"{interval.kind} {where}", summary(results)
            audience = [table.everybody for table in results.wide.tables.values()]
            if (unassigned := clusters.unassigned(audience)) is not None:
                yield f"without {where}", unassigned
            if several_models and dialect == NATIVE and sliced is None:
                yield f"comparison {where}", comparison(results.narrowed(few[:1]), "als", "t")


def plans_of_audits() -> Iterator[tuple[str, Plan]]:
    """Yield plans of results that people correct, and their checks."""
    for several_models, sliced in itertools.product((False, True), (None, BY_USER[0])):
        plans = planner(several_models)
        tables = {**plans.tables, "audit": replace(plans.tables["interactions"], name="audit")}
        plans = replace(plans, tables=tables)
        requests = wanted(plans, "ndcg", "surprisal", k=[5, None])
        results = results_of(plans, requests, slicing=slicing(plans, **sliced) if sliced else None)
        where = f"audit, {sliced} {several_models=}"
        yield where, summary(results)
        if several_models:
            yield f"comparison {where}", comparison(results, "als", "t")
        assert results.audit is not None
        for plan in (*results.audit.unpaired, *results.audit.unjudged):
            yield f"check {where}", plan


def plans_of_rounds() -> Iterator[tuple[str, Plan]]:
    """Yield plans of metrics of rounds: by a column of the logs, of a policy and of two."""
    for has_models in (False, True):
        plans = planner()
        model = {"model": "VARCHAR"} if has_models else {}
        logs = {name: kind for name, kind in RICH["logs"].items() if name != "target_propensity"}
        tables = {
            "logs": table("logs", {**KEYS, **logs}),
            "policy": table("policy", {**KEYS, **model, **RICH["policy"]}),
            "users": plans.tables["users"],
        }
        plans = replace(plans, tables=tables, several_models=has_models)
        requests = wanted(plans, "ipw", "snipw", "sndr", "ess", k=[None])
        of_rounds = planner_of(plans, requests)
        for sliced in (None, ["logs.reward"], ["country"]):
            slices = slicing(of_rounds, sliced) if sliced else None
            results = results_of(of_rounds, requests, slicing=slices)
            yield f"rounds {sliced} {has_models=}", summary(results)
            if has_models:
                few = results.narrowed(requests[:3])
                yield f"comparison of rounds {sliced}", comparison(few, "als", "t")
        rows = plans.rendered("n_rows", {"counted_rows": plans.node("logs", STANDARD.values())})
        yield "number of rows", Plan(rows)


def plans_of_records() -> Iterator[tuple[str, Plan]]:
    """Yield what is read for records."""
    kinds = ["INTEGER", "UBIGINT", "DOUBLE", "DATE", "TIMESTAMP_NS", "VARCHAR"]
    for several_models in (False, True):
        plans = planner(several_models)
        (call,) = calls_of(wanted(plans, "ndcg", k=[5]))
        for table in ("recommendations", "interactions"):
            node = plans.node(table, call.values)
            of_all = dict(zip(sorted(node.columns), itertools.cycle(kinds), strict=False))
            for types in ({}, of_all):
                yield f"fingerprint of {table} {types}", Plan(fingerprints.rows_of(node, types))
        sides = ["audience", "lists", "relevant_users"]
        for names in (sides, sides[:2]):
            nodes: dict[str, Node] = {name: plans.node(name, call.values) for name in names}
            counts = plans.rendered("record/user_counts", nodes, has_truth=names is sides)
            yield f"users by {names}", Plan(counts)


def plans_of_reports() -> Iterator[tuple[str, Plan]]:
    """Yield what reports of one model and of two are made from."""
    lists = {name: DATA / f"recommendations_{name}.parquet" for name in ("als", "popular")}
    others = {name: DATA / f"{name}.parquet" for name in ("history", "items", "users")}
    for recommendations, tables, k in ((lists, others, [5]), (lists["popular"], {}, None)):
        evaluator = Evaluator(recommendations, DATA / "interactions.parquet", **tables)
        run: list[Plan] = []
        with evaluator, studied(evaluator, Question(["ndcg", "dcg"], k)) as study:
            study.run = watched(study.run, run)
            for kind in (
                "distribution",
                "differences",
                "exposure",
                "popularity",
                "group_exposure",
                "calibration",
                "popularity_lift",
            ):
                KINDS[kind].rows(study)
            study.add_usual_slices()
            assert examples(study)
        yield from ((f"report {number} of {recommendations}", plan)
                    for number, plan in enumerate(run))  # fmt: skip


def watched(run: Callable[[Plan], Any], plans: list[Plan]) -> Callable[[Plan], Any]:
    return lambda plan: plans.append(plan) or run(plan)


def plans_of_splits() -> Iterator[tuple[str, Plan]]:
    """Yield what splits events in every way, and what it finds about them."""
    rules: list[dict[str, Any]] = [
        {"by": "time", "at": "2024-01-01", "gap": "1d"},
        {"by": "time", "share": 0.2},
        {"by": "time", "share": 0.2, "gap": "1d"},
        {"by": "last=2"},
        *({"by": "last-share=0.2", "rounding": rounding, "gap": "1d"} for rounding in ROUNDINGS),
        {"by": "random", "share": 0.2},
        {"by": "users", "share": 0.2, "drop": ["cold_users"]},
        {"by": "last=2", "drop": ["cold_items"]},
        {"by": "last=2", "drop": ["cold_users", "cold_items"]},
        {"by": "last=2", "drop": ["seen"]},
        {"by": "last=2", "drop": DROPS},
    ]
    tables = [table(EVENTS, {**KEYS, **time}) for time in ({"timestamp": "TIMESTAMP"}, {})]
    for events in (Events.of(one, Keys()) for one in tables):
        where = events.type_of_time or "no time"
        for rule in (Rule.of(**one) for one in rules):
            if events.type_of_time or not rule.has_time:
                marked = events.marked(rule, events.node)
                history, held_out = (
                    events.side(rule, marked, one, one) for one in ("history", EVENTS)
                )
                yield f"history by {rule} of {where}", Plan(history)
                yield f"truth by {rule} of {where}", Plan(events.kept(rule, held_out, history))
                yield f"sizes by {rule} of {where}", Plan(events.sizes(rule, marked))
        reads = {"history": history, "truth": held_out}
        yield f"report of {where}", Plan(events.query("report", reads=reads))
        reads = {"events": events.node}
        yield f"extent of {where}", Plan(events.query("extent", reads=reads))
        for is_number in (False, True):
            unusable = events.query("unusable", reads=reads, is_number=is_number)
            yield f"unusable {is_number=} of {where}", Plan(unusable)
        if events.type_of_time:
            yield f"text times of {where}", Plan(events.query("text_time", reads=reads))
        core = events.query("core", reads={"rows_before": events.node}, of_user=5, of_item=5)
        kept = events.query("in_core", reads={**reads, "core": core})
        yield f"core of {where}", Plan(kept)


def plans_of_inputs() -> Iterator[tuple[str, Plan]]:
    """Yield looks at tables that are there in all the ways that there are."""
    ways: dict[str, dict[str, Any]] = {
        "row": {"row_number": "file_row_number"},
        "rank": {"list_column": "item_id"},
    }
    for order, way in ways.items():
        kind = "BIGINT[]" if "list_column" in way else "BIGINT"
        lists = table("recommendations", {"user_id": "BIGINT", "item_id": kind}, **way)
        lists = replace(lists, columns={**lists.columns, "rank": "BIGINT"})
        plans = planner()
        plans = replace(plans, tables={**plans.tables, "recommendations": lists})
        values = STANDARD.values()
        yield f"in order of {order}", plans.stage("recommendations", {**values, "order": order})
    attributes = {
        "lists": [
            ("category", "VARCHAR[]", ()),
            ("item_group", "VARCHAR[]", ()),
            ("features", "FLOAT[]", ()),
        ],
        "columns": [
            ("category", "VARCHAR", ()),
            ("item_group", "VARCHAR", ()),
            ("features", "DOUBLE[]", ("width", "height")),
        ],
    }
    for way, columns in attributes.items():
        items = table("items", {"item_id": "BIGINT"})
        source = items.sources[0]
        more = [SourceColumn(name, name, kind, parts=parts) for name, kind, parts in columns]
        kinds = {**items.columns, **{column.name: column.type for column in more}}
        items = Table("items", (replace(source, columns=(*source.columns, *more)),), kinds)
        plans = planner()
        plans = replace(plans, tables={**plans.tables, "items": items})
        values = STANDARD.values()
        for name in ("items", *ATTRIBUTES):
            yield f"{name} from {way}", plans.stage(name, values)
        some_rows = {name: with_condition(table) for name, table in plans.tables.items()}
        plans = replace(plans, tables=some_rows)
        for name in ("items", *ATTRIBUTES):
            yield f"{name} from {way}, some rows", plans.stage(name, values)
        slices = slicing(plans, ["country"])
        yield "some rows, sliced", slices.uneven(slices.of_users[0])
    for settings in ({"masked_scores": "drop"}, {"drop_seen": "true"}):
        for more in ({}, {"masked_scores": "drop", "order": "score"}):
            plans = planner()
            values = STANDARD.values()
            for name in ("recommendations", "baseline"):
                look = plans.stage(name, {**values, **settings, **more})
                yield f"{name} with {settings} {more}", look


def with_condition(table: Table) -> Table:
    sources = (replace(source, where="source.item_id > 1") for source in table.sources)
    return replace(table, sources=tuple(sources))


@functools.cache
def all_plans() -> list[tuple[str, Plan]]:
    return list(plans())


def nodes_of(some: Iterable[tuple[str, Plan]]) -> dict[str, tuple[str, Node]]:
    """Find the queries of plans, parents first: identity -> one of the plans, and the query.

    A template of results and its alternatives have the same identity, but not here.
    """
    found: dict[str, tuple[str, Node]] = {}
    for label, plan in some:
        for node in plan.nodes():
            template = node.template if isinstance(node, Rendered) else ""
            found.setdefault(f"{node.key} {template}", (label, node))
    return found


def file_of(node: Node) -> str:
    """Find the template of a query that is no stage or metric; empty for those and fused ones."""
    if isinstance(node, Rendered):
        return f"{node.template}.sql.j2"
    if node.name.startswith("kept_"):
        return "inputs/kept_rows.sql.j2"
    if node.is_input:
        kind = "table" if node.name in RICH else "attribute"
        return f"inputs/{node.name if node.name in ATTRIBUTES else kind}.sql.j2"
    stage, _, folder = node.name.rpartition("_by_")
    if f"by_{folder}" not in INSTEAD:
        return ""
    if folder == "item" and CATALOG.stages[stage].slices_of:
        return ""
    if folder == "item" and CATALOG.stages[stage].judged_only:
        stage = "judged"
    if folder == "item" and CATALOG.stages[stage].every_slice:
        stage = "lists"
    if (stage, folder) == ("ranked", "user"):
        stage = "lists"
    return f"by_{folder}/{stage}.sql.j2"


def text_in_plan(node: Node) -> str:
    return node.sql({key: parent.name for key, parent in node.parents.items()}, pretty=True)


def demo_queries() -> Iterator[tuple[str, str]]:
    """Yield the queries of the demo."""
    context = {"users": 500, "per_user": 20, "seed": 1, "levels": 100, "models": demo._MODELS}
    for template in ["user_profile", *demo._TABLES]:
        yield template, demo._render(template, {**context, "model": None})
    for model in demo._MODELS:
        yield model.template, demo._render(model.template, {**context, "model": model})


def history_queries() -> Iterator[tuple[str, str]]:
    """Yield the queries of a history of results, with and without slices and values of users."""
    run = {"run_id": "r1", "run_at": "2026-11-26 02:00:00", "version": "0.1.0"}
    for full in (False, True):
        slices, k = (["country", "the age"], None) if full else ([], 10)
        quoted = ["country", '"the age"'] if full else []
        tags = {"env": "live", "it's": "x"} if full else {}
        context: dict[str, Any] = {
            **run, "tags": tags, "slices": slices, "others": ["device"] if full else [],
            "metric": "ndcg", "k": k, "z": 1.96, "last": 30 if full else None,
            "several_models": full, "further": {"n_runs": "BIGINT"} if full else {},
            "users": ["user_id"], "convention": None if full else "standard", "long": full,
            "sources": [{"column": name, "metric": name, "k": k} for name in ("ndcg", "map")],
            "kept": full, "pooled": full, "judged": "chosen" if full else "runs",
            "quoted_users": ["user_id"], "quoted_slices": quoted, "kept_users": "kept.user_id",
            "groups": ["fingerprint", "convention", "model", *quoted, "k"], "column": "value",
            "n_runs": 7,
        }  # fmt: skip
        for path in sorted(ROOT.glob("trend/*.j2")):
            yield (
                path.name.removesuffix(".sql.j2"),
                render_file(f"trend/{path.name.removesuffix('.sql.j2')}", context),
            )
