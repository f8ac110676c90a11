from __future__ import annotations

import configparser
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jinja2.meta
import pytest
import sqlglot
from sqlfluff.core import FluffConfig, Linter

from sqlmetrics import demo
from sqlmetrics.calls import requests_of
from sqlmetrics.catalog import Catalog, Metric, Param, Stage, Template
from sqlmetrics.convention import Convention
from sqlmetrics.errors import DataError, MissingTableError, UsageError
from sqlmetrics.graph import Plan, Rendered
from sqlmetrics.plan import Planner
from sqlmetrics.render import environment, key_context, render, template_root
from sqlmetrics.settings import Settings
from sqlmetrics.spec import parse_spec
from sqlmetrics.tables import ATTRIBUTES, Source, SourceColumn, Table

ROOT = template_root()
FILES = sorted(ROOT.rglob("*.sql.j2"))
MACROS = sorted(ROOT.rglob("*.sql"))
CATALOG = Catalog.load()
STANDARD = Settings(CATALOG, Convention.load("standard"), {})
METRICS = list(CATALOG.metrics.values())
STAGES = list(CATALOG.stages.values())
METRIC_PARAMS = {name: param for metric in METRICS for name, param in metric.params.items()}
TEMPLATES: list[Template] = [*METRICS, *STAGES, *CATALOG.checks.values()]


RENDERED_RULES = (
    "references.from, structure.unused_join, aliasing.unique, ambiguous.column_count, "
    "ambiguous.join, ambiguous.set_columns, capitalisation, convention.select_trailing_comma"
)
# settings that a stage declares for others to read: the checks
NOT_IN_ITS_STAGE = {"missing_attributes"}
# settings that no template reads by name: the planner says what they are for each column of totals
OF_COLUMNS = {"aggregate"}


# --- every choice that a template can see

MODEL_NAMES = set(key_context(["user_id"], False, "als"))  # what several models change
NUMBERS: dict[str, list[float | None]] = {
    "relevant_from": [None, float("-inf"), -1, 2.5],
    "beta": [0.5, 1, 2],
    "alpha": [0, 0.5],
    "break_probability": [0, 0.15],
    "max_grade": [None, 4],
    "max_weight": [None, 20],
    "sample_users": [None, 100],
    "runs": [1, 3],
    "seed": [1],
}
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


RICH = {
    "recommendations": {"score": "DOUBLE", "rank": "BIGINT"},
    "interactions": {"relevance": "INTEGER", "timestamp": "TIMESTAMP"},
    "history": {"timestamp": "TIMESTAMP"},
    "items": {"price": "DOUBLE", "category": "VARCHAR[]", "features": "FLOAT[]"},
    "users": {"country": "VARCHAR"},
    "aspects": {"aspect": "VARCHAR"},
    "baseline": {"score": "DOUBLE"},
    "logs": {"reward": "INTEGER", "propensity": "DOUBLE"},
}
POOR: dict[str, dict[str, str]] = {
    **{name: {} for name in RICH},
    "recommendations": {"rank": "DOUBLE"},
    "logs": {"reward": "INTEGER"},
}


def planner(
    several_models: bool = False,
    poor: bool = False,
    checked: bool = False,
    fuse: bool = True,
    baseline: str = "score",
) -> Planner:
    """Make a planner for tables with all columns that there are, or with as few as possible.

    `baseline`: the column that orders the baseline lists, or "row".
    """
    models = ("als", "popular") if several_models else (None,)
    order: dict[str, str] = {} if baseline == "row" else {baseline: "BIGINT"}
    tables = {}
    for name, columns in {**(POOR if poor else RICH), "baseline": order}.items():
        of_users = name != "items" and not (poor and name == "aspects")
        keys = {**({"user_id": "BIGINT"} if of_users else {}), "item_id": "BIGINT"}
        parts = models if name == "recommendations" else (None,)
        tables[name] = table(name, {**keys, **columns}, parts)
    return Planner(CATALOG, tables, several_models=several_models, checked=checked, fuse=fuse)


def values_of(param: Param) -> list[Any]:
    if param.choices:
        return [choice for choice in param.choices if choice != "auto"]
    return NUMBERS[param.name]


def names_in(source: str) -> set[str]:
    return jinja2.meta.find_undeclared_variables(environment().parse(source))


def renderings(template: Template, briefly: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the SQL of a template for every choice that it looks at, and what was chosen.

    `briefly`: several models only where they change more than the list of keys, and of many
    combinations those in which two choices at most are not the first.
    """
    used = names_in(template.body)
    model_names = {"several_models", "model_of"} if briefly else MODEL_NAMES
    params = {**METRIC_PARAMS, **CATALOG.stage_params, **template.params}
    choices = {name: values_of(params[name]) for name in params if name in used}
    if "score_is_read" in used:
        choices["order"] = values_of(params["order"])
    facts = {
        "checked": [False, True] if "checked" in used else [False],
        "poor": [False, True] if used & {"has", "has_user", "need", "rank_is_whole"} else [False],
        "several_models": [False, True] if used & model_names else [False],
        "baseline": ["rank", "score", "row"] if "order_of" in used else ["score"],
    }
    cutoffs = CUTOFFS if used & {"cutoffs", "max_cutoff"} else CUTOFFS[:1]
    defaults = {name: param.default for name, param in params.items()}
    for fact_values in itertools.product(*facts.values()):
        fact = dict(zip(facts, fact_values, strict=True))
        plans = planner(**fact)
        for cutoff in cutoffs:
            chosen_values = list(itertools.product(*choices.values()))
            if briefly and len(chosen_values) > 40:
                chosen_values = [c for c in chosen_values if n_unusual(c, choices) <= 2]
            for chosen in chosen_values:
                choice = dict(zip(choices, chosen, strict=True))
                values = {**defaults, **choice, **cutoff}
                label = f"{template.name} {fact} {cutoff} {choice}"
                if (expected := refusal(template, fact["poor"], choice)) is None:
                    yield label, text_of(template, plans, values)
                else:
                    error, message = expected
                    with pytest.raises(error, match=message):
                        text_of(template, plans, values)


def n_unusual(chosen: tuple[Any, ...], choices: Mapping[str, list[Any]]) -> int:
    """Count the choices that are not the first of their setting."""
    return sum(value != of[0] for value, of in zip(chosen, choices.values(), strict=True))


# a call of refuse_setting: the name of the setting, and the values that mean nothing there
REFUSED = re.compile(r'refuse_setting\(\s*"(?P<name>\w+)", \w+, \[(?P<values>[^]]*)\]')


def refusal(
    template: Template, poor: bool, choice: Mapping[str, Any]
) -> tuple[type[Exception], str] | None:
    """Say how a template refuses tables or settings, None if it takes them."""
    if poor and "need" in names_in(template.body):
        return MissingTableError, "needs the column"
    if template.name == "relevant" and poor and (choice["relevant_from"] or 0) > 1:
        return DataError, "relevant_from is 2.5"
    for found in REFUSED.finditer(template.body):
        if f'"{choice[found["name"]]}"' in found["values"].split(", "):
            return UsageError, "has no meaning for"
    threshold = choice.get("relevant_from", 0)
    if choice.get("gain") == "exponential_from" and (threshold is None or threshold < 0):
        return UsageError, "needs a number from 0 up"
    if template.name == "sampled_users" and choice["sample_users"] is None:
        return DataError, "nobody is drawn"
    return None


def text_of(template: Template, plans: Planner, values: Mapping[str, Any]) -> str:
    if isinstance(template, Metric):
        return plans.metric_text(template, values)
    if isinstance(template, Stage):
        return plans.stage_text(template, values)
    return render(template.body, plans._context(values), str(template.path))


def plans() -> Iterator[tuple[str, Plan]]:
    """Yield plans that need every template of summaries/ and inputs/ in all its forms."""
    calls = [
        *("ndcg", "map@5", "mrr(audience=recommended)", "coverage"),
        *("alpha_ndcg", "money_recall", "ips", "snips", "intra_list_diversity(over=category)"),
        *(f"hit_rate(aggregate={choice})" for choice in CATALOG.stage_params["aggregate"].choices),
    ]
    for several_models, fuse in itertools.product([False, True], repeat=2):
        plans = planner(several_models, fuse=fuse)
        where = f"several_models={several_models} fuse={fuse}"
        pairs = [(parse_spec(call), k) for call in calls for k in (5, None)]
        requests = requests_of(pairs, [STANDARD], None, plans.has_rank)
        of_users = [request for request in requests if request.metric.grain == "user"]
        of_runs = [request for request in requests if request.metric.grain == "run"]
        yield f"summary {where}", plans.summary(requests)
        yield f"summary of runs {where}", plans.summary(of_runs)
        yield f"per user {where}", plans.per_user(of_users)
        yield f"one per user {where}", plans.per_user(of_users[:1])
        two = [STANDARD, Settings(CATALOG, Convention.load("recommenders"), {})]
        both = requests_of([(parse_spec("map"), 5)], two, None, plans.has_rank)
        yield f"two conventions {where}", plans.summary(both, with_convention=True)
        yield f"two conventions per user {where}", plans.per_user(both, with_convention=True)
        _, values = STANDARD.resolve(None)
        yield "look", plans.stage("hits", values)
        yield "short look", plans.stage("ranked", {**values, "ties": "item_desc"}, limit=5)
    ways: dict[str, dict[str, Any]] = {
        "row": {"row_number": "file_row_number"},
        "rank": {"list_column": "item_id"},
    }
    for order, way in ways.items():
        kind = "BIGINT[]" if "list_column" in way else "BIGINT"
        lists = table("recommendations", {"user_id": "BIGINT", "item_id": kind}, **way)
        lists = replace(lists, columns={**lists.columns, "rank": "BIGINT"})
        plans = planner()
        plans.tables = {**plans.tables, "recommendations": lists}
        _, values = STANDARD.resolve(None)
        yield f"in order of {order}", plans.stage("recommendations", {**values, "order": order})
    attributes = {
        "lists": [("category", "VARCHAR[]", ()), ("features", "FLOAT[]", ())],
        "columns": [("category", "VARCHAR", ()), ("features", "DOUBLE[]", ("width", "height"))],
    }
    for way, columns in attributes.items():
        items = table("items", {"item_id": "BIGINT"})
        source = items.sources[0]
        more = [SourceColumn(name, name, kind, parts=parts) for name, kind, parts in columns]
        kinds = {**items.columns, **{column.name: column.type for column in more}}
        items = Table("items", (replace(source, columns=(*source.columns, *more)),), kinds)
        plans = planner()
        plans.tables = {**plans.tables, "items": items}
        _, values = STANDARD.resolve(None)
        for name in ("items", *ATTRIBUTES):
            yield f"{name} from {way}", plans.stage(name, values)


def demo_queries() -> Iterator[tuple[str, str]]:
    """Yield the queries of the demo."""
    context = {"users": 500, "per_user": 20, "seed": 1, "levels": 100, "models": demo._MODELS}
    for template in ["user_profile", *demo._TABLES]:
        yield template, demo._render(template, {**context, "model": None})
    for model in demo._MODELS:
        yield model.template, demo._render(model.template, {**context, "model": model})


# --- lint


def lint(paths: Iterable[Path]) -> dict[str, list[str]]:
    """Lint files as `sqlfluff lint` does: file -> what is wrong with it."""
    linter = Linter(config=FluffConfig.from_path(str(ROOT)))
    result = linter.lint_paths(tuple(map(str, paths)))
    return {
        record["filepath"]: [
            f"line {found['start_line_no']}: {found['code']} {found['description']}"
            for found in record["violations"]
        ]
        for record in result.as_records()
    }


def test_every_template_is_lint_clean() -> None:
    found = lint([ROOT])
    assert {path: wrong for path, wrong in found.items() if wrong} == {}
    assert sorted(found) == sorted(map(str, FILES))
    assert len(FILES) > 50


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("SELECT item_id FROM WHERE", "PRS"),
        ("select item_id\nFROM items", "CP01"),
        ("SELECT item_id\nFROM {{ no_such_name }}", "TMP"),
        ("SELECT\n    item_id,\n  price\nFROM items", "LT02"),
        ("{% if several_models -%}\nselect 1\n{% else -%}\nSELECT 2\n{% endif %}", "CP01"),
    ],
)
def test_lint_finds_what_is_wrong(tmp_path: Path, body: str, code: str) -> None:
    config = (ROOT / ".sqlfluff").read_text().replace("= macros\n", f"= {ROOT / 'macros'}\n")
    (tmp_path / ".sqlfluff").write_text(config)
    path = tmp_path / "bad.sql.j2"
    path.write_text(f"{body}\n")
    (wrong,) = lint([path]).values()
    assert [line for line in wrong if f" {code} " in line], wrong


def queries_of_plans() -> Iterator[tuple[str, str]]:
    """Yield the queries that plans have beside metrics and stages: summaries and inputs."""
    for label, plan in plans():
        for node in plan.nodes():
            if isinstance(node, Rendered) or node.is_input:
                names = {key: parent.name for key, parent in node.parents.items()}
                yield f"{node.name}: {label}", node.sql(names, pretty=True)


@pytest.mark.thorough
def test_rendered_queries_are_lint_clean() -> None:
    """What files alone cannot show: how macros and branches meet in the query of every choice."""
    config = FluffConfig.from_path(
        str(ROOT), overrides={"rules": RENDERED_RULES, "exclude_rules": "", "templater": "raw"}
    )
    linter = Linter(config=config)
    texts = {text: label for t in TEMPLATES for label, text in renderings(t, briefly=True)}
    texts.update({text: label for label, text in queries_of_plans()})
    assert len(texts) > 250
    wrong = {}
    for text, label in texts.items():
        if found := linter.lint_string(f"{text}\n").get_violations():
            wrong[label] = [str(violation) for violation in found]
    assert wrong == {}


# --- all choices


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda t: f"{t.path.parent.name}-{t.name}")
def test_every_choice_is_one_query(template: Template) -> None:
    texts = {text: label for label, text in renderings(template)}
    assert texts
    for text, label in texts.items():
        trees = sqlglot.parse(text, read="duckdb")
        assert len(trees) == 1, label
        assert isinstance(trees[0], sqlglot.exp.Query), label


def test_plans_and_the_demo_use_every_other_template() -> None:
    rendered = {"inputs/table.sql.j2"}  # of every plan
    for _, plan in plans():
        sqlglot.parse_one(plan.statement(), read="duckdb")
        for node in plan.nodes():
            if isinstance(node, Rendered):
                rendered.add(str(node.template.name))
            elif node.is_input and node.name in ATTRIBUTES:
                rendered.add(f"inputs/{node.name}.sql.j2")
    for template, text in demo_queries():
        sqlglot.parse_one(text, read="duckdb")
        rendered.add(f"demo/{template}.sql.j2")
    for probe in ("leading_zeros", "uneven_lists"):
        template = environment().get_template(f"inputs/{probe}.sql.j2")
        for columns in (["item_id", "rank"], ["user_id", "item_id", "score"]):
            text = template.render(relation="some_table", columns=columns)
            sqlglot.parse_one(text, read="duckdb")
        rendered.add(f"inputs/{probe}.sql.j2")
    others = {"summaries", "inputs", "demo"}
    files = {path.relative_to(ROOT).as_posix() for path in FILES if path.parent.name in others}
    assert rendered == files
    assert len(FILES) == len(files) + len(TEMPLATES)


# --- names

OF_STAGES = {name for stage in STAGES for name in names_in(stage.body)}


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda t: f"{t.path.parent.name}-{t.name}")
def test_every_name_is_known(template: Template) -> None:
    used = names_in(template.body)
    known = {*planner()._context({}), *CUTOFFS[0], *environment().globals}
    if isinstance(template, Metric):
        known |= {*template.params, *CATALOG.stage_params}
        assert set(template.params) <= used | OF_STAGES
    else:
        known |= {*METRIC_PARAMS, *CATALOG.stage_params}
        assert set(template.params) - NOT_IN_ITS_STAGE <= used
    assert used <= known


def test_every_setting_is_read_somewhere() -> None:
    used = {name for template in TEMPLATES for name in names_in(template.body)}
    assert set(CATALOG.stage_params) - OF_COLUMNS <= used


def test_lint_knows_only_names_that_templates_get() -> None:
    """A stand-in of the lint configuration must not outlive what it stands for."""
    config = configparser.ConfigParser(delimiters="=", interpolation=None)
    config.read(ROOT / ".sqlfluff", encoding="utf-8")
    stand_ins = {
        *config["sqlfluff:templater:jinja:context"],
        *config["sqlfluff:templater:jinja:macros"],
    }
    known = {*planner()._context({}), *CUTOFFS[0], *environment().globals, "ref"}
    known |= {*METRIC_PARAMS, *CATALOG.stage_params, "table", "sources", "row_order_is_read"}
    for _, plan in plans():
        for node in plan.nodes():
            known |= set(node.context) if isinstance(node, Rendered) else set()
    assert stand_ins <= known


# --- what templates say


@pytest.mark.parametrize("path", [*FILES, *MACROS], ids=lambda p: p.relative_to(ROOT).as_posix())
def test_stars_are_spelled_out(path: Path) -> None:
    stars = re.findall(r"\bSELECT\s+(?:DISTINCT\s+)?(?:\w+\.)?\*|^\s*\*,?$", path.read_text(), re.M)
    # the columns of a CSV file that is read in the order of its rows are not known
    assert len(stars) == (1 if path.name == "sources.sql" else 0)


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_stages_say_what_a_row_is(stage: Stage) -> None:
    assert stage.title.startswith("one row per ")
    for text, label in {text: label for label, text in renderings(stage)}.items():
        comments = [line for line in text.splitlines() if line.startswith("--")]
        assert text.startswith("-- one row"), label
        ctes = len(re.findall(r"^(?:WITH )?\w+ AS \($", text, re.M))
        assert sum(line.startswith("-- one row") for line in comments) >= max(ctes, 1), label


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_metrics_say_what_they_are(metric: Metric) -> None:
    assert metric.title != metric.name
    assert metric.formula
    assert metric.cite
    assert (metric.range is None) == bool(metric.unbounded)
    assert metric.higher_is_better is not None


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda t: f"{t.path.parent.name}-{t.name}")
def test_params_are_explained(template: Template) -> None:
    for param in template.params.values():
        assert param.doc, param.name
