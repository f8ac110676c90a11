"""The steps from the number of one convention to that of another."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import sqlmetrics as sm
from tests.support.conventions import CATALOG, NAMES, TWO_MODELS, evaluator, exactly
from tests.support.evaluators import Evaluator
from tests.support.notation import number


def walk(start: str, end: str = "standard", spec: str = "map@3", **options: Any) -> pd.DataFrame:
    with evaluator(**options) as found:
        return found.explain(spec, start=start, end=end)


def test_explain_jurity_to_standard() -> None:
    """One choice: Jurity omits u5, who has no list. (5/9 + 1/2 + 0 + 5/9) / 4, or / 5."""
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


def test_explain_ngcf_to_standard() -> None:
    """The ideal of u1 grows from 3 hits to min(3, 4), that of u6 from 2 hits to min(3, 5)."""
    frame = walk("ngcf", spec="ndcg@3")
    assert frame["setting"].tolist() == [None, "relevant_from", "ideal"]
    assert frame["before"].tolist()[1:] == ["-inf", "hits_of_list"]
    of_three, of_two = "(3/2) / (3/2 + 1/log2(3))", "(3/2) / (1 + 1/log2(3))"
    inflated = number(f"({of_three} + 1/log2(3) + {of_two}) / 5")
    right = number(f"(2 * {of_three} + 1/log2(3)) / 5")
    assert frame["value"].tolist() == exactly([inflated, inflated, right])
    assert frame["change"].tolist()[1:] == exactly([0, right - inflated])


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


@pytest.mark.parametrize("name", [n for n in NAMES[1:] if n not in ("fairranktune", "rbo")])
def test_the_ends_are_the_two_numbers_and_the_steps_add_up(name: str) -> None:
    """Both ways, for every metric of the default set that the convention covers, and two models."""
    with Evaluator(**TWO_MODELS, threads=1, convention=[name, "standard"]) as both:
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


@pytest.mark.filterwarnings("ignore:omitted because")
def test_explain_falls_back() -> None:
    with evaluator(fallback="standard") as found:
        frame = found.explain("mrr@3", start="jurity", end="elliot")
        everything = found.explain("all@3", start="jurity", end="tutorial", skip_missing=True)
    assert frame["after"][0] == "standard"
    assert frame["setting"].tolist()[1] == "audience"
    assert "hit_rate" in set(everything["metric"])


def test_the_fallback_is_in_the_order_of_the_convention_to_start_from() -> None:
    """LensKit's order, that of rows, has no part in the way from RePlay to the standard."""
    with evaluator(fallback="standard") as plain:
        wanted = plain.explain("pwa@3", start="replay-0.9")
    with evaluator(convention="lenskit", fallback="standard") as of_lenskit:
        assert "order" not in set(wanted["setting"])
        pd.testing.assert_frame_equal(of_lenskit.explain("pwa@3", start="replay-0.9"), wanted)
        with_order = of_lenskit.explain("pwa@3")
    assert with_order["setting"].tolist() == [None, "order"]


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


def test_explain_without_a_user() -> None:
    """The result has no rows, as that of evaluate, but all its columns."""
    lists = pd.DataFrame({"user_id": [1], "item_id": ["a"], "rank": [1]})
    truth = pd.DataFrame({"user_id": [1], "item_id": ["a"], "relevance": [1]})
    tables = {"als": lists, "pop": lists}, truth
    with Evaluator(*tables, settings={"relevant_from": 2}) as one:
        found = one.explain("ap", start="replay", end="rectools")
    assert found.empty
    names = "model metric k step setting before after value change n_users"
    assert found.columns.tolist() == names.split()
