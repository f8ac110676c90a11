"""Convention files, several in one call, what they do not cover, and the way between two."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result

import sqlmetrics as sm
from sqlmetrics.cli.commands import main
from sqlmetrics.describe.conventions import choices, describe_convention
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.conventions import Convention, conventions
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import parse_spec
from tests.support.five_users import INTERACTIONS, RECOMMENDATIONS
from tests.support.notation import interaction_frame, number, recommendation_frame

CATALOG = Catalog.load()
NAMES = list(conventions())
FIVE_USERS = {
    "recommendations": recommendation_frame(RECOMMENDATIONS),
    "interactions": interaction_frame(INTERACTIONS),
}
TWO_MODELS = {
    "recommendations": {
        "one": FIVE_USERS["recommendations"],
        "two": FIVE_USERS["recommendations"].query("user_id != 'u1'"),
    },
    "interactions": FIVE_USERS["interactions"],
}


def evaluator(**options: Any) -> sm.Evaluator:
    return sm.Evaluator(**{**FIVE_USERS, **options})


def exactly(expected: Any) -> Any:
    return pytest.approx(expected, rel=0, abs=1e-12)


# ---------------------------------------------------------------- the files


def test_the_conventions_that_there_are() -> None:
    assert NAMES == [
        "standard", "course", "elliot", "jurity", "lenskit", "ranx", "recbole", "recommenders",
        "rectools", "replay", "replay-0.12", "replay-0.9", "rs_metrics", "rs_metrics-0.2",
        "trec_eval", "tutorial",
    ]  # fmt: skip


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
        ("[setings]\norder = 'row'\n", "'setings'"),
        ("title = 3\n", "a title that is no text"),
        ("covers = 3\n", "covers that is no table"),
        ("[covers]\nMAP = 3\n", r"an entry of \[covers\]"),
        ("[metrics]\nmap = 3\n", r"an entry of \[metrics\]"),
        ("[[differs]]\nthere = 'x'\n", r"a \[\[differs\]\] without"),
        ("[[differs]]\nthere = 'x'\nhere = 'y'\nmetrics = 'map'\n", r"a \[\[differs\]\] without"),
        ("[differs]\nthere = 'x'\nhere = 'y'\n", r"a \[\[differs\]\] without"),
        ("[covers]\n", r"\[covers\] without a metric"),
        ("[settings]\nmap.divisor = 'k'\n", r"a table in \[settings\] \(write \[metrics.map\]"),
        ("[metrics.mapp]\ndivisor = 'k'\n", "unknown metric 'mapp'"),
        ("[metrics.map]\ndivisr = 'k'\n", "unknown setting 'divisr' of map"),
        ("[[differs]]\nthere = 'x'\nhere = 'y'\nmetrics = ['mapp']\n", "unknown metric 'mapp'"),
        ("[covers]\nMAP = 'mapp'\n", "MAP: unknown metric 'mapp'"),
        ("[covers]\nMAP = 'map(divisor=x)'\n", "MAP: .*divisor cannot be 'x'"),
        ("[covers]\nMAP = 'map@5'\n", "MAP: .*without a cutoff"),
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
        ({"convention": None}, "conventions are names or paths .*, not None"),
        ({"convention": [3]}, "a name or the path of a .toml file, not 3"),
        ({"convention": []}, "no convention named"),
        ({"convention": ""}, "an empty name"),
        ({"convention": "jurrity"}, "unknown convention 'jurrity'.*did you mean 'jurity'"),
        ({"fallback": ["standard"]}, r"a name or the path of a .toml file, not \['standard'\]"),
        ({"fallback": "all"}, "all stands for several"),
        ({"convention": Path(__file__)}, r"ends in .toml"),
    ],
    ids=str,
)
def test_what_is_no_convention(options: dict[str, Any], message: str) -> None:
    with pytest.raises(sm.UsageError, match=message):
        evaluator(**options)


# ---------------------------------------------------------------- several at once


@pytest.fixture(scope="module")
def every() -> Iterator[sm.Evaluator]:
    with sm.Evaluator(**TWO_MODELS, convention="all") as found:
        yield found


SPECS = ["map", "ndcg(gain=linear)", "hit_rate", "precision@2", "r_precision"]


@pytest.mark.thorough
def test_several_in_one_call_equal_each_alone(every: sm.Evaluator) -> None:
    together = every.evaluate(SPECS, k=[1, 3])
    assert together.columns.tolist()[:4] == ["model", "convention", "metric", "k"]
    per_user = every.per_user(SPECS, k=[1, 3])
    assert per_user.columns.tolist()[:4] == ["model", "convention", "user_id", "k"]
    for name in NAMES:
        settings = Settings(CATALOG, Convention.load(name), {})
        specs = [spec for spec in SPECS if settings.covers(parse_spec(spec).metric)]
        with sm.Evaluator(**TWO_MODELS, convention=name) as alone:
            expected = alone.evaluate(specs, k=[1, 3])
            of_users = alone.per_user(specs, k=[1, 3])
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
        assert "convention" not in one.per_user("map@3").columns


def test_what_conventions_share_is_computed_once() -> None:
    """Jurity and standard judge the same lists: one search for hits, one column for recall."""
    with evaluator(convention=["standard", "jurity"]) as two:
        text = two.sql(["recall@3", "map@3", "precision@3"])
    names = re.findall(r"(\w+) AS (?:NOT )?(?:MATERIALIZED )?\(", text)
    # the audiences are two, and so are the tables of values that are filled for them
    assert [name for name in names if name.endswith("_2")] == [
        "audience_2",
        "per_user_2",
        "totals_2",
    ]
    assert {"hit_ranks", "relevant", "hits", "lists", "hits_values"} <= set(names)
    assert "jurity_recall_at_3" not in text
    assert "jurity_map_at_3" in text


def test_equal_requests_share_a_column_and_have_a_row_each() -> None:
    with evaluator(convention=["standard", "replay", "recbole"]) as three:
        frame = three.evaluate(["mrr@3"])
        wide = three.per_user(["mrr@3"])
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
            assert "--fallback standard" in str(caught.value)
            assert "fallback='standard'" in str(caught.value)


def test_fallback_computes_it_by_that_convention() -> None:
    with evaluator(convention="jurity", fallback="standard") as jurity:
        frame = jurity.evaluate(["map@3", "hit_rate@3"])
        users = jurity.per_user(["map@3", "hit_rate@3"])
    assert frame["convention"].tolist() == ["jurity", "standard"]
    assert frame["n_users"].tolist() == [4, 5]
    assert frame["value"].tolist() == exactly([number("(10/9 + 1/2) / 4"), 0.6])
    assert users["convention"].tolist() == ["jurity"] * 4 + ["standard"] * 5
    assert users["map"].notna().tolist() == [True] * 4 + [False] * 5


@pytest.mark.filterwarnings("ignore:left out")
def test_fallback_answers_only_for_what_it_covers() -> None:
    with evaluator(convention="jurity", fallback="replay") as jurity:
        frame = jurity.evaluate(["mrr@3"])
        assert frame["convention"].tolist() == ["replay"]
        with pytest.raises(sm.UsageError, match="cover f_beta, and replay does not either"):
            jurity.evaluate(["f1@3"])
        covered = jurity.evaluate("all@3", skip_missing=True)
    assert "f_beta" not in covered["metric"].tolist()
    assert "hit_rate" in covered["metric"].tolist()


def test_fallback_is_there_once_for_several() -> None:
    with evaluator(convention=["jurity", "standard"], fallback="standard") as two:
        frame = two.evaluate(["hit_rate@3", "map@3"])
    found = list(zip(frame["convention"], frame["metric"], strict=True))
    assert found == [("standard", "hit_rate"), ("jurity", "map"), ("standard", "map")]


def test_all_metrics_are_those_that_a_convention_covers() -> None:
    with evaluator(convention="lenskit") as lenskit:
        frame = lenskit.evaluate("all@3")
        default = lenskit.evaluate()
    covered = ["dcg", "hit_rate", "map", "mrr", "ndcg", "precision", "recall"]
    assert frame["metric"].tolist() == covered
    assert set(default["metric"]) == set(CATALOG.default_set()) & set(covered)


def test_all_conventions_leave_out_what_they_lack() -> None:
    with evaluator(convention="all") as everyone:
        frame = everyone.evaluate("r_precision@3")
        assert frame["convention"].tolist() == ["standard", "ranx", "recommenders", "trec_eval"]
    with evaluator(convention=["ranx", "all"]) as everyone:
        frame = everyone.evaluate("r_precision@3")
        assert frame["convention"].tolist() == ["standard", "recommenders", "trec_eval", "ranx"]
    with pytest.raises(sm.UsageError, match="jurity does not cover r_precision"):
        evaluator(convention=["jurity", "all"]).evaluate("r_precision@3")
    two = evaluator(convention=["jurity", "tutorial"])
    with two, pytest.raises(sm.UsageError, match="jurity does not cover r_precision"):
        two.evaluate("r_precision@3")


# ---------------------------------------------------------------- from one number to another


def walk(start: str, end: str = "standard", spec: str = "map@3", **options: Any) -> pd.DataFrame:
    with evaluator(**options) as found:
        return found.explain(spec, start=start, end=end)


def test_explain_jurity_to_standard() -> None:
    """One choice: Jurity leaves out u5, who has no list. (5/9 + 1/2 + 0 + 5/9) / 4, or / 5."""
    frame = walk("jurity")
    assert frame.columns.tolist() == [
        "metric", "k", "step", "setting", "before", "after", "value", "change", "n_users",
    ]  # fmt: skip
    total = number("5/9 + 1/2 + 5/9")
    assert frame["step"].tolist() == [0, 1]
    assert frame["setting"].tolist() == [None, "audience"]
    assert frame["before"].tolist() == [None, "both"]
    assert frame["after"].tolist() == ["jurity", "relevant"]
    assert frame["value"].tolist() == exactly([total / 4, total / 5])
    assert pd.isna(frame["change"][0])
    assert frame["change"][1] == exactly(total / 5 - total / 4)
    assert frame["n_users"].tolist() == [4, 5]


def test_explain_tutorial_to_standard() -> None:
    """Sums 5/3, 1/2, 5/3 are divided by the hits 2, 1, 2, then by min(k, relevant) 3, 1, 3."""
    frame = walk("tutorial")
    assert frame["setting"].tolist() == [None, "order", "divisor"]
    assert frame["before"].tolist() == [None, "row", "hits"]
    assert frame["after"].tolist() == ["tutorial", "score", "min_k_relevant"]
    by_hits, by_relevant = number("(5/6 + 1/2 + 5/6) / 5"), number("(5/9 + 1/2 + 5/9) / 5")
    assert frame["value"].tolist() == exactly([by_hits, by_hits, by_relevant])
    assert frame["change"].tolist()[1:] == exactly([0, by_relevant - by_hits])


def test_explain_lenskit_to_standard() -> None:
    """u4 (a list only) goes, u5 (interactions only) comes, both 0; no length matters."""
    frame = walk("lenskit")
    steps = {
        "audience": ("recommended", "relevant"),
        "order": ("row", "score"),
        "relevant_from": ("-inf", "none"),
        "divisor": ("min_relevant_length", "min_k_relevant"),
    }
    assert frame["setting"].tolist() == [None, *steps]
    changed = zip(frame["before"][1:], frame["after"][1:], strict=True)
    assert list(changed) == list(steps.values())
    assert frame["value"].tolist() == exactly([number("(5/9 + 1/2 + 5/9) / 5")] * 5)
    assert frame["change"].tolist()[1:] == exactly([0] * 4)


def test_explain_repeated_rows() -> None:
    """To refuse rows is no step: from LensKit's keep to standard, they are kept all the way."""
    lists = pd.DataFrame({"user_id": "u", "item_id": ["a", "a", "b"], "score": [3.0, 2.0, 1.0]})
    truth = pd.DataFrame({"user_id": "u", "item_id": ["a", "c", "d"]})
    tables = {"recommendations": lists, "interactions": truth}
    frame = walk("lenskit", spec="recall@2", **tables)
    # without a column relevance there are no thresholds
    assert frame["setting"].tolist() == [None, "audience", "order", "divisor"]
    assert frame["value"].tolist() == exactly([1, 1, 1, 2 / 3])
    frame = walk("rs_metrics", "replay", "precision@2", **tables)
    by_setting = dict(zip(frame["setting"], frame["change"], strict=True))
    assert by_setting["duplicate_recommendations"] == exactly(1 / 2 - 1)
    with pytest.raises(sm.DataError, match="repeat"):
        walk("jurity", **tables)


def test_explain_lenskit_to_standard_at_one_and_with_a_worse_list() -> None:
    """A list of one hit with two relevant items: /min(k, 2, 1) there, /min(k, 2) here."""
    short = pd.DataFrame({"user_id": ["u"], "item_id": ["a"], "score": [1.0]})
    truth = pd.DataFrame({"user_id": ["u", "u"], "item_id": ["a", "b"]})
    frame = walk("lenskit", recommendations=short, interactions=truth)
    by_setting = dict(zip(frame["setting"], frame["change"], strict=True))
    assert by_setting["divisor"] == exactly(1 / 2 - 1)
    assert frame["value"].tolist()[-1] == 0.5


# conventions that differ from standard in different settings; the others where time is no matter
UNLIKE = ("course", "jurity", "replay-0.12", "trec_eval")


@pytest.mark.parametrize(
    "name",
    [
        name if name in UNLIKE else pytest.param(name, marks=pytest.mark.thorough)
        for name in NAMES[1:]
    ],
)
@pytest.mark.thorough
def test_the_ends_are_the_two_numbers_and_the_steps_add_up(name: str) -> None:
    """Both ways, for every metric of the default set that the convention covers, and two models."""
    with sm.Evaluator(**TWO_MODELS, convention=[name, "standard"]) as both:
        ends = both.evaluate(k=3).set_index(["convention", "model", "metric", "k"])["value"]
        ways = [(name, "standard"), ("standard", name)]
        walks = [both.explain(k=3, start=start, end=end) for start, end in ways]
    for (start, end), walked in zip(ways, walks, strict=True):
        assert len(walked[walked["step"] == 0]) == len(ends.loc[name])
        for key, steps in walked.groupby(["model", "metric", "k"]):
            values = steps["value"].tolist()
            assert steps["step"].tolist() == list(range(len(steps)))
            assert steps["setting"].is_unique
            assert values[0] == exactly(ends[start, *key])
            assert values[-1] == exactly(ends[end, *key])
            assert values[0] + steps["change"].sum() == pytest.approx(values[-1], rel=0, abs=1e-15)


def test_explain_takes_settings_and_specs_as_they_are_for_both_ends() -> None:
    """What the user sets is the same at both ends, so it is no step; names are canonical."""
    frame = walk("jurity", settings={"audience": "both"})
    assert frame["setting"].tolist() == [None]
    frame = walk("tutorial", spec="AP(divisor=k)@3")
    assert frame["metric"].unique().tolist() == ["map(divisor=k)"]
    assert "divisor" not in frame["setting"].tolist()
    assert walk("tutorial", spec="f1@3")["metric"].unique().tolist() == ["f_beta"]
    with evaluator() as standard:
        twice = standard.explain(["map@3", "ap@3"], start="tutorial")
        once = standard.explain("map@3", start="tutorial")
    pd.testing.assert_frame_equal(twice, once)


def test_explain_whole_lists_and_metrics_of_the_run() -> None:
    log = pd.DataFrame({"user_id": ["u1", "u2", "u2"], "item_id": ["a", "a", "new"]})
    frame = walk("replay-0.9", spec="coverage", history=log)
    assert frame["k"].isna().all()
    # five different items are recommended; of a and new, one
    by_setting = dict(zip(frame["setting"], frame["value"], strict=True))
    assert by_setting[None] == exactly(5 / 2)
    assert by_setting["counted"] == exactly(1 / 2)
    assert frame["n_users"].isna().all()


@pytest.mark.filterwarnings("ignore:left out")
def test_explain_falls_back() -> None:
    with evaluator(fallback="standard") as found:
        frame = found.explain("mrr@3", start="jurity", end="elliot")
        everything = found.explain("all@3", start="jurity", end="tutorial", skip_missing=True)
    assert frame["after"][0] == "standard"
    assert frame["setting"].tolist()[1] == "audience"
    assert "hit_rate" in set(everything["metric"])


def test_explain_several_metrics_keeps_their_order() -> None:
    with evaluator(convention="jurity") as jurity:
        frame = jurity.explain(["recall", "map"], k=[3, 1])
        asked = list(zip(frame["metric"], frame["k"], strict=True))
        assert list(dict.fromkeys(asked)) == [
            ("recall", 3), ("recall", 1), ("map", 3), ("map", 1)
        ]  # fmt: skip
        assert jurity.explain()["metric"].drop_duplicates().tolist() == [
            name for name in CATALOG.default_set() if name in ("map", "ndcg", "precision", "recall")
        ]
        assert (jurity.explain("recall", k=3)["step"] == 0).all()  # the same choices: no step
        with pytest.raises(sm.UsageError, match="jurity does not cover mrr"):
            jurity.explain("mrr")


def test_a_setting_without_meaning_waits() -> None:
    """gain=exponential_from needs a threshold: it goes first on the way there, and comes last."""
    there = walk("elliot", spec="ndcg@3")["setting"].tolist()
    back = walk("standard", "elliot", spec="ndcg@3")["setting"].tolist()
    assert there.index("gain") < there.index("relevant_from")
    assert back.index("relevant_from") < back.index("gain")


# ---------------------------------------------------------------- who chooses what


def test_choices_of_map() -> None:
    rows = choices(CATALOG, "map")
    chosen = {(row["convention"], row["theirs"]): row for row in rows}
    divisors = {
        ("rectools", "MAP"): "relevant",
        ("rectools", "MAP(divide_by_k=True)"): "k",
        ("standard", "map"): "min_k_relevant",
        ("elliot", "MAP"): "all_positions",
        ("tutorial", "MAP@k"): "hits",
    }
    assert {key: chosen[key]["divisor"] for key in divisors} == divisors
    assert chosen["tutorial", "MAP@k"]["ties"] is None  # the order of rows has none
    assert chosen["replay", "MAP"]["ties"] == "item_desc"
    assert "catalogue" not in rows[0]
    assert {row["convention"] for row in rows} == {
        name for name in NAMES if Settings(CATALOG, Convention.load(name), {}).covers("map")
    }


@pytest.mark.thorough
def test_choices_of_an_alias_are_those_of_its_metric() -> None:
    assert choices(CATALOG, "ap") == choices(CATALOG, "map")


def test_a_convention_in_full() -> None:
    text = describe_convention(CATALOG, "lenskit")
    for part in (
        "2025.8.1",
        "AveragePrecision",
        "map.divisor = min_relevant_length",
        "ZeroDivision",
    ):
        assert part in text
    assert "relevant_from = -inf" in text


# ---------------------------------------------------------------- the command line


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    paths = {"-r": tmp_path / "lists.parquet", "-i": tmp_path / "truth.parquet"}
    for path, table in zip(paths.values(), FIVE_USERS.values(), strict=True):
        table.to_parquet(path)
    return [str(part) for pair in paths.items() for part in pair]


def command(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == code, result.output
    return result


def records(*arguments: str) -> list[dict[str, Any]]:
    return json.loads(command(*arguments, "--format", "json").stdout)


@pytest.mark.parametrize(
    "names",
    [["--convention", "jurity,tutorial"], ["--convention", "jurity", "--convention", "tutorial"]],
    ids=["commas", "repeated"],
)
def test_command_with_several(files: list[str], names: list[str]) -> None:
    found = records("evaluate", "map@3", *files, *names)
    assert [row["convention"] for row in found] == ["jurity", "tutorial"]
    assert [row["value"] for row in found] == exactly(
        [number("(10/9 + 1/2) / 4"), number("(5/3 + 1/2) / 5")]
    )
    users = records("per-user", "map@3", *files, *names)
    assert [row["convention"] for row in users] == ["jurity"] * 4 + ["tutorial"] * 5
    assert "jurity_map_at_3" in command("sql", "map@3", *files, *names).stdout


def test_command_with_a_file_of_ones_own(files: list[str], tmp_path: Path) -> None:
    path = tmp_path / "a,b.toml"
    path.write_text('[settings]\naudience = "both"\n')
    (row,) = records("evaluate", "map@3", *files, "--convention", str(path))
    assert row["n_users"] == 4


def test_command_refuses_what_is_not_covered(files: list[str]) -> None:
    result = command("evaluate", "mrr@3", *files, "--convention", "jurity", code=2)
    assert "jurity does not cover mrr" in result.stderr
    fallback = ["--convention", "jurity", "--fallback", "standard"]
    (row,) = records("evaluate", "mrr@3", *files, *fallback)
    assert (row["convention"], row["value"]) == ("standard", 0.5)


def test_command_explain(files: list[str]) -> None:
    found = records("explain", "map@3", *files, "--from", "jurity", "--to", "standard")
    assert [row["setting"] for row in found] == [None, "audience"]
    assert found[0]["value"] + found[1]["change"] == exactly(found[1]["value"])
    assert "--from" in command("explain", "map@3", *files, code=2).stderr
    unknown = command("explain", "map@3", *files, "--from", "jurrity", code=2)
    assert "did you mean 'jurity'" in unknown.stderr


def test_command_explain_writes_files(files: list[str], tmp_path: Path) -> None:
    for name in ("steps.csv", "steps.parquet", "steps.md"):
        path = tmp_path / name
        command("explain", "map@3", *files, "--from", "jurity", "-o", str(path))
        assert path.stat().st_size > 0
    frame = pd.read_parquet(tmp_path / "steps.parquet")
    assert frame["setting"].isna().tolist() == [True, False]
    assert frame["setting"][1] == "audience"


def test_command_conventions() -> None:
    assert [row["convention"] for row in records("conventions")] == NAMES
    assert {row["divisor"] for row in records("conventions", "map")} >= {"k", "hits", "relevant"}
    assert "AveragePrecision" in command("conventions", "lenskit").stdout
    wrong = command("conventions", "lenskitt", code=2).stderr
    assert "lenskitt" in wrong
    assert "'lenskit'" in wrong
