"""Metrics of the user, one file each, behave like the built-in metrics."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
import sqlglot
from click.testing import CliRunner

import sqlmetrics as sm
from sqlmetrics.cli.commands import main
from tests.support.calls import replan
from tests.support.further_tables import (
    EVERYTHING,
    HISTORY,
    LOGS,
    VALUES,
    Evaluator,
    changed,
    close,
    evaluate,
)
from tests.support.two_users import SHORT_LISTS, SHORT_TRUTH

RECOMMENDATIONS = {"u1": ["a", "b", "c", "d"], "u2": ["b", "a"], "u3": ["c"]}
INTERACTIONS = {"u1": ["b", "d"], "u2": ["z"], "u4": ["a"]}

# hits below the first place; fuses with the built-in metrics over hits
LATE_HITS = """
{#---
title = "Late hits"
when_empty = 0
range = [0, 1]
formula = "hits at rank 2 or later / k"

[params.after]
type = "number"
min = 1
default = 1
doc = "the last rank that is early"
---#}
SELECT
    {{ keys }},
    k,
    count(CASE WHEN rank > {{ after }} THEN 1 END) / {{ divided_by("k") }} AS value
FROM hits
GROUP BY {{ keys }}, k
"""

# an aggregate that is not one of the usual five; users without a hit have no value
MEDIAN_RANK = """
{#---
title = "Median rank of the hits"
---#}
SELECT {{ keys }}, k, median(rank) AS value
FROM hits
GROUP BY {{ keys }}, k
"""

# reads no interactions, and has a shape of its own (a window), so it runs by itself
REPEATED_STEPS = """
{#---
title = "Items that come later in the alphabet than the one before"
audience = "recommended"
when_empty = 0
---#}
WITH steps AS (
    SELECT {{ keys }}, k, item_id,
        lag(item_id) OVER (PARTITION BY {{ keys }}, k ORDER BY rank) AS before
    FROM listed
)

SELECT {{ keys }}, k, count(CASE WHEN item_id > before THEN 1 END) AS value
FROM steps
GROUP BY {{ keys }}, k
"""

# a product is an aggregate that the planner does not know; it must not be fused wrongly
PRODUCT_OF_RANKS = """
{#---
title = "Product of the ranks of the hits"
when_empty = 0
---#}
SELECT {{ keys }}, k, product(rank) AS value
FROM hits
GROUP BY {{ keys }}, k
"""

# its own stage, in the folder stages
FIRST_HITS_STAGE = """
{#---
title = "one row per user with a hit: the first one"
cutoff = "rank"
---#}
-- one row per user (and model) with a hit
SELECT {{ keys }}, min(rank) AS rank FROM hits GROUP BY {{ keys }}
"""
FIRST_HIT = """
{#---
title = "Rank of the first hit"
---#}
SELECT {{ keys }}, k, max(rank) AS value FROM first_hits GROUP BY {{ keys }}, k
"""

# one value for the whole run
SPREAD = """
{#---
title = "Items recommended to anybody"
grain = "run"
when_empty = 0
---#}
SELECT {{ keys }}, k, count(*) AS value FROM exposure GROUP BY {{ keys }}, k
"""

FILES = {
    "late_hits": LATE_HITS,
    "median_rank": MEDIAN_RANK,
    "repeated_steps": REPEATED_STEPS,
    "product_of_ranks": PRODUCT_OF_RANKS,
    "stages/first_hits": FIRST_HITS_STAGE,
    "first_hit": FIRST_HIT,
    "spread": SPREAD,
}


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / f"{name}.sql.j2"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.lstrip(), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("templates"), FILES)


def per_user(folder: Path, spec: str, k: int | None, fuse: bool) -> dict[str, float]:
    with Evaluator(RECOMMENDATIONS, INTERACTIONS, templates=folder) as evaluator:
        replan(evaluator, fuse=fuse)
        frame = evaluator.per_user([spec, "recall"], k=k, long=True)
    values = frame.set_index("user_id")[frame.columns[2]]
    return {str(user): float(value) for user, value in values.dropna().items()}


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize(
    ("spec", "k", "expected"),
    [
        # u1 hits at ranks 2 and 4, u2 and u4 nowhere
        ("late_hits", 3, {"u1": 1 / 3, "u2": 0, "u4": 0}),
        ("late_hits", None, {"u1": 2 / 4, "u2": 0, "u4": 0}),
        ("late_hits(after=2)", 4, {"u1": 1 / 4, "u2": 0, "u4": 0}),
        ("median_rank", 3, {"u1": 2.0}),
        ("median_rank", None, {"u1": 3.0}),
        ("repeated_steps", 2, {"u1": 1, "u2": 0, "u3": 0}),
        ("repeated_steps", None, {"u1": 3, "u2": 0, "u3": 0}),
        ("product_of_ranks", 3, {"u1": 2, "u2": 0, "u4": 0}),
        ("product_of_ranks", None, {"u1": 8, "u2": 0, "u4": 0}),
        ("first_hit", 1, {}),
        ("first_hit", 4, {"u1": 2.0}),
    ],
)
def test_values_of_every_user(
    folder: Path, spec: str, k: int | None, fuse: bool, expected: dict[str, float]
) -> None:
    assert per_user(folder, spec, k, fuse) == pytest.approx(expected)


def test_undefined_users_are_outside_the_mean(folder: Path) -> None:
    with Evaluator(RECOMMENDATIONS, INTERACTIONS, templates=folder) as evaluator:
        row = evaluator.evaluate(["median_rank@4"]).iloc[0]
    assert (row["value"], row["n_users"]) == (3.0, 1)


def test_a_metric_of_the_list_alone_needs_no_interactions(folder: Path) -> None:
    with Evaluator(RECOMMENDATIONS, templates=folder) as evaluator:
        result = evaluator.evaluate(["repeated_steps@2", "spread@1"])
    assert result["value"].tolist() == pytest.approx([1 / 3, 3])
    assert result["n_users"][0] == 3
    assert result["n_users"].isna()[1]


def test_it_fuses_with_the_built_in_metrics(folder: Path) -> None:
    with Evaluator(RECOMMENDATIONS, INTERACTIONS, templates=folder) as evaluator:
        sql = evaluator.sql(["late_hits@3", "recall@3", "median_rank@2"])
    tree = sqlglot.parse_one(sql, "duckdb")
    readers = [table for table in tree.find_all(sqlglot.exp.Table) if table.name == "hits"]
    assert len(readers) == 1


def test_several_models(folder: Path) -> None:
    models = {"one": RECOMMENDATIONS, "two": {"u2": ["z", "b"]}}
    with Evaluator(
        {name: pd.DataFrame(rows(lists)) for name, lists in models.items()},
        INTERACTIONS,
        templates=folder,
    ) as evaluator:
        result = evaluator.evaluate(["spread@1", "first_hit@4"])
    values = result.set_index(["model", "metric"])["value"].to_dict()
    assert values == {
        ("one", "spread"): 3,
        ("two", "spread"): 1,
        ("one", "first_hit"): 2,
        ("two", "first_hit"): 1,
    }


def rows(lists: Mapping[str, list[str]]) -> list[dict[str, object]]:
    return [
        {"user_id": user, "item_id": item, "rank": rank}
        for user, items in lists.items()
        for rank, item in enumerate(items, start=1)
    ]


def test_it_appears_in_every_command(folder: Path, tmp_path: Path) -> None:
    pd.DataFrame(rows(RECOMMENDATIONS)).to_parquet(tmp_path / "recs.parquet")
    truth = pd.DataFrame(rows(INTERACTIONS)).drop(columns="rank")
    truth.to_parquet(tmp_path / "truth.parquet")
    tables = ["-r", str(tmp_path / "recs.parquet"), "-i", str(tmp_path / "truth.parquet")]
    own = ["--templates", str(folder)]
    for arguments, fragment in (
        (["list", *own], "late_hits"),
        (["describe", "late_hits", *own], "hits at rank 2 or later / k"),
        (["evaluate", "late_hits(after=2)@4", *tables, *own], "late_hits(after=2),4"),
        (["per-user", "late_hits@4", *tables, *own], "user_id,late_hits@4"),
        (["sql", "late_hits@4", *tables, *own], "late_hits_at_4"),
    ):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        assert fragment in result.output


@pytest.mark.parametrize(
    ("name", "text", "fragments"),
    [
        ("bad", "SELECT 1", ["front matter"]),
        ("bad", "{#---\ntitle = \n---#}\nSELECT 1", ["not valid TOML"]),
        ("bad", '{#---\ntitel = "x"\n---#}\nSELECT 1', ["unknown entry", "titel"]),
        ("bad", '{#---\ngrain = "item"\n---#}\nSELECT 1', ["grain", '"item"']),
        ("bad", '{#---\nwhen_empty = "zero"\n---#}\nSELECT 1', ["when_empty", '"zero"']),
        ("bad", '{#---\n[params.x]\nchoices = ["a"]\n---#}\nSELECT 1', ["param x", "default"]),
        (
            "bad",
            '{#---\n[params.x]\nchoices = ["a"]\ndefault = "a"\nwhen_empty = 0\n---#}\nSELECT 1',
            ["param x", "when_empty must be a table"],
        ),
        ("Bad", '{#---\ntitle = "x"\n---#}\nSELECT 1', ["lower-case"]),
        ("ndcg", '{#---\ntitle = "x"\n---#}\nSELECT 1', ["ndcg", "already taken"]),
        ("bad", "{#---\n[aliases]\nmap = {}\n---#}\nSELECT 1", ["map", "already taken"]),
        ("bad", '{#---\ntitle = "x"\n---#}\nSELECT {{ nonsense }}', ["bad.sql.j2", "nonsense"]),
        ("bad", '{#---\ntitle = "x"\n---#}\nSELECT {% if %}', ["bad.sql.j2, line 4"]),
        (
            "bad",
            '{#---\ntitle = "x"\n---#}\nSELEKT 1 FROM',
            ["bad.sql.j2", "cannot be parsed", "Near SELEKT 1"],
        ),
        (
            "bad",
            '{#---\ntitle = "x"\n---#}\nSELECT user_id, k, '
            'avg({{ need("interactions", "item_id") }} / 2) AS value FROM hits',
            ["bad.sql.j2", "An expression is missing", "need(), need_time() and assume()"],
        ),
        ("bad", '{#---\ntitle = "x"\n---#}\nSELECT 1; DROP TABLE x', ["a single SELECT"]),
        ("bad", '{#---\ntitle = "x"\n---#}\nDELETE FROM hits', ["a single SELECT"]),
        ("bad", '{#---\ntitle = "x"\n---#}\nSELECT 1 AS value FROM hits', ["user_id, k, value"]),
        (
            "bad",
            '{#---\ntitle = "x"\n---#}\nSELECT user_id, k, 1 AS value FROM hitz',
            ["no stage or table 'hitz'"],
        ),
        (
            "bad",
            '{#---\ntitle = "x"\n---#}\nSELECT user_id, 1 AS k, 1 AS value FROM items',
            ["the metric bad needs the table items", "items=…"],
        ),
    ],
)
def test_a_bad_template_is_one_clear_error(
    tmp_path: Path, name: str, text: str, fragments: list[str]
) -> None:
    write(tmp_path, {name: text})
    with pytest.raises(sm.UsageError) as caught:
        Evaluator(RECOMMENDATIONS, INTERACTIONS, templates=tmp_path).evaluate(["bad@3"])
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_templates_are_sandboxed(tmp_path: Path) -> None:
    escape = "{{ ''.__class__.__mro__[1].__subclasses__() }}"
    write(tmp_path, {"bad": '{#---\ntitle = "x"\n---#}\nSELECT ' + escape})
    with pytest.raises(sm.TemplateError, match="unsafe"):
        Evaluator(RECOMMENDATIONS, INTERACTIONS, templates=tmp_path).evaluate(["bad@3"])


OWN = {
    # reads the lists alone
    "list_length": (
        'title = "items in the top k"\naudience = "recommended"',
        "SELECT {{ keys }}, k, count(*) AS value FROM listed GROUP BY {{ keys }}, k",
    ),
    "own_hits": (
        'title = "hits"\nwhen_empty = 0',
        "SELECT {{ keys }}, k, count(*) AS value FROM hits GROUP BY {{ keys }}, k",
    ),
    "n_decided": (
        'title = "recommended items in the logs, and what they gave"\ngrain = "run"',
        "SELECT {{ keys }}, k, count(reward) + 10 * sum(coalesce(reward, 0)) AS value\n"
        "FROM decisions\nGROUP BY {{ keys }}, k",
    ),
    "n_judged": (
        'title = "judged items in the top k, and the sum of their relevance"\nwhen_empty = 0',
        "SELECT {{ keys }}, k, count(*) + 10 * sum(relevance) AS value\n"
        "FROM matched\nGROUP BY {{ keys }}, k",
    ),
    "n_seen": (
        'title = "recommended items that the user knows"\naudience = "recommended"\nwhen_empty = 0',
        "SELECT {{ keys_of('listed') }}, listed.k, count(*) AS value\n"
        "FROM listed\nINNER JOIN seen\n"
        "    ON {{ same_user('seen', 'listed') }} AND seen.item_id = listed.item_id\n"
        "GROUP BY {{ keys_of('listed') }}, listed.k",
    ),
    "best_known": (
        'title = "users of the best known item"\naudience = "recommended"',
        "SELECT {{ keys_of('listed') }}, listed.k, max(popular.n_users) AS value\n"
        "FROM listed\nINNER JOIN item_popularity AS popular\n"
        "    ON popular.item_id = listed.item_id\n"
        "GROUP BY {{ keys_of('listed') }}, listed.k",
    ),
}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    for name, (front, body) in OWN.items():
        (folder / f"{name}.sql.j2").write_text(f"{{#---\n{front}\n---#}}\n{body}\n")
    return folder


def test_a_metric_without_interactions_beside_one_with(own: Path) -> None:
    lists, truth = {1: [10, 11], 2: [12]}, {1: [11], 9: [10]}
    specs = ["list_length@1", "own_hits", "list_length"]
    with Evaluator(lists, truth, templates=own) as evaluator:
        result = evaluator.evaluate(specs)
        users = evaluator.per_user(["list_length", "own_hits"])
    # over users 1 and 2, who have lists, and over 1 and 9, who want something
    assert result["value"].tolist() == [(1 + 1) / 2, (1 + 0) / 2, (2 + 1) / 2]
    assert result["n_users"].tolist() == [2, 2, 2]
    assert users["user_id"].tolist() == [1, 2, 9]
    assert users["list_length"].fillna(-1).tolist() == [2, 1, -1]
    assert users["own_hits"].fillna(-1).tolist() == [1, -1, 0]
    with Evaluator(lists, templates=own) as evaluator:
        assert evaluator.evaluate("list_length")["value"].item() == (2 + 1) / 2
        with pytest.raises(sm.MissingTableError, match=r"the metric own_hits .*interactions=…"):
            evaluator.evaluate(specs)
        with pytest.warns(sm.SqlmetricsWarning, match="omitted because .*: own_hits$") as warned:
            result = evaluator.evaluate(specs, skip_missing=True)
    assert len(warned) == 1
    assert result["metric"].tolist() == ["list_length", "list_length"]


@pytest.mark.parametrize("fuse", [True, False])
def test_metrics_of_ones_own_read_the_new_stages(own: Path, fuse: bool) -> None:
    expected = {  # over whole lists, and at 1
        # decided: 10 and 11 for user 1, 12 for user 2; 10 and 12 gave 1
        "n_decided": (3 + 10 * 2, 1 + 10 * 1),
        # judged: 10 (2) and 11 (0) for user 1, 10 (0) and 12 (1) for user 2
        "n_judged": (((2 + 10 * 2) + (2 + 10 * 1)) / 2, ((1 + 10 * 2) + (1 + 10 * 0)) / 2),
        # user 1 knows 10 and 11, user 2 knows 10
        "n_seen": ((2 + 1) / 2, (1 + 1) / 2),
        # 10 is known to two users, the others to one
        "best_known": ((2 + 2) / 2, (2 + 2) / 2),
        "mrr": (VALUES["mrr"], 1 / 2),
        "ctr": (VALUES["ctr"], 1),
    }
    with Evaluator(**EVERYTHING, templates=own) as evaluator:
        replan(evaluator, fuse=fuse)
        whole = evaluator.evaluate(list(expected))["value"].tolist()
        at_one = evaluator.evaluate(list(expected), k=1)["value"].tolist()
    assert whole == close([first for first, _ in expected.values()])
    assert at_one == close([second for _, second in expected.values()])


@pytest.mark.parametrize(
    ("metric", "table", "bad"),
    [
        ("n_decided", "logs", changed(LOGS, "item_id", 1, 10)),
        ("n_seen", "history", changed(HISTORY, "user_id", 1, None)),
        ("best_known", "history", changed(HISTORY, "item_id", 1, None)),
    ],
)
def test_the_rules_hold_for_metrics_of_ones_own(
    own: Path, metric: str, table: str, bad: pa.Table
) -> None:
    with pytest.raises(sm.DataError, match=f"{table}: .*\n"):
        evaluate(metric, templates=own, **{table: bad})
    with pytest.raises(sm.MissingTableError, match=f"the metric {metric} needs the table {table}"):
        evaluate(metric, templates=own)


def own_folder(folder: Path, name: str, query: str) -> Path:
    text = f'{{#---\ntitle = "x"\nwhen_empty = 0\n---#}}\n{query}'
    (folder / f"{name}.sql.j2").write_text(text, encoding="utf-8")
    return folder


def test_several_rows_for_one_user_and_k_are_refused(tmp_path: Path) -> None:
    truth = pd.concat([SHORT_TRUTH, pd.DataFrame({"user_id": [1], "item_id": [12]})])
    folder = own_folder(tmp_path, "rows", "SELECT {{ keys }}, k, rank AS value FROM hits")
    with (
        pytest.raises(sm.SqlmetricsError, match="rows: the query returns several rows"),
        Evaluator(SHORT_LISTS, truth, templates=folder) as evaluator,
    ):
        evaluator.evaluate("rows@2")


def test_a_metric_may_be_called_like_a_word_of_sql(tmp_path: Path) -> None:
    query = "SELECT {{ keys }}, k, product(rank) AS value FROM hits GROUP BY {{ keys }}, k"
    folder = own_folder(tmp_path, "union", query)
    with Evaluator(SHORT_LISTS, SHORT_TRUTH, templates=folder) as evaluator:
        assert evaluator.evaluate("union@2")["value"][0] == 1


@pytest.mark.parametrize("value", ["coalesce(k)", "coalesce(NULL, k)", "least(k, NULL)"])
def test_expressions_of_k_that_are_null_for_whole_lists(tmp_path: Path, value: str) -> None:
    query = f"SELECT {{{{ keys }}}}, k, {value} AS value FROM hits GROUP BY {{{{ keys }}}}, k"
    with Evaluator(
        SHORT_LISTS, SHORT_TRUTH, templates=own_folder(tmp_path, "mine", query)
    ) as evaluator:
        (row,) = evaluator.evaluate("mine").to_dict("records")
    assert row["n_users"] == 0  # NULL in a row: undefined, which is not the value of an empty list
    assert pd.isna(row["value"])


@pytest.mark.parametrize(
    ("lists", "what"),
    [
        ({"u1": ["b"], "u2": ["b"]}, "the value 2 is"),
        ({"u1": ["b"], "u2": ["a"], "u3": ["a"]}, "values of users are"),  # the mean is 2 / 3
    ],
)
def test_values_outside_the_declared_range(
    tmp_path: Path, lists: dict[str, list[str]], what: str
) -> None:
    (tmp_path / "doubled.sql.j2").write_text(
        '{#---\ntitle = "Doubled"\nwhen_empty = 0\nrange = [0, 1]\n---#}\n'
        "SELECT {{ keys }}, k, 2.0 AS value FROM hits GROUP BY {{ keys }}, k\n",
        encoding="utf-8",
    )
    truth = {user: ["b"] for user in lists}
    told = "outside the range 0 to 1 that the template declares. Correct the query or range in .*"
    with Evaluator(lists, truth, templates=tmp_path, check=False) as evaluator:
        for call in (evaluator.evaluate, evaluator.rows):
            with pytest.warns(sm.SqlmetricsWarning, match=f"doubled: {what} {told}doubled.sql.j2"):
                call("doubled@1")
        with pytest.warns(sm.SqlmetricsWarning, match=f"doubled: the value 2 is {told}"):
            evaluator.per_user("doubled@1")


def test_values_at_the_ends_of_the_declared_range(tmp_path: Path) -> None:
    (tmp_path / "found.sql.j2").write_text(
        '{#---\ntitle = "Found"\nwhen_empty = 0\nrange = [0, 1]\n---#}\n'
        "SELECT {{ keys }}, k, 1.0 AS value FROM hits GROUP BY {{ keys }}, k\n",
        encoding="utf-8",
    )
    lists = {user: ["b"] if user % 3 else ["a"] for user in range(7)}
    truth = {user: ["b"] for user in lists}
    with Evaluator(lists, truth, templates=tmp_path, check=False) as evaluator:
        assert evaluator.evaluate("found@1")["value"].tolist() == [pytest.approx(4 / 7)]
        assert set(evaluator.per_user("found@1", long=True)["found"]) == {0, 1}
