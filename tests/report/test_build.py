"""Test reports of many kinds of input, refused arguments, and the files of reports."""

from __future__ import annotations

import json
import re
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.errors import DataError, MissingTableError, UsageError
from sqlmetrics.report.analysis import Question, Study
from sqlmetrics.report.build import _leaderboard
from sqlmetrics.report.content import Content
from sqlmetrics.report.examples import examples
from sqlmetrics.report.figures import KINDS
from sqlmetrics.report.figures.kind import plotted
from sqlmetrics.report.summary import of_metrics, result
from sqlmetrics.stats.decisions import ATTRIBUTE
from tests.support.calls import studied
from tests.support.command_line import run
from tests.support.evaluators import Evaluator
from tests.support.frames import same
from tests.support.report_html import Read
from tests.support.reports import (
    FAIR,
    GOOD,
    HISTORY,
    ITEMS,
    METRICS,
    MODELS,
    POOR,
    RECOMMENDED,
    TABLES,
    TRUTH,
    TWO,
    USER_TABLE,
    USERS,
    K,
    content_of,
)

# ---------------------------------------------------------------- shapes of the input


@dataclass
class Shape:
    """The arguments of an evaluator and of its report."""

    tables: dict[str, Any]
    metrics: Any = ("ndcg", "precision")
    k: Any = (2, 4)
    primary: str | None = None
    models: tuple[str, ...] = ("good", "fair")
    no_examples: bool = False


def each(change: Any, **more: Any) -> dict[str, Any]:
    """Change the tables of two models, the truth and the history."""
    return {
        "recommendations": {name: change(frame) for name, frame in TWO.items()},
        "interactions": change(TRUTH),
        "history": change(HISTORY),
        **more,
    }


def keyed(*names: str) -> Shape:
    """Split the user key into two columns: quotient and remainder of a division by 7."""

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        parts = [frame["user_id"] % 7, frame["user_id"] // 7]
        key = dict(zip(names, parts, strict=True)) if len(names) > 1 else {}
        return frame.drop(columns="user_id").assign(**(key or {names[0]: frame["user_id"]}))

    return Shape(each(change, key=list(names)))


def texts(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(
        user_id=[f"user '{user}'" for user in frame["user_id"]],
        item_id=[f"{item}\n%s" for item in frame["item_id"]],
    )


def uuids(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(user_id=[str(uuid.UUID(int=user)) for user in frame["user_id"]])


FEW = {"recommendations": TWO, "interactions": TRUTH}
NUMBERED = pd.concat([GOOD.assign(model=10), FAIR.assign(model=9)])
SHAPES = {
    "one model without a name": Shape(
        {"recommendations": GOOD, "interactions": TRUTH, **TABLES}, models=("recommendations",)
    ),
    "models are numbers of a column": Shape(
        {**FEW, "recommendations": NUMBERED}, models=("10", "9")
    ),
    "a key of two columns": keyed("tenant", "user"),
    "keys named like columns of the report": keyed("kind", "title"),
    "a key with spaces": keyed("value of user"),
    "texts as ids": Shape(each(texts)),
    "everything": Shape(
        {**FEW, "recommendations": RECOMMENDED, **TABLES}, METRICS, K, None, tuple(MODELS)
    ),
    "UUIDs as ids": Shape(each(uuids)),
    "no other tables": Shape(FEW),
    "metrics of the whole run only": Shape(
        {**FEW, "history": HISTORY}, ["coverage"], 4, no_examples=True
    ),
    "a metric with parameters": Shape(
        FEW,
        ["precision@4", "ndcg(discount=log2_max2)@5"],
        None,
        "ndcg(discount=log2_max2)@5",
    ),
    "whole lists": Shape(FEW, k=None),
    "one user": Shape(each(lambda frame: frame.query("user_id == 5"))),
    "users without lists": Shape(
        {**FEW, "recommendations": {"good": GOOD.query("user_id < 9"), "poor": POOR}},
        models=("good", "poor"),
    ),
    "no value for a model": Shape(
        {
            **FEW,
            "recommendations": {"good": GOOD, "late": GOOD.query("user_id > 20")},
            "interactions": TRUTH.query("user_id < 15"),
            "settings": {"audience": "both"},
        },
        models=("good", "late"),
    ),
    "models that share no users": Shape(
        {
            **FEW,
            "recommendations": {"a": GOOD.query("user_id < 9"), "b": FAIR.query("user_id > 20")},
            "settings": {"audience": "both"},
        },
        models=("a", "b"),
    ),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_shapes(shape: Shape) -> None:
    with Evaluator(**shape.tables) as evaluator:
        theirs = evaluator.evaluate(shape.metrics, shape.k)
        with studied(evaluator, Question(shape.metrics, shape.k, shape.primary)) as study:
            if "model" in theirs:
                theirs["model"] = theirs["model"].astype(str)
            same(study.values, theirs, "metric", "k", *(["model"] if "model" in theirs else []))
            n_users = study.at_main.set_index(["model", "label"])["n_users"]
            if len(KINDS["distribution"].rows(study)):
                counts = (
                    KINDS["distribution"].rows(study).groupby(["model", "label"])["n_users"].sum()
                )
                assert counts.to_dict() == n_users.loc[counts.index].to_dict()
            rows = _leaderboard(study).rows
            assert set(study.models) == {row[0] for row in rows} <= set(shape.models)
            assert set(KINDS["exposure"].rows(study)["model"]) == set(shape.models)
            _check_examples(study, shape)
            assert_sound(content_of(study))


def _check_examples(study: Study, shape: Shape) -> None:
    found = examples(study)
    assert bool(found) is not shape.no_examples
    for one in found:
        keys = [part.partition(" = ")[0] for part in one.user.split(", ")]
        assert keys == list(study.planner.user_keys)
        assert 0 < len(one.relevant) <= one.n_relevant
        assert [own.model for own in one.lists] == list(study.models)
        assert one.lists[0].items, "the best model has a list for its examples"
        for own in one.lists:
            assert [item.rank for item in own.items] == list(range(1, len(own.items) + 1))


def assert_sound(content: Content) -> None:
    names = [figure.name for section in content.sections for figure in section.figures]
    assert len(names) == len(set(names))
    for section in content.sections:
        for figure in section.figures:
            json.dumps(figure.chart, allow_nan=False)  # as the page writes it
            assert figure.alternative
            assert figure.table
            assert figure.table.rows
            assert all(len(row) == len(figure.table.columns) for row in figure.table.rows)
    assert content.statement.lstrip().upper().startswith(("WITH", "SELECT", "--"))


def figures_of(content: Content) -> list[str]:
    return [figure.name for section in content.sections for figure in section.figures]


def test_a_report_of_metrics_of_the_whole_run() -> None:
    tables = {**FEW, "history": HISTORY}
    with Evaluator(**tables) as evaluator:
        content = evaluator.report("coverage@4", primary="coverage@4").content
    assert figures_of(content) == ["scores", "exposure", "popularity", "popularity_lift"]
    assert content.examples == []
    assert_sound(content)


@pytest.fixture(scope="module")
def content(study: Study) -> Content:
    return content_of(study)


def test_the_legend_of_wins_has_the_order_of_the_bars(content: Content) -> None:
    (chart,) = [
        figure.chart
        for section in content.sections
        for figure in section.figures
        if figure.name == "wins"
    ]
    assert chart is not None
    encoding = chart["encoding"]
    (rows,) = chart["datasets"].values()
    by_place = {row["place"]: row["outcome"] for row in rows}
    assert encoding["order"]["field"] == "place"
    assert encoding["color"]["legend"]["values"] == [by_place[place] for place in sorted(by_place)]


@pytest.mark.parametrize(
    "metrics", [["ndcg"], ["ndcg", "recall"], ["ndcg", "recall", "mrr", "map"]]
)
def test_the_result_does_not_depend_on_the_other_metrics(
    metrics: list[str], evaluator: sm.Evaluator
) -> None:
    alone = Question(["ndcg"], [4])
    with studied(evaluator, alone) as one, studied(evaluator, Question(metrics, [4])) as several:
        assert result(several) == result(one)


def test_the_result_in_one_sentence(study: Study, content: Content) -> None:
    values = study.board.set_index("model")["ndcg@4"]
    assert study.models[:2] == ["good", "fair"]
    lead = 100 * (values["good"] / values["fair"] - 1)
    assert content.result == (
        f"good is best by ndcg@4, {values['good']:#.4g}: {lead:.2g} % above fair "
        f"({values['fair']:#.4g})."
    )
    assert content.differs == (
        "Settings that differ from the convention: relevant_from = 2, recall.divisor = none."
    )


def test_a_sentence_per_metric(evaluator: sm.Evaluator) -> None:
    """They are those of `compare` with the best model."""
    with studied(evaluator, Question(["ndcg", "recall"], [4])) as study:
        found, models = of_metrics(study), study.models
        compared = evaluator.compare(["ndcg", "recall"], k=4, baseline=models[0])
    assert {*study.from_best["baseline"]} == {models[0]}
    assert found == compared.attrs[ATTRIBUTE]
    assert found[0].startswith("ndcg@4: ")
    assert len(found) == 2


@pytest.mark.parametrize(("cluster", "unit"), [(None, "users"), ("home", "clusters")])
def test_the_result_says_which_differences_the_users_are_too_few_for(
    cluster: str | None, unit: str
) -> None:
    """A few more users gain than lose: the report finds what compare finds with power=0.8."""
    users = range(70)
    models = {
        "x": {user: ["a", "b"] if user % 7 < 3 else ["b", "a"] for user in users},
        "y": {user: ["a", "b"] if user % 5 < 2 else ["b", "a"] for user in users},
    }
    held_out = pd.DataFrame({"user_id": users, "item_id": "a"})
    homes = pd.DataFrame({"user_id": users, "home": [user // 2 for user in users]})
    with Evaluator(models, held_out, users=homes) as evaluator:
        row = evaluator.compare("mrr@1", baseline="y", power=0.8, cluster=cluster).iloc[0]
        with studied(evaluator, Question(["mrr"], [1], cluster=cluster)) as study:
            (sentence,) = of_metrics(study)
    assert "not significant" in sentence
    assert f"; with these {row[f'n_{unit}']} {unit}, only differences above {row['mde']:.3g}" in (
        sentence
    )


@pytest.mark.parametrize(
    ("lists", "metric", "result"),
    [
        ({"u": ["a"]}, "mrr@1", "mrr@1 is 1.000."),
        ({"x": {"u": ["a"]}, "y": {"u": ["a"]}}, "mrr@1", "x and y have the best mrr@1, 1.000."),
        (
            {"x": {"u": ["b"]}, "y": {"u": ["a"]}},
            "mrr@1",
            "y is best by mrr@1, 1.000: above x (0.000).",
        ),
        (
            {"x": {"u": ["b"]}, "y": {"u": ["a"]}},
            "popularity@1",
            "x is best by popularity@1, 0.5000: 50 % below y (1.000).",
        ),
    ],
)
def test_results_of_other_kinds(lists: Any, metric: str, result: str) -> None:
    history = pd.DataFrame({"user_id": ["v", "w", "w"], "item_id": ["a", "a", "b"]})
    with (
        Evaluator(lists, {"u": ["a"]}, history=history) as evaluator,
        studied(evaluator, Question(metric, primary=metric)) as study,
    ):
        assert content_of(study).result == result


def test_every_figure_is_there(content: Content) -> None:
    assert figures_of(content) == [
        "scores", "against_best", "cutoffs_0", "cutoffs_1", "cutoffs_2", "cutoffs_3",
        "distribution", "differences", "wins", "slices_0", "slices_1", "slices_2",
        "exposure", "popularity", "popularity_lift", "trade_off",
    ]  # fmt: skip
    assert_sound(content)
    lifts = ["popularity_lift", "group_popularity_lift"]
    assert [one.metric for one in content.definitions] == [*METRICS, *lifts, "all metrics"]


# ---------------------------------------------------------------- side effects


def test_nothing_is_left_in_a_connection() -> None:
    def all_names() -> list[tuple[Any, ...]]:
        return connection.execute(
            "SELECT table_name, temporary FROM duckdb_tables() UNION ALL "
            "SELECT view_name, temporary FROM duckdb_views() WHERE NOT internal ORDER BY ALL"
        ).fetchall()

    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE lists AS SELECT * FROM GOOD")
        connection.execute("CREATE TABLE truth AS SELECT * FROM TRUTH")
        before = all_names()
        with Evaluator("lists", "truth", connection=connection) as evaluator:
            content = evaluator.report("precision", [2, 4]).content
            with pytest.raises(UsageError, match="nothing to draw"):
                evaluator.plot("wins", "precision@4")
        assert all_names() == before
        assert connection.execute("SELECT count(*) FROM lists").fetchall() == [(len(GOOD),)]
    # the report has one model, which has no name
    assert figures_of(content) == ["cutoffs_0", "distribution", "exposure"]
    assert content.leaderboard.legend == "± half the width of the 95 % confidence interval"
    assert [score.mark for score in content.leaderboard.rows[0][2]] == [""]
    assert "Models" not in dict(content.facts)
    assert_sound(content)


def test_nothing_more_is_kept_than_by_evaluate() -> None:
    metrics = ["precision@4"]
    with Evaluator(TWO, TRUTH, users=USER_TABLE) as evaluator:
        before = evaluator.evaluate(metrics, by="country")
        evaluator.check(metrics)
        kept = dict(evaluator.engine.kept())
        for figure in ("slices", "exposure"):
            evaluator.plot(figure, metrics)
            assert dict(evaluator.engine.kept()) == kept
        with studied(evaluator, Question(metrics)) as study:
            assert set(evaluator.engine.kept()) > set(kept)  # until the study is closed
            assert len(KINDS["exposure"].rows(study))
        assert dict(evaluator.engine.kept()) == kept
        pd.testing.assert_frame_equal(evaluator.evaluate(metrics, by="country"), before)


# ---------------------------------------------------------------- refused arguments


def few(**more: Any) -> sm.Evaluator:
    return Evaluator(TWO, TRUTH, **more)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"primary": "recall@4"}, r"primary: recall@4 is not a metric .*; choose one of ndcg@4"),
        (
            {"primary": "ndcg@5"},
            r"primary: ndcg@5 is not a metric .*one of ndcg@4; did you mean 'ndcg@4'",
        ),
        ({"primary": "nonsense"}, "unknown metric 'nonsense'"),
        ({"metrics": "nonsense"}, "unknown metric 'nonsense'"),
        ({"by": "moon"}, "by: unknown column or slice 'moon'"),
        ({"by_item": "colour"}, "'colour'"),
        ({"alpha": 0}, "alpha must be between 0 and 1, not 0"),
        ({"alpha": 1}, "alpha must be between 0 and 1, not 1"),
        ({"alpha": 1.5}, "alpha must be between 0 and 1, not 1.5"),
        ({"alpha": "0.05"}, "alpha must be between 0 and 1"),
        ({"confidence": 1.5}, "confidence"),
        ({"test": "sign"}, "unknown test 'sign'"),
        ({"correction": "bonferroni"}, "unknown correction 'bonferroni'"),
    ],
    ids=str,
)
def test_refused_arguments(
    evaluator: sm.Evaluator, arguments: dict[str, Any], message: str
) -> None:
    for call in (evaluator.report, lambda *a, **b: evaluator.plot("scores", *a, **b)):
        with pytest.raises(UsageError, match=message):
            call(**{"metrics": "ndcg@4", **arguments})


def test_logs_without_lists_have_no_report() -> None:
    logs = pd.DataFrame({
        "user_id": [1, 2], "item_id": 1, "reward": [0, 1], "propensity": 0.5,
        "target_propensity": 0.5,
    })  # fmt: skip
    with Evaluator(logs=logs) as one, pytest.raises(UsageError, match="describe lists, which were"):
        one.report("ipw")


def test_unknown_figures() -> None:
    with few() as evaluator:
        with pytest.raises(
            UsageError, match=r"'exposures'; choose one of scores, .*did you mean 'exposure'"
        ):
            evaluator.plot("exposures")
        with pytest.raises(UsageError, match="unknown figure 7"):
            evaluator.plot(7)  # type: ignore[arg-type]


def test_nothing_to_draw() -> None:
    needs = {
        "scores": "several models",
        "against_best": "several models",
        "cutoffs": r"several cutoffs, e.g. k=\[1, 5, 10\]",
        "differences": "several models",
        "wins": "several models",
        "slices": "history or users",
        "popularity": "the table history",
        "group_exposure": "items with a column item_group or category",
        "calibration": "history, and items with a column category",
        "popularity_lift": "the table history",
        "trade_off": "several models",
    }
    with Evaluator(GOOD, TRUTH) as one, studied(one, Question("precision@4")) as study:
        for figure, need in needs.items():
            with pytest.raises(UsageError, match=f"{figure}: .*nothing to draw; .*{need}"):
                plotted(KINDS[figure], study)
    whole = Evaluator(TWO, TRUTH, history=HISTORY)
    with whole, pytest.raises(UsageError, match=r"distribution: nothing to draw; .*per-user"):
        whole.plot("distribution", "coverage@4")


def test_no_report_of_several_conventions_or_by_spark() -> None:
    two = few(convention=["standard", "ranx"])
    with two, pytest.raises(UsageError, match="needs one convention, not standard and ranx"):
        two.report("ndcg@4")
    with few() as evaluator:
        engine, session = evaluator.engine, evaluator._session
        session.engine = SimpleNamespace(embedded=None, changing=None)  # type: ignore[assignment]
        try:
            with pytest.raises(UsageError, match="need DuckDB; with Spark or a database"):
                evaluator.plot("scores", "ndcg@4")
        finally:
            session.engine = engine


@pytest.mark.filterwarnings("ignore::sqlmetrics.DataWarning")
def test_a_leak_of_a_split_is_named() -> None:
    """Leave-last-one-out: a row of user 1 is held out at 5, and the history goes on until 7.

    It has the held-out item a of user 1 only at 7.
    """
    truth = pd.DataFrame({"user_id": [1, 2], "item_id": ["a", "b"], "timestamp": [5, 9]})
    past = pd.DataFrame({"user_id": [1, 2, 2], "item_id": ["b", "b", "a"], "timestamp": [1, 2, 7]})
    lists = {1: ["a", "b"], 2: ["b", "a"]}
    told = {}
    for times in (past, past.assign(timestamp=[1, 2, 3])):
        with sm.Evaluator(lists, truth, history=times) as evaluator:
            content = evaluator.report("ndcg@2").content
        told[len(told)] = {warned.check: warned for warned in content.warnings}
    leaks, clean = told.values()
    assert leaks["truth_before_end_of_history"].level == "warning"
    assert "1 of 2 rows is earlier than the last row of the history, and 0 are" in (
        leaks["truth_before_end_of_history"].found
    )
    future = leaks["items_from_the_future"]
    assert (future.level, future.found.partition(": ")[2][:6]) == ("note", "1 of 2")
    assert not {"truth_before_end_of_history", "items_from_the_future"} & clean.keys()


def test_what_is_missing_is_said() -> None:
    with Evaluator(None, TRUTH) as one, pytest.raises(MissingTableError, match="recommend"):
        one.report()
    metrics = ["ndcg@4", "popularity@4"]
    with few() as evaluator:
        with pytest.raises(MissingTableError, match="history"):
            evaluator.report(metrics)
        with (
            pytest.warns(sm.SqlmetricsWarning, match=r"omitted because .*: popularity"),
            studied(evaluator, Question(metrics, skip_missing=True)) as study,
        ):
            assert study.values["label"].unique().tolist() == ["ndcg@4"]


@pytest.mark.parametrize("call", ["report", "plot"])
def test_altair_is_missing(monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    arguments = ["ndcg@4"] if call == "report" else ["scores", "ndcg@4"]
    message = r"altair.*pip install 'sqlmetrics\[report\]'"
    with few() as evaluator, pytest.raises(UsageError, match=message):
        getattr(evaluator, call)(*arguments)


# ---------------------------------------------------------------- files


@pytest.mark.usefixtures("bundle")
def test_the_command(files: list[str], tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    more = ["--title", "A & B", "--no-examples", "--primary", "precision", "--alpha", "0.1"]
    run(*files, "-o", path, *more)
    written = path.read_text(encoding="utf-8")
    assert Read(written).texts.count("A & B") == 2  # title and heading
    assert "p ≥ 0.1" in written
    assert not re.search(r"user_id = \d", written)
    assert list(tmp_path.iterdir()) == [path]

    assert "exists" in run(*files, "-o", path, code=1).output
    assert path.read_text(encoding="utf-8") == written

    refused = run(*files, "-o", path, "--force", "--by", "nonsense", code=2)
    assert "unknown column or slice 'nonsense'" in refused.output
    assert path.read_text(encoding="utf-8") == written

    run(*files, "-o", path, "--force", *more)
    assert path.read_text(encoding="utf-8") == written  # the same file each time

    run(*files, "-o", path, "--force")
    assert re.search(r"user_id = \d", path.read_text(encoding="utf-8"))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["report", "report.pdf", "report.html.gz", "html", ".html"])
def test_names_of_files_that_are_no_pages(files: list[str], tmp_path: Path, name: str) -> None:
    assert "ends in .html" in run(*files, "-o", tmp_path / name, code=2).output
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("bundle")
def test_a_report_is_saved_whole_or_not_at_all(tmp_path: Path) -> None:
    with Evaluator(GOOD.head(6), TRUTH.head(5)) as evaluator:
        report = evaluator.report("precision@4")
    report.save(tmp_path / "a.HTML")  # the evaluator is closed
    assert (tmp_path / "a.HTML").read_text(encoding="utf-8") == report.html
    with pytest.raises(DataError, match="exists"):
        report.save(tmp_path / "a.HTML")
    report.save(tmp_path / "a.HTML", force=True)
    with pytest.raises(UsageError, match=r"use a file name that ends in \.html"):
        report.save(tmp_path / "a.txt")
    with pytest.raises(DataError):
        report.save(tmp_path / "nowhere" / "a.html")
    shown = Read(report._repr_html_())
    ((tag, attributes),) = shown.tags
    assert tag == "iframe"
    assert attributes["srcdoc"] == report.html
    assert "allow-same-origin" not in (attributes["sandbox"] or "")


# ---------------------------------------------------------------- hostile names


HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "it's \\ {{7*7}} {% raw %} %s %(x)s\n<!-- datum['a']",
)


def renamed(table: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Replace every name in the tables by one of these names, numbered where needed."""
    first, second, third = names

    def text(column: pd.Series, name: str) -> list[str]:
        return [f"{name}{value:03}" for value in column]

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(
            user_id=text(frame["user_id"], first), item_id=text(frame["item_id"], second)
        )

    lists = table["recommendations"].values()
    users = pd.DataFrame({"user_id": text(pd.Series(USERS), first)})
    items = pd.DataFrame({"item_id": text(pd.Series(ITEMS), second), "title": third})
    return {
        "recommendations": pd.concat(
            change(frame).assign(model=name)
            for name, frame in zip((first, third), lists, strict=True)
        ),
        "interactions": change(table["interactions"]),
        "items": items,
        "users": users.assign(country=[names[user % 3] for user in USERS]),
    }


@pytest.mark.usefixtures("bundle")
def test_hostile_names_are_only_text() -> None:
    # except for its texts, the page is the same as with other names
    pages, contents = [], []
    for names in (HOSTILE, ("one", "two", "three")):
        with Evaluator(**renamed(FEW, names)) as evaluator:
            report = evaluator.report("precision@4", title=names[0])
        pages.append(Read(report.html))
        contents.append(report.content)
        assert_sound(report.content)
    hostile, plain = pages
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in plain.tags]
    assert [sorted(of) for _, of in hostile.tags] == [sorted(of) for _, of in plain.tags]
    texts = "\0".join(hostile.texts)
    for name in HOSTILE:
        assert name in texts
    assert f"{HOSTILE[2]} ({HOSTILE[1]}1" in texts  # a title and an id
    assert f"user_id = {HOSTILE[0]}0" in texts
    data = [text for attributes, text in hostile.scripts if attributes.get("type")]
    charts = [one.chart for of in contents[0].sections for one in of.figures]
    assert [json.loads(one) for one in data] == json.loads(json.dumps(charts))
    assert not any(sign in one for one in data for sign in "<>&")
    # no name occurs in an expression, which Vega would evaluate
    for chart in charts:
        for expression in expressions(chart):
            assert not any(sign in expression for sign in ("alert", "7*7", "<", "script")), chart


def expressions(chart: Any) -> Iterator[str]:
    """Find the expressions that Vega evaluates: filters, calculations and expressions."""
    if isinstance(chart, dict):
        for key, value in chart.items():
            if key in ("filter", "calculate", "expr", "labelExpr", "test"):
                yield json.dumps(value)
            yield from expressions(value)
    elif isinstance(chart, list):
        for value in chart:
            yield from expressions(value)


# ---------------------------------------------------------------- size and imports


def test_a_large_report_is_small() -> None:
    random = np.random.default_rng(0)
    users, items = range(120), np.arange(200)
    models = {
        f"model_{number}": {user: random.permutation(items)[:50].tolist() for user in users}
        for number in range(15)
    }
    truth = {user: random.permutation(items)[:20].tolist() for user in users}
    of_users = pd.DataFrame({"user_id": users, "city": [f"city {user}" for user in users]})
    with Evaluator(models, truth, users=of_users) as evaluator:
        report = evaluator.report(k=range(1, 51), by="city")
    assert_sound(report.content)
    assert len(report.content.leaderboard.rows) == 15
    assert len(report.html.encode()) < 2_000_000
