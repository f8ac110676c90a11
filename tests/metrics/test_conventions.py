"""Convention files, several conventions in one call, and what they do not cover."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.metrics.conventions import Convention
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import parse_spec
from tests.support.conventions import (
    CATALOG,
    FIVE_USERS,
    NAMES,
    TWO_MODELS,
    covers,
    evaluator,
    exactly,
)
from tests.support.evaluators import Evaluator
from tests.support.notation import number

# ---------------------------------------------------------------- the files


def test_the_conventions_that_there_are() -> None:
    """The default convention first, then the files in the order of their names."""
    files = Path(sm.__file__).with_name("metrics").glob("conventions/*.toml")
    assert ["standard", *sorted({file.stem for file in files} - {"standard"})] == NAMES
    assert {"trec_eval", "ranx", "rectools", "lightgbm"} < set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_convention_says_whose_it_is_and_what_it_covers(name: str) -> None:
    convention = Convention.load(name)
    assert convention.name == name
    assert convention.title
    assert convention.release
    assert convention.cite
    settings = Settings(CATALOG, convention, {})
    if name == "standard":
        assert convention.covers is None
        assert not settings.of_convention
        return
    assert convention.covers
    # settings of a metric that the system does not have would do nothing
    assert set(convention.metrics) <= (settings.covered or set())
    for difference in convention.differs:
        assert difference.there
        assert difference.here


@pytest.mark.parametrize("name", NAMES)
def test_no_setting_of_a_convention_is_idle(name: str) -> None:
    """A setting for one metric differs from what holds for all of them and from the default."""
    convention = Convention.load(name)
    for metric_name, values in convention.metrics.items():
        metric, _ = CATALOG.metric(metric_name)
        for setting, value in values.items():
            param = {**CATALOG.stage_params, **metric.params}[setting]
            otherwise = convention.settings.get(
                setting, metric.audience if setting == "audience" else param.default
            )
            assert param.parse(value, name) != param.parse(otherwise, name), (metric_name, setting)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[setings]\norder = 'row'\n", 'unknown entry "setings"'),
        ("title = 3\n", "title must be a text, not 3"),
        ("covers = 3\n", "covers must be a table"),
        ("[covers]\nMAP = 3\n", "covers.MAP must be a text"),
        ("[metrics]\nmap = 3\n", "metrics.map must be a table"),
        ("[[differs]]\nthere = 'x'\n", r"differs\[0\].here is missing"),
        (
            "[[differs]]\nthere = 'x'\nhere = 'y'\nmetrics = 'map'\n",
            "metrics must be a list",
        ),
        ("[differs]\nthere = 'x'\nhere = 'y'\n", "differs must be a list"),
        ("[covers]\n", "covers must be a table with a metric"),
        ("[settings]\nmap.divisor = 'k'\n", r"settings.map must be a value \(.* \[metrics.NAME\]"),
        ("[metrics.mapp]\ndivisor = 'k'\n", "unknown metric 'mapp'"),
        ("[metrics.map]\ndivisr = 'k'\n", "unknown setting 'divisr' of map"),
        ("[[differs]]\nthere = 'x'\nhere = 'y'\nmetrics = ['mapp']\n", "unknown metric 'mapp'"),
        ("[covers]\nMAP = 'mapp'\n", "MAP: unknown metric 'mapp'"),
        ("[covers]\nMAP = 'map(divisor=x)'\n", "MAP: .*divisor cannot be 'x'"),
        ("[covers]\nMAP = 'map@5'\n", "MAP: .*remove the cutoff"),
        ("[covers]\nMAP = 'all'\n", "MAP: unknown metric 'all'"),
        ("[settings]\nrelevant_from = inf\n", "relevant_from must be"),
    ],
    ids=str,
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(sm.UsageError, match=message) as caught:
        evaluator(convention=path)
    assert "mine" in str(caught.value)


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "ours.toml"
    path.write_text('[settings]\naudience = "both"\n[metrics.map]\ndivisor = "k"\n')
    with evaluator(convention=[path, "jurity"]) as ours:
        frame = ours.evaluate(["map@3"])
    assert frame["convention"].tolist() == ["ours", "jurity"]
    assert frame["value"].tolist() == exactly([(5 / 9 + 1 / 6 + 5 / 9) / 4, (10 / 9 + 1 / 2) / 4])


def test_two_files_of_one_name(tmp_path: Path) -> None:
    paths = [tmp_path / "one" / "ours.toml", tmp_path / "two" / "ours.toml"]
    for path, audience in zip(paths, ("both", "either"), strict=True):
        path.parent.mkdir()
        path.write_text(f'[settings]\naudience = "{audience}"\n')
    with pytest.raises(sm.UsageError, match="two conventions have the name ours"):
        evaluator(convention=paths)


def test_a_file_with_the_name_of_one_that_there_is(tmp_path: Path) -> None:
    path = tmp_path / "jurity.toml"
    path.write_text('[settings]\naudience = "both"\n')
    with pytest.raises(sm.UsageError, match="rename the file"):
        evaluator(convention=path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"convention": None}, "conventions must be names or paths .*, not None"),
        ({"convention": [3]}, "a name or the path of a .toml file, not 3"),
        ({"convention": []}, "the list of conventions is empty"),
        ({"convention": ""}, "the name is empty"),
        ({"convention": "jurrity"}, "unknown convention 'jurrity'.*did you mean 'jurity'"),
        ({"fallback": ["standard"]}, r"a name or the path of a .toml file, not \['standard'\]"),
        ({"fallback": "all"}, "all stands for several"),
        ({"convention": Path(__file__)}, r"end in .toml"),
    ],
    ids=str,
)
def test_what_is_no_convention(options: dict[str, Any], message: str) -> None:
    with pytest.raises(sm.UsageError, match=message):
        evaluator(**options)


# ---------------------------------------------------------------- several at once


@pytest.fixture(scope="module")
def every() -> Iterator[sm.Evaluator]:
    with Evaluator(**TWO_MODELS, convention="all") as found:
        yield found


SPECS = ["map", "ndcg(gain=linear)", "hit_rate", "precision@2", "r_precision"]


def test_several_in_one_call_equal_each_alone(every: sm.Evaluator) -> None:
    together = every.evaluate(SPECS, k=[1, 3])
    assert together.columns.tolist()[:4] == ["model", "convention", "metric", "k"]
    per_user = every.per_user(SPECS, k=[1, 3], long=True)
    assert per_user.columns.tolist()[:4] == ["model", "convention", "user_id", "k"]
    for name in NAMES:
        settings = Settings(CATALOG, Convention.load(name), {})
        specs = [spec for spec in SPECS if settings.covers(parse_spec(spec).metric)]
        if not specs:
            continue  # fairranktune and rbo have other metrics
        with Evaluator(**TWO_MODELS, convention=name) as alone:
            expected = alone.evaluate(specs, k=[1, 3])
            of_users = alone.per_user(specs, k=[1, 3], long=True)
        rows = together[together["convention"] == name].drop(columns="convention")
        pd.testing.assert_frame_equal(rows.reset_index(drop=True), expected, rtol=0, atol=1e-12)
        rows = per_user[per_user["convention"] == name].drop(columns="convention")
        rows = rows[of_users.columns].reset_index(drop=True)
        pd.testing.assert_frame_equal(rows, of_users, rtol=0, atol=1e-12)


def test_rows_come_in_the_order_of_the_names() -> None:
    with evaluator(convention=["tutorial", "jurity", "tutorial"]) as two:
        frame = two.evaluate(["ndcg", "map"], k=[3, 1])
    assert frame["convention"].tolist() == ["tutorial"] * 4 + ["jurity"] * 4
    assert frame["metric"].tolist() == ["ndcg", "ndcg", "map", "map"] * 2


def test_one_convention_needs_no_column() -> None:
    with evaluator(convention=["jurity"]) as one:
        assert "convention" not in one.evaluate("map@3").columns
        assert "convention" not in one.per_user("map@3", long=True).columns


def test_what_conventions_share_is_computed_once() -> None:
    """Jurity and standard judge the same lists: one search for hits, one column for recall."""
    with evaluator(convention=["standard", "jurity"]) as two:
        text = two.sql(["recall@3", "map@3", "precision@3"], physical=True)
    names = re.findall(r"(\w+) AS (?:NOT )?(?:MATERIALIZED )?\(", text)
    # the audiences are two, and so are the tables of values that are filled for them
    for name in ("per_user", "totals"):
        assert [one for one in names if one.startswith(name)] == [name, f"{name}_2"]
    assert [name for name in names if name.startswith("hits")] == ["hits", "hits_values"]
    assert "jurity_recall_at_3" not in text
    assert "jurity_map_at_3" in text


def test_equal_requests_share_a_column_and_have_a_row_each() -> None:
    with evaluator(convention=["standard", "replay", "recbole"]) as three:
        frame = three.evaluate(["mrr@3"])
        wide = three.per_user(["mrr@3"], long=True)
    assert frame["value"].tolist() == exactly([0.5] * 3)
    assert len(wide) == 15
    assert wide.groupby("convention")["mrr"].mean().tolist() == exactly([0.5] * 3)


def test_settings_of_the_user_win_over_every_convention() -> None:
    with evaluator(convention=["lenskit", "jurity"], settings={"audience": "either"}) as two:
        frame = two.evaluate(["map@3", "map(audience=relevant)@3"])
    assert frame["n_users"].tolist() == [6, 5, 6, 5]
    # Jurity's own audience of MAP is a setting of that metric, and loses all the same
    assert frame["convention"].tolist() == ["lenskit"] * 2 + ["jurity"] * 2


def test_a_refusal_says_under_which_convention() -> None:
    lists = pd.concat([FIVE_USERS["recommendations"]] * 2)
    two = evaluator(recommendations=lists, convention=["replay", "jurity"])
    with two, pytest.raises(sm.DataError, match="under the convention jurity") as caught:
        two.evaluate("map@3")
    assert "repeat" in str(caught.value)


# ---------------------------------------------------------------- what they do not cover


def test_a_metric_that_the_system_lacks_is_refused() -> None:
    with evaluator(convention="jurity") as jurity:
        for call in (jurity.evaluate, jurity.per_user, jurity.sql):
            with pytest.raises(sm.UsageError, match="jurity does not cover mrr") as caught:
                call("mrr@3")
            assert "fallback='standard'" in str(caught.value)
            assert "fallback='standard'" in str(caught.value)


def test_fallback_computes_it_by_that_convention() -> None:
    with evaluator(convention="jurity", fallback="standard") as jurity:
        frame = jurity.evaluate(["map@3", "hit_rate@3"])
        users = jurity.per_user(["map@3", "hit_rate@3"], long=True)
    assert frame["convention"].tolist() == ["jurity", "standard"]
    assert frame["n_users"].tolist() == [4, 5]
    assert frame["value"].tolist() == exactly([number("(10/9 + 1/2) / 4"), 0.6])
    assert users["convention"].tolist() == ["jurity"] * 4 + ["standard"] * 5
    assert users["map"].notna().tolist() == [True] * 4 + [False] * 5


@pytest.mark.filterwarnings("ignore:omitted because")
def test_fallback_answers_only_for_what_it_covers() -> None:
    with evaluator(convention="jurity", fallback="replay") as jurity:
        frame = jurity.evaluate(["mrr@3"])
        assert frame["convention"].tolist() == ["replay"]
        with pytest.raises(sm.UsageError, match="cover f_beta, nor does replay"):
            jurity.evaluate(["f1@3"])
        covered = jurity.evaluate("all@3", skip_missing=True)
    assert "f_beta" not in covered["metric"].tolist()
    assert "hit_rate" in covered["metric"].tolist()


def test_fallback_is_there_once_for_several() -> None:
    with evaluator(convention=["jurity", "standard"], fallback="standard") as two:
        frame = two.evaluate(["hit_rate@3", "map@3"])
    found = list(zip(frame["convention"], frame["metric"], strict=True))
    assert found == [("standard", "hit_rate"), ("jurity", "map"), ("standard", "map")]


@pytest.mark.parametrize("scores", [None, [1, 2]], ids=["no scores", "the last row is the best"])
def test_fallback_reads_lists_in_the_order_of_the_convention(scores: list[int] | None) -> None:
    """LensKit has lists in the order of rows: b is first, a second."""
    lists = pd.DataFrame({"user_id": "u", "item_id": ["b", "a"]})
    lists = lists if scores is None else lists.assign(score=scores)
    truth = pd.DataFrame({"user_id": ["u"], "item_id": ["a"]})
    options: dict[str, Any] = {"convention": "lenskit", "fallback": "standard", "check": False}
    with Evaluator(lists, truth, **options) as evaluator:
        frame = evaluator.evaluate(["mrr@2", "first_rank@2"])
    assert frame["convention"].tolist() == ["lenskit", "standard"]
    assert frame["value"].tolist() == [0.5, 2]


def test_all_metrics_are_those_that_a_convention_covers() -> None:
    with evaluator(convention="lenskit") as lenskit:
        with pytest.warns(sm.SqlmetricsWarning, match="omitted because"):
            frame = lenskit.evaluate("all@3", skip_missing=True)
        default = lenskit.evaluate()
    covered = ["dcg", "hit_rate", "map", "mrr", "ndcg", "precision", "recall"]
    assert frame["metric"].tolist() == covered
    assert set(default["metric"]) == set(CATALOG.default_set()) & set(covered)


def test_all_conventions_leave_out_what_they_lack() -> None:
    with evaluator(convention="all") as everyone:
        frame = everyone.evaluate("r_precision@3")
        covering = [name for name in NAMES if covers(name, "r_precision")]
        assert {"standard", "ranx", "recommenders", "trec_eval"} <= set(covering)
        assert "jurity" not in covering
        assert frame["convention"].tolist() == covering
    with evaluator(convention=["ranx", "all"]) as everyone:
        frame = everyone.evaluate("r_precision@3")
        others = [name for name in covering if name != "ranx"]
        assert frame["convention"].tolist() == [*others, "ranx"]
    with pytest.raises(sm.UsageError, match="jurity does not cover r_precision"):
        evaluator(convention=["jurity", "all"]).evaluate("r_precision@3")
    two = evaluator(convention=["jurity", "tutorial"])
    with two, pytest.raises(sm.UsageError, match="jurity does not cover r_precision"):
        two.evaluate("r_precision@3")


def test_settings_may_contradict_a_metric_of_the_convention_that_nobody_asks_for() -> None:
    """The trec_eval convention has a sum, `num_ret`, to which no quantile applies."""
    settings = {"aggregate": "quantile", "quantile": 0.5}
    lists, truth = {1: [1, 2], 2: [3, 4]}, {1: [1], 2: [5]}
    with Evaluator(lists, truth, convention="trec_eval", settings=settings) as evaluator:
        assert evaluator.evaluate("P@2")["value"].tolist() == [0.25]
