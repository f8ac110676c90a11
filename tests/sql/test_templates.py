"""Templates: every choice is one query, names are known, lint, and front matter."""

from __future__ import annotations

import configparser
import itertools
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot
from sqlfluff.core import FluffConfig, Linter

from sqlmetrics.engines.relation import FolderColumn, Layout
from sqlmetrics.metrics.front_matter import Metric
from sqlmetrics.plan.sliced import ItemSlices, SlicedStages
from sqlmetrics.plan.template_names import TemplateNames
from sqlmetrics.sql.portable import problems
from sqlmetrics.sql.query_graph import Rendered
from sqlmetrics.sql.template_names import names_of
from sqlmetrics.sql.templates import environment
from tests.support.templates import (
    ALTERNATIVES,
    CATALOG,
    CUTOFFS,
    FILES,
    INSTEAD,
    KEYS,
    LOGICAL,
    METRIC_PARAMS,
    METRICS,
    RICH,
    ROOT,
    RUN_CI,
    SLICES,
    STAGES,
    STANDARD,
    TEMPLATES,
    TIMED,
    all_plans,
    demo_queries,
    file_of,
    history_queries,
    names_read,
    names_set_in,
    nodes_of,
    planner,
    plans_of_calls,
    renderings,
    slicing,
    text_in_plan,
)

MACROS = sorted(ROOT.rglob("*.sql"))


RENDERED_RULES = (
    "references.from, structure.unused_join, aliasing.unique, ambiguous.column_count, "
    "ambiguous.join, ambiguous.set_columns, capitalisation, convention.select_trailing_comma"
)
# the first is best at 1; the template of the second names no direction
WITHOUT_DIRECTION = {"calibration_ratio", "importance_weight", "least_item_promoted"}
# settings that a stage declares for others to read: the checks
NOT_IN_ITS_STAGE = {"missing_attributes", "masked_scores"}
# settings that no template reads by name: the planner says what they are for each column of totals,
# and for each table of lists
OF_COLUMNS = {"aggregate", "quantile", "masked_scores"}


# ---------------------------------------------------------------- lint


def lint(paths: Iterable[Path], **overrides: Any) -> dict[str, list[str]]:
    """Lint files as `sqlfluff lint` does: file -> what is wrong with it.

    Configurations and macros of a folder are read once: for every file, they take longer than the
    rules.
    """
    found = {}
    for folder, files in itertools.groupby(paths, key=lambda path: path.parent):
        config = FluffConfig.from_path(str(folder), overrides=overrides)
        linter = Linter(config=config)
        templater, rules = linter.templater, linter.get_rulepack()
        context = templater._get_env_context(None, config, templater._get_jinja_env(config))
        templater._get_env_context = lambda *_, of_folder=context: dict(of_folder)
        for path in files:
            text = path.read_text(encoding="utf-8")
            linted = linter.lint_rendered(
                linter.render_string(text, str(path), config, "utf-8"), rules
            )
            found[str(path)] = [
                f"line {one.line_no}: {one.rule_code()} {one.desc()}"
                for one in linted.get_violations()
            ]
    return found


def test_every_template_is_lint_clean() -> None:
    """`sqlfluff lint sql_templates` renders each up to eight times, which takes over a minute."""
    found = lint(FILES, render_variant_limit=1)
    assert {path: wrong for path, wrong in found.items() if wrong} == {}
    assert sorted(found) == sorted(map(str, FILES))


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


def test_rendered_queries_are_lint_clean() -> None:
    """What files alone cannot show: how macros and branches meet in a query.

    The longest query of each folder of templates.
    """
    texts: dict[str, str] = {}

    def note(name: str, text: str) -> None:
        texts[name] = max(text, texts.get(name, ""), key=len)

    for template in TEMPLATES:
        for _, text in renderings(template, briefly=True):
            note(template.path.parent.name, text)
    for _, node in nodes_of(all_plans()).values():
        if file_of(node):
            note(file_of(node).partition("/")[0], text_in_plan(node))
    assert len(texts) > 20
    config = FluffConfig.from_path(
        str(ROOT), overrides={"rules": RENDERED_RULES, "exclude_rules": "", "templater": "raw"}
    )
    linter = Linter(config=config)
    found = {name: linter.lint_string(f"{text}\n") for name, text in texts.items()}
    wrong = {name: list(map(str, one.get_violations())) for name, one in found.items()}
    assert {name: violations for name, violations in wrong.items() if violations} == {}


# ---------------------------------------------------------------- all choices

# the templates that other systems run as they are; the others are in the SQL of one engine
PORTABLE = [*LOGICAL, *(one for one in ALTERNATIVES if one.printed_for)]


def test_every_choice_is_one_query_that_keeps_to_the_rules() -> None:
    """Every rendering is one query in which each joined table is read.

    Portable templates, as other systems get them, have no problem that sqlmetrics/sql/portable.py
    knows. Only Postgres gets other texts of stages than the rest.
    """
    wrong: dict[str, list[str]] = {}
    for template in TEMPLATES:
        portable: set[str] = set()
        texts = {text: label for label, text in renderings(template)}
        if template in PORTABLE:
            for dialect in ("spark", "postgres"):
                for label, text in renderings(template, briefly=True, dialect=dialect):
                    portable.add(text)
                    texts.setdefault(text, f"{label} {dialect}")
        assert texts, template.name
        for text, label in texts.items():
            trees = sqlglot.parse(text, read="duckdb")
            if len(trees) != 1 or not isinstance(trees[0], sqlglot.exp.Query):
                wrong[label] = ["not one query"]
                continue
            found = [f"{table} is joined and not read" for table in unread(trees[0])]
            # other systems refuse the units of the slice month that only DuckDB converts, and get
            # no function for composed characters
            of_duckdb = template.name in TIMED or "composed" in names_read(template)
            if text in portable or (template in PORTABLE and not of_duckdb):
                found += [f"{one.rule}: {one.found}" for one in problems(trees[0])]
            if found:
                wrong[label] = found
    assert wrong == {}


def unread(tree: sqlglot.exp.Expr) -> list[str]:
    """Find the tables of outer joins of which nothing is read but in the condition of the join."""
    found = []
    for select in tree.find_all(sqlglot.exp.Select):
        for join in select.args.get("joins") or ():
            table = join.this.alias_or_name
            own = set(map(id, join.find_all(sqlglot.exp.Column)))
            columns = [one for one in select.find_all(sqlglot.exp.Column) if id(one) not in own]
            if join.side and not any(one.table in ("", table) for one in columns):
                found.append(table)
    return found


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT a.x FROM a LEFT JOIN b ON a.x = b.x", ["b"]),
        ("SELECT a.x, b.y FROM a LEFT JOIN b ON a.x = b.x", []),
        ("SELECT a.x FROM a LEFT JOIN b ON a.x = b.x WHERE b.x IS NULL", []),
        ("SELECT a.x FROM a INNER JOIN b ON a.x = b.x", []),
    ],
)
def test_tables_that_are_joined_and_not_read_are_found(sql: str, found: list[str]) -> None:
    assert unread(sqlglot.parse_one(sql, read="duckdb")) == found


def test_plans_and_the_demo_use_every_other_template() -> None:
    rendered: dict[str, set[str]] = {}
    for _, node in nodes_of(all_plans()).values():
        rendered.setdefault(file_of(node), set()).add(text_in_plan(node))
    rendered.pop("")
    for template, text in demo_queries():
        rendered[f"demo/{template}.sql.j2"] = {text}
    for template, text in history_queries():
        rendered.setdefault(f"trend/{template}.sql.j2", set()).add(text)
    template = environment().get_template("inputs/uneven_lists.sql.j2")
    rendered["inputs/uneven_lists.sql.j2"] = {
        template.render(relation="some_table", columns=columns, where=where)
        for columns in (["item_id", "rank"], ["user_id", "item_id", "score"])
        for where in ("", "source.item_id > 1 OR source.score > 1")
    }
    sizes: dict[str, list[dict[str, Any]]] = {
        "readable": [{"files": ["a.parquet"]}],
        "condition": [{"relation": "some_table", "condition": "source.item_id > 1"}],
        "condition_type": [{"relation": "some_table", "condition": "source.item_id > 1"}],
        "broken_ids": [{"relation": "some_table", "columns": ["user_id", "it's"]}],
        "commas": [{"relation": "some_table", "column": name} for name in ("score", "it's")],
        "only_numbers": [{"relation": "some_table", "columns": ["score", "it's"]}],
        "quotes": [{"files": "a.csv", "layout": layout} for layout in (None, Layout("|", 2))],
        "date_format": [
            {"files": "a.csv", "layout": None, "column": "it's", "relation": "t", "kind": kind}
            for kind in ("date", "timestamp")
        ],
        "other_spellings": [
            {
                "relation": "some_table",
                "ids": [{"name": n, "type": "HUGEINT", "text": "VARCHAR"} for n in names],
                "trimmed": trimmed,
            }
            for names, trimmed in ((["user_id"], False), (["user_id", "it's"], True))
        ],
        "float_ids": [
            {"relation": "some_table", "column": "item_id", "exact": 2**53, "is_float": is_float}
            for is_float in (False, True)
        ],
        "sample": [
            {"relation": "some_table", "columns": ["user_id", "it's"], "where": where, "n_users": n}
            for where, n in (("", 3), ("source.score > 1", 0))
        ],
        "scored": [
            {
                "relation": "some_table",
                "given": ["model", "qid", "it's", "score"],
                "row_number": number,
                "users": ["qid"],
                "lists": ["model", "qid"],
                "labels": labels,
            }
            for number, labels in (
                ("row", []),
                ("row", ["qid", "item_id", "it's"]),
                (None, ["qid"]),
            )
        ],
        "files_matched": [{"pattern": "s3://bucket/*.parquet"}],
        "folder_values": [
            {"relation": "some_table", "column": FolderColumn("country", kind)}
            for kind in ("VARCHAR", "DOUBLE[]")
        ],
    }
    for name, contexts in sizes.items():
        template = environment().get_template(f"inputs/{name}.sql.j2")
        rendered[f"inputs/{name}.sql.j2"] = {
            template.render(table="recommendations", **context) for context in contexts
        }
    (source,) = planner().tables["interactions"].sources
    template = environment().get_template("inputs/different_labels.sql.j2")
    rendered["inputs/different_labels.sql.j2"] = {
        template.render(source=one, users=["user_id", "it's"], is_numbered=is_numbered)
        for one in (source, replace(source, where="source.item_id > 1"))
        for is_numbered in (False, True)
    }
    template = environment().get_template("inputs/unread_relevance.sql.j2")
    for columns in ([], ["rating"], ["rating", "the weight"]):
        for one in (source, replace(source, where="source.item_id > 1")):
            text = template.render(source=one, columns=columns)
            rendered.setdefault("inputs/unread_relevance.sql.j2", set()).add(text)
    for text in {text for texts in rendered.values() for text in texts}:
        assert isinstance(sqlglot.parse_one(text, read="duckdb"), sqlglot.exp.Query)
    others = {"results", "report", "record", "inputs", "demo", "user", "trend", "split",
                  *INSTEAD}  # fmt: skip
    files = {path.relative_to(ROOT).as_posix() for path in FILES if path.parent.name in others}
    of_results = [one for one in CATALOG.alternatives if one not in ALTERNATIVES]
    files |= {f"{alternative.template_path}.sql.j2" for alternative in of_results}
    assert rendered.keys() == files
    included = [
        name for path in FILES for name in re.findall(r'include "(shared/.*?)"', path.read_text())
    ]
    shared = {f"shared/{path.name}" for path in FILES if path.parent.name == "shared"}
    assert set(included) == shared
    # the tests of engines run these
    of_databases = [path for path in FILES if path.parent.parent.name == "databases"]
    assert len(FILES) == len(files) + len(TEMPLATES) + len(of_databases) + len(shared)


def test_queries_of_results_run() -> None:
    """Every column is there, is meant by one table, and is of a type that its use allows."""
    with duckdb.connect(config={"threads": 1}) as connection:
        for name, columns in RICH.items():
            keys = {"item_id": "BIGINT"} if name == "items" else KEYS
            kinds = {**keys, **columns, "file_row_number": "BIGINT"}
            listed = ", ".join(f"{column} {kind}" for column, kind in kinds.items())
            for file in (f"{name}_file", f"{name}_file_in_order"):
                connection.execute(f"CREATE TABLE {file} ({listed})")
        for label, node in nodes_of(plans_of_calls()).values():
            query = node.sql({key: key for key in node.parents}, pretty=False)
            try:
                connection.execute(f"CREATE TABLE {node.key} AS {query}")
            except duckdb.Error as error:
                raise AssertionError(f"{label}: {node.name}: {error}") from error


# ---------------------------------------------------------------- names


NAMES = {name for name, _, _ in names_of(TemplateNames)}  # but for settings and cutoffs


READ_ELSEWHERE = {
    name for other in [*STAGES, *CATALOG.checks.values()] for name in names_read(other)
}


def test_every_name_is_known() -> None:
    everywhere = {
        *NAMES,
        *CUTOFFS[0],
        *environment().globals,
        *CATALOG.stage_params,
    }
    unknown, unread_params = {}, {}
    for template in TEMPLATES:
        used = names_read(template)
        known = everywhere | set(template.params)
        read = used | READ_ELSEWHERE
        if not isinstance(template, Metric):
            known |= set(METRIC_PARAMS)
            read = used | NOT_IN_ITS_STAGE
        unknown[template.path] = used - names_set_in(template.body) - known
        unread_params[template.path] = set(template.params) - read
    assert {name: names for name, names in unknown.items() if names} == {}
    assert {name: names for name, names in unread_params.items() if names} == {}


def test_every_setting_is_read_somewhere() -> None:
    used = {name for template in TEMPLATES for name in names_read(template)}
    assert set(CATALOG.stage_params) - OF_COLUMNS <= used


def test_lint_knows_only_names_that_templates_get() -> None:
    """A stand-in of the lint configuration must not outlive what it stands for."""
    stand_ins = set()
    for path in (ROOT / ".sqlfluff", ROOT / "results/.sqlfluff", ROOT / "inputs/.sqlfluff"):
        config = configparser.ConfigParser(delimiters="=", interpolation=None)
        config.read(path, encoding="utf-8")
        for part in ("context", "macros"):
            section = f"sqlfluff:templater:jinja:{part}"
            stand_ins |= set(config[section]) if section in config else set()
    plans = planner()
    known = {*NAMES, *CUTOFFS[0], *environment().globals, "ref"}
    known |= {*METRIC_PARAMS, *CATALOG.stage_params, *(n for one in SLICES for n in one.params)}
    known |= {"table", "sources", "row_order_is_read", "attributes", "relation", "columns"}
    known |= {"column", "pattern", "source", "ids", "trimmed"}  # of folders and files
    known |= {"files", "layout", "kind"}
    # of catalogs of databases
    known |= {"table_oid", "database_name", "table_name", "asked", "name", "schemas"}
    known |= {"condition", "where", "masked", "seen_is_dropped"}  # of what is left of them
    known |= {"given", "labels", "lists", "users", "row_number", "is_numbered"}  # of scores
    known |= {"exact", "is_float"}  # of ids that are floating-point numbers
    values = STANDARD.values()
    of_items = ItemSlices.of(slicing(plans, by_item=["category"]), [values]).planner.stages
    assert isinstance(of_items, SlicedStages)
    known |= {"names", *of_items.context, "resampled", *RUN_CI.draws}
    for _, node in nodes_of(all_plans()).values():
        known |= set(node.context) if isinstance(node, Rendered) else set()
    assert stand_ins <= known


# ---------------------------------------------------------------- what templates say


def test_stars_are_spelled_out() -> None:
    star = re.compile(r"\bSELECT\s+(?:DISTINCT\s+)?(?:\w+\.)?\*|^\s*\*,?$", re.M)
    with_stars = [path.name for path in [*FILES, *MACROS] if star.search(path.read_text())]
    # the columns of a CSV file that is read in the order of its rows are not known
    assert with_stars == ["sources.sql"]


def test_stages_and_slices_say_what_a_row_is() -> None:
    wrong = {}
    for stage in STAGES:
        assert stage.title.startswith(("one row per ", "one row: ")), stage.name
        for text, label in {text: label for label, text in renderings(stage)}.items():
            ctes = len(re.findall(r"^(?:WITH )?\w+ AS \($", text, re.M))
            comments = re.findall(r"^-- one row", text, re.M)
            if not text.startswith("-- one row") or len(comments) < max(ctes, 1):
                wrong[label] = comments
    for slice_ in SLICES:
        assert slice_.title != slice_.name
        wrong |= {label: found for label, text in renderings(slice_)
                  if (found := without_comment(text))}  # fmt: skip
    assert wrong == {}


CTE = re.compile(r"(?:WITH )?(?P<name>\w+) AS \($")
CLAUSE = re.compile(
    r"( *)(FROM|WHERE|GROUP BY|HAVING|ORDER BY|LIMIT|UNION|(INNER |LEFT |FULL |CROSS )JOIN)\b"
)


def without_comment(text: str) -> list[str]:
    """Find the SELECTs of a query, its CTEs and its last, that no comment says a row of."""
    lines = text.splitlines()
    found, comment, after_ctes = [], "", True
    for line in lines:
        if line.startswith("-- "):
            comment = comment or line
            continue
        cte = CTE.match(line)
        if (cte or (after_ctes and line == "SELECT")) and not comment.startswith("-- one row"):
            found.append(cte["name"] if cte else line)
        after_ctes = not cte and ((after_ctes and line != "SELECT") or line == ")")
        comment = comment if not line else ""
    return found


def misplaced(text: str) -> list[str]:
    """Find lines of a query that do not stand where its SELECT does, and lines without words."""
    found, above, indent = [], "", ""
    around: list[str] = []  # for every open parenthesis, where the SELECT around it stands
    for line in text.splitlines():
        if line != line.rstrip() or (not line and not above.endswith((")", "),"))):
            found.append(f"{above!r}, {line!r}")
        if line.strip().startswith("SELECT"):
            indent = line.partition("SELECT")[0]
        clause = CLAUSE.match(line)
        if clause and clause[1] != indent and not above.endswith("("):
            found.append(line)
        for mark in re.findall(r"[()]", line):
            if mark == "(":
                around.append(indent)
            else:
                indent = around.pop()
        above = line
    return found


def test_queries_of_plans_are_laid_out() -> None:
    """Where rows of a template end with a loop or a branch, their indentation is easily lost."""
    seen = 0
    for label, node in nodes_of(all_plans()).values():
        text = text_in_plan(node)
        if isinstance(node, Rendered):
            seen += 1
            assert misplaced(text) == [], f"{node.name}: {label}"
            of_result = node.template in ("results/summary", "results/look")
            assert of_result or without_comment(text) == [], f"{node.name}: {label}"
        elif file_of(node):
            assert text.startswith("/* one row per "), f"{node.name}: {label}"
    assert seen > 100


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("-- one row\nSELECT\n    a\nFROM b", []),
        ("-- one row\nSELECT\n    a\n    FROM b", ["    FROM b"]),
        ("-- one row\nWITH b AS (\n    SELECT a\n    FROM c\n)\n\n-- one\nSELECT a\nFROM b", []),
        ("WITH b AS (\n    SELECT a\n    FROM c\n)\n\nSELECT a\n    FROM b", ["    FROM b"]),
        ("SELECT a\nFROM b\n\nORDER BY a", ["'FROM b', ''"]),
        ("SELECT a \nFROM b", ["'', 'SELECT a '"]),
        ("SELECT a\nFROM (\n    SELECT a\n    FROM b\n) AS c\nORDER BY a", []),
        ("SELECT a\nFROM (\n    SELECT a\n    FROM b\n) AS c\n    WHERE a", ["    WHERE a"]),
        ("SELECT\n    rank() OVER (\n        ORDER BY a\n    )\nFROM b", []),
    ],
)
def test_misplaced_lines_are_found(text: str, found: list[str]) -> None:
    assert misplaced(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("-- one row\nSELECT\n    a\nFROM b", []),
        ("SELECT\n    a\nFROM b", ["SELECT"]),
        ("-- one row\nWITH b AS (\n    SELECT a\n)\n\n-- one row\nSELECT\n    a\nFROM b", []),
        ("-- one row\nWITH b AS (\n    SELECT a\n)\n\nSELECT\n    a\nFROM b", ["SELECT"]),
        ("WITH b AS (\n    SELECT a\n)\n\n-- one row\nSELECT\n    a\nFROM b", ["b"]),
        (
            "-- one row\nWITH b AS (\n    SELECT a\n),\n\nc AS (\n    SELECT a\n)\n\n-- one row\n"
            "-- more\nSELECT\n    a\nFROM b",
            ["c"],
        ),
    ],
)
def test_queries_without_comments_are_found(text: str, found: list[str]) -> None:
    assert without_comment(text) == found


def test_metrics_say_what_they_are() -> None:
    incomplete = [
        metric.name
        for metric in METRICS
        if metric.title == metric.name
        or not metric.formula
        or not metric.cite
        or (metric.range is None) != bool(metric.unbounded)
    ]
    assert incomplete == []
    without_direction = {metric.name for metric in METRICS if metric.higher_is_better is None}
    assert without_direction == WITHOUT_DIRECTION


def test_params_are_explained() -> None:
    unexplained = [
        f"{template.name}.{param.name}"
        for template in TEMPLATES
        for param in template.params.values()
        if not param.doc
    ]
    assert unexplained == []
